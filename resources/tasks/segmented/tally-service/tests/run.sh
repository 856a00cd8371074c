#!/bin/bash
# run.sh SCRIPT: runs a check script with the check library loaded and prints one line a check. Exits with 0 only if the
# segment passes: every check passes, there is at least one, and the script came to its end. Exits with 1 if a check
# fails, and with 2 if the script itself is at fault; then the last line is "FAIL check script: REASON".
#
# The script runs in a shell of its own, so that nothing it does (exit, exec, a signal, set -e) can end in success: only
# a word that this shell gave it, sent behind its last line, does. What else the script prints goes to standard error.

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd) || exit 2
script=${1-}
limit=${CHECK_SCRIPT_SECONDS:-600}
if [ $# -ne 1 ] || [ ! -f "$script" ] || [ ! -r "$script" ]; then
  echo "FAIL check script: run.sh needs a check script that can be read, not '$script'"
  exit 2
fi
tmp=$(mktemp -d) || { echo "FAIL check script: no temporary folder can be made"; exit 2; }
word=$RANDOM$RANDOM$RANDOM$RANDOM
child=

stop() { # ends the script and the command it waits for
  local file group
  for file in "$tmp"/group.*; do
    { read -r group < "$file" && kill -KILL -- "-$group"; } 2> /dev/null
  done
  [ -z "$child" ] || kill -KILL -- "-$child" 2> /dev/null
}
trap 'stop; rm -rf "$tmp"' EXIT
trap 'exit 143' TERM INT HUP

# The end is part of the text that bash reads: a syntax error, `return` or an open here-document does not get there. The
# last line may be `exit` or `exit 0`.
IFS= read -r -d '' inside << 'INSIDE'
IFS= read -r _ck_word; exec < /dev/null; _ck_tmp=$2; . "$1/checks.sh"; shift 2; eval "$(_ck_text "$0")

_ck_end $_ck_word"
INSIDE

passed=0 failed=0 last="" ended=no status=""
while :; do
  left=$((limit - SECONDS))
  [ "$left" -gt 0 ] || { status="time"; break; }
  IFS= read -r -t "$left" line <&98 || { [ $? -gt 128 ] && continue; break; }
  case $line in
    "PASS "*) passed=$((passed + 1)) last=${line#PASS } ;;
    "FAIL "*) failed=$((failed + 1)) last=${line#FAIL } last=${last%%: *} ;;
    "END $word") ended=yes ; continue ;;
    "script "*) child=${line#script }; continue ;;
    "status "*) status=${line#status }; break ;;
    *) continue ;;
  esac
  printf '%s\n' "$line"
done 98< <(
  set -m
  bash -c "$inside" "$script" "$here" "$tmp" 99>&1 1>&2 98<&- <<< "$word" &
  echo "script $!"
  wait "$!" 2> /dev/null
  echo "status $?"
)

fault() { echo "FAIL check script: $1${last:+, the last check was '$last'}"; exit 2; }
[ "$status" != time ] || fault "did not finish within $limit seconds"
[ "$ended" = yes ] || fault "stopped before its last line (exit status ${status:-unknown})"
[ "$passed$failed" != 00 ] || fault "has no check"
[ "$failed" = 0 ]
