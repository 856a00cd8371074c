# The check library: functions to write the checks of a segment with (paper, App. F, Table 7). See docs/checks.md.
# Sourced by bash (4 or later); needs coreutils and any awk. run.sh decides whether the segment passes.
#
# What is compared is never executed, and never put on a command line: values reach awk through its input, so that they
# may be long. Check functions always return 0 and readers too: what they have to say is a line, not a status.

[ -z "${_ck_loaded-}" ] || return 0
_ck_loaded=1
_ck_limit=${CHECK_COMMAND_SECONDS:-120} # seconds a command may take
_ck_most=33554432                       # bytes a command may print
unset BASH_ENV
if [ -z "${_ck_tmp-}" ]; then # without run.sh, for trying things out
  _ck_tmp=$(mktemp -d) && trap 'rm -rf "$_ck_tmp"' EXIT
  exec 99>&1
fi

# ---- results

_ck_clean() { # TEXT MOST: _ck_reply is TEXT in one line of at most MOST bytes
  local LC_ALL=C
  _ck_reply=${1:0:$2}
  _ck_reply=${_ck_reply//[[:cntrl:]]/ }
  _ck_reply=${_ck_reply#"${_ck_reply%%[! ]*}"}
  _ck_reply=${_ck_reply%"${_ck_reply##*[! ]}"}
  [ "${#1}" -le "$2" ] || _ck_reply="$_ck_reply..."
}

_ck_result() { # PASS|FAIL NAME [REASON]
  local kind=$1 reason=${3-} name seen=
  _ck_clean "$2" 160
  name=$_ck_reply
  [ -n "$name" ] || { kind=FAIL name="(no name)" reason="a check needs a name"; }
  [ "$name" != "check script" ] || kind=FAIL reason="run.sh uses this name for what is wrong with the script"
  read -r -d '' seen < "$_ck_tmp/names"
  case $'\n'$seen$'\n' in
    *$'\n'"$name"$'\n'*)
      [ "$kind" = PASS ] && reason="this check passed" || reason="this check failed: $reason"
      kind=FAIL reason="the name is used by an earlier check; $reason"
      ;;
  esac 2> /dev/null
  printf '%s\n' "$name" >> "$_ck_tmp/names"
  if [ "$kind" = PASS ]; then
    printf 'PASS %s\n' "$name" >&99
  else
    _ck_clean "$reason" 400
    printf 'FAIL %s: %s\n' "$name" "${_ck_reply:-failed}" >&99
  fi
}
: >> "$_ck_tmp/names"

pass() { _ck_result PASS "${1-}" || :; }
fail() { _ck_result FAIL "${1-}" "${*:2}" || :; }

# ---- running a command

# Runs CMD with a limit of SECONDS: its output is in the file $_ck_out, $_ck_problem says why there is no status (empty
# if there is one), $_ck_status is the status. CMD may be a function. It reads nothing: input meant for a loop around the
# check must not disappear. Output goes to a file, since a service that CMD leaves behind would keep a pipe open.
_ck_run() { # SECONDS CMD...
  local limit=$1 group= waited=0 size IFS=$' \t\n'
  shift
  _ck_out=$_ck_tmp/out.$BASHPID _ck_status= _ck_problem=
  : >| "$_ck_out"
  if ! type -- "$1" > /dev/null 2>&1; then
    _ck_problem="there is no command $1"
    return
  fi
  {
    read -r group
    printf '%s\n' "$group" >| "$_ck_tmp/group.$BASHPID" # for run.sh, should the script run out of time
    until read -r -t 1 _ck_status; do
      [ $? -gt 128 ] || break
      waited=$((waited + 1))
      size=$(wc -c < "$_ck_out")
      if [ "$waited" -ge "$limit" ]; then
        _ck_problem="did not end within $limit seconds"
      elif [ "$size" -gt "$_ck_most" ]; then
        _ck_problem="printed more than $_ck_most bytes"
      else
        continue
      fi
      kill -KILL -- "-$group"
      read -r -t 5 _ck_status
      break
    done
  } 2> /dev/null < <(
    set +eux
    trap - EXIT ERR DEBUG RETURN TERM
    set -m
    ( set +m; exec 99>&-; "$@" ) >| "$_ck_out" 2>&1 < /dev/null &
    set +m
    printf '%s\n' "$!"
    exec 2> /dev/null
    wait "$!"
    printf '%s\n' "$?"
  )
  : >| "$_ck_tmp/group.$BASHPID"
  [ -n "$_ck_status$_ck_problem" ] || _ck_problem="was lost"
}

_ck_printed() { # _ck_reply: the beginning and the end of the output, for a reason
  local LC_ALL=C head tail
  head=$(head -c 4000 < "$_ck_out" | tr -d '\000')
  tail=$(tail -c 150 < "$_ck_out" | tr -d '\000')
  if [ "${#head}" -gt 300 ]; then _ck_clean "${head:0:140} ... $tail" 300; else _ck_clean "$head" 300; fi
  [ -n "$_ck_reply" ] && _ck_reply="it printed: $_ck_reply" || _ck_reply="it printed nothing"
}

# ---- patterns

# From the lines of an output, the forms a pattern may match: as it is, with runs of spaces as one, and without spaces
# around : and =.
IFS= read -r -d '' _ck_awk_forms << 'AWK' || :
{
  sub(/\r$/, ""); print
  c = $0; gsub(/[ \t\r\f\v]+/, " ", c); if (c != $0) print c
  t = c; sub(/^ /, "", t); sub(/ $/, "", t); gsub(/ ?: ?/, ":", t); gsub(/ ?= ?/, "=", t); if (t != c) print t
}
AWK

# From a pattern, two: \d, \s and \w written out; and as well without spaces around : and =, runs of spaces as one.
IFS= read -r -d '' _ck_awk_pattern << 'AWK' || :
function add(text, kind) { n++; tok[n] = text; is[n] = kind }
{ all = all (NR > 1 ? "\n" : "") $0 }
END {
  size = length(all)
  for (i = 1; i <= size; i++) {
    c = substr(all, i, 1)
    if (c == "\\") {
      i++; d = substr(all, i, 1)
      if (d == "d") add("[0-9]", "")
      else if (d == "s") add("[[:space:]]", "space")
      else if (d == "w") add("[[:alnum:]_]", "")
      else add(c d, d == ":" || d == "=" ? "colon" : "")
    } else if (c == "[") {
      j = i + 1
      if (substr(all, j, 1) == "^") j++
      if (substr(all, j, 1) == "]") j++
      while (j <= size && substr(all, j, 1) != "]") {
        if (substr(all, j, 2) ~ /^\[[:.=]/) {
          k = index(substr(all, j + 2), substr(all, j + 1, 1) "]")
          if (k) j += k + 2
        }
        j++
      }
      b = substr(all, i, j - i + 1); i = j
      if (b == "[[:space:]]" || b == "[[:blank:]]" || b == "[ ]") add(b, "space")
      else add(b, b == "[:=]" || b == "[=:]" ? "colon" : "")
    } else if (c == " " || c == "\t") add(" ", "space")
    else if (c == ":" || c == "=") add(c, "colon")
    else if (n && index("*+?", c)) add(c, "times")
    else if (n && c == "{" && (k = index(substr(all, i), "}")) && substr(all, i, k) ~ /^[{][0-9,]+[}]$/) {
      add(substr(all, i, k), "times"); i += k - 1
    } else add(c, "")
  }
  for (i = 1; i <= n; i++) plain = plain tok[i]
  for (i = 1; i <= n; i++) {
    if (is[i] != "space") { tight = tight tok[i]; last = is[i]; continue }
    run = ""
    for (j = i; j <= n && (is[j] == "space" || is[j] == "times"); j++) run = run tok[j]
    gsub(/^ +$/, " ", run)
    if (last != "colon" && is[j] != "colon") tight = tight run
    last = "space"; i = j - 1
  }
  print plain
  if (tight != plain) print tight
}
AWK

_ck_matches() { # PATTERN: 0 if a line of $_ck_out matches, 1 if none does, 2 if the pattern is not one
  local LC_ALL=C IFS=$' \t\n' patterns=() lines=() pattern line found=1
  mapfile -t patterns < <(printf '%s\n' "$1" | awk "$_ck_awk_pattern")
  mapfile -t lines < <(tr -d '\000' < "$_ck_out" | awk "$_ck_awk_forms")
  shopt -q nocasematch && local cased=
  shopt -s nocasematch
  for pattern in "${patterns[@]}"; do
    [[ "" =~ $pattern ]]
    [ $? -lt 2 ] || { found=2; break; }
    for line in "${lines[@]}"; do
      [[ $line =~ $pattern ]] && { found=0; break 2; }
    done
  done 2> /dev/null
  [ -n "${cased+set}" ] || shopt -u nocasematch
  return "$found"
}

# ---- checks of commands

_ck_command() { # FUNCTION NAME [PATTERN] -- CMD...: runs CMD; fails the check itself where that is not possible
  local function=$1 name=${2-} form="NAME -- CMD"
  [ "$function" = expect_ok ] || form="NAME PATTERN -- CMD"
  shift 2 2> /dev/null || shift $#
  if [ "$function" != expect_ok ]; then
    [ -n "${1-}" ] || { _ck_result FAIL "$name" "the pattern is empty"; return 1; }
    shift
  fi
  if [ "${1-}" != -- ] || [ $# -lt 2 ]; then
    _ck_result FAIL "$name" "write $function $form"
    return 1
  fi
  shift
  _ck_run "$_ck_limit" "$@"
  [ -z "$_ck_problem" ] || { _ck_result FAIL "$name" "$1: $_ck_problem"; return 1; }
}

_ck_judge() { # NAME PATTERN WANTED REASON: passes if whether a line matches is WANTED (0: yes, 1: no)
  local matched
  _ck_matches "$2"
  matched=$?
  if [ "$matched" = 2 ]; then
    _ck_result FAIL "$1" "'$2' is not a pattern (an extended regular expression)"
  elif [ "$matched" = "$3" ]; then
    _ck_result PASS "$1"
  else
    _ck_printed
    _ck_result FAIL "$1" "$4 '$2'; $_ck_reply"
  fi
}

_ck_status_reason() { _ck_printed; _ck_result FAIL "$1" "exit status $_ck_status; $_ck_reply"; }

_ck_ok() {
  _ck_command expect_ok "$@" || return
  if [ "$_ck_status" = 0 ]; then _ck_result PASS "$1"; else _ck_status_reason "$1"; fi
}
_ck_expect_out() {
  _ck_command expect_out "$@" || return
  _ck_judge "$1" "$2" 0 "no line matches"
}
_ck_expect_no_out() {
  _ck_command expect_no_out "$@" || return
  if [ "$_ck_status" = 0 ]; then _ck_judge "$1" "$2" 1 "a line matches"; else _ck_status_reason "$1"; fi
}
_ck_expect_fail() {
  _ck_command expect_fail "$@" || return
  if [ "$_ck_status" != 0 ]; then
    _ck_judge "$1" "$2" 0 "it failed, but no line matches"
  else
    _ck_printed
    _ck_result FAIL "$1" "it succeeded; $_ck_reply"
  fi
}

expect_ok() { _ck_ok "$@" || :; }
expect_out() { _ck_expect_out "$@" || :; }
expect_no_out() { _ck_expect_no_out "$@" || :; }
expect_fail() { _ck_expect_fail "$@" || :; }

# ---- files and ports

_ck_file() {
  if [ -z "${2-}" ]; then
    _ck_result FAIL "${1-}" "write expect_file NAME PATH"
  elif [[ -d $2 || (-f $2 && -s $2) ]]; then
    _ck_result PASS "$1"
  elif [[ -f $2 ]]; then
    _ck_result FAIL "$1" "$2 is empty"
  elif [[ -e $2 || -L $2 ]]; then
    _ck_result FAIL "$1" "$2 is neither a file nor a directory"
  else
    _ck_result FAIL "$1" "$2 does not exist"
  fi
}
expect_file() { _ck_file "$@" || :; }

_ck_connect() { exec 3<> "/dev/tcp/$1/$2"; }
_ck_port() {
  if [ $# -ne 3 ] || [ -z "$2" ] || [[ $2 == */* || ! $3 =~ ^[0-9]{1,5}$ ]]; then
    _ck_result FAIL "${1-}" "write expect_port NAME HOST PORT"
    return
  fi
  _ck_run "$((_ck_limit < 10 ? _ck_limit : 10))" _ck_connect "$2" "$3"
  if [ "$_ck_status" = 0 ] && [ -z "$_ck_problem" ]; then
    _ck_result PASS "$1"
  else
    _ck_printed
    _ck_result FAIL "$1" "no connection to $2 port $3: ${_ck_problem:-$_ck_reply}"
  fi
}
expect_port() { _ck_port "$@" || :; }

# ---- comparing values

# -v kind=KIND: brings a value into the form in which equal values of that kind are the same text; nothing if there is
# no such value in it. Runs of spaces are made one first: the patterns that follow would be slow on long ones.
IFS= read -r -d '' _ck_awk_value << 'AWK' || :
function trim(s) { gsub(/[ \t\r\f\v]+/, " ", s); sub(/^ /, "", s); sub(/ $/, "", s); return s }
function unquote(s,   round, c) {
  for (round = 0; round < 4 && length(s) > 1; round++) {
    c = substr(s, 1, 1)
    if (index("\"'`", c) == 0 || substr(s, length(s), 1) != c) break
    s = trim(substr(s, 2, length(s) - 2))
  }
  return s
}
function text(s) { s = tolower(s); gsub(/ ?: ?/, ":", s); gsub(/ ?= ?/, "=", s); return s }
function number(s,   at, sign, before, digits, exponent, fraction, dot) {
  if (!match(s, /[0-9]/)) return ""
  at = RSTART
  if (at > 1 && substr(s, at - 1, 1) == "." && (at == 2 || substr(s, at - 2, 1) ~ /[-+ (=:]/)) at--
  before = at > 1 ? substr(s, at - 1, 1) : ""
  if (before == "-" && (at == 2 || substr(s, at - 2, 1) !~ /[A-Za-z0-9_.)]/)) sign = "-"
  s = substr(s, at)
  # 1,234 is one number: groups of three and nothing that would make it a list of something else.
  if (match(s, /^[0-9][0-9]?[0-9]?(,[0-9][0-9][0-9])+/) && substr(s, RLENGTH + 1, 1) !~ /[0-9,]/) {
    digits = substr(s, 1, RLENGTH); s = substr(s, RLENGTH + 1); gsub(/,/, "", digits)
  } else if (match(s, /^[0-9]+/)) { digits = substr(s, 1, RLENGTH); s = substr(s, RLENGTH + 1) }
  if (match(s, /^[.][0-9]+/)) { fraction = substr(s, 2, RLENGTH - 1); s = substr(s, RLENGTH + 1) }
  if (match(s, /^[eE][-+]?[0-9]+/) && substr(s, RLENGTH + 1, 1) !~ /[A-Za-z0-9_]/) exponent = substr(s, 2, RLENGTH - 1)
  digits = digits fraction
  if (length(digits) > 1000 || length(exponent) > 6) return ""
  exponent -= length(fraction)
  sub(/^0+/, "", digits)
  if (digits == "") return "0"
  while (digits ~ /0$/) { sub(/0$/, "", digits); exponent++ }
  if (kind == "int" && exponent < 0) return ""
  return sign digits "e" exponent
}
function version(s,   n, i, word, part, out) {
  n = split(s, word, /[^0-9.]+/); s = ""
  for (i = 1; i <= n; i++) {
    if (word[i] == "" || length(word[i]) > 1000) continue
    if (match(word[i], /[0-9]+([.][0-9]+)+/)) { s = substr(word[i], RSTART, RLENGTH); break }
    if (s == "" && match(word[i], /[0-9]+/)) s = substr(word[i], RSTART, RLENGTH)
  }
  if (s == "") return ""
  n = split(s, part, ".")
  for (i = 1; i <= n; i++) { sub(/^0+/, "", part[i]); out = out (i > 1 ? "." : "") (part[i] == "" ? "0" : part[i]) }
  return out
}
function items(s, separators,   n, i, part) {
  n = split(s, part, separators)
  for (i = 1; i <= n; i++) {
    if (!(part[i] in item)) {
      s = trim(part[i]); sub(/^[-*] /, "", s); sub(/^["'`]+ ?/, "", s); sub(/ ?["'`]+$/, "", s)
      item[part[i]] = text(s)
    } else if (kind == "set") continue
    if (item[part[i]] != "") print item[part[i]]
  }
}
{ line[NR] = trim($0) }
END {
  first = 1; last = NR
  while (first <= last && line[first] == "") first++
  while (last >= first && line[last] == "") last--
  if (first > last) exit
  if (first == last) line[first] = unquote(line[first])
  if (kind == "text" || kind == "bool") {
    if (kind == "bool") {
      value = first == last ? text(line[first]) : ""
      if (value ~ /^(yes|true|pass|ok|on|1)$/) print "true"
      if (value ~ /^(no|false|fail|not ok|off|0)$/) print "false"
    } else for (i = first; i <= last; i++) print text(line[i])
  } else if (kind == "set" || kind == "seq") {
    pair = substr(line[first], 1, 1) substr(line[last], length(line[last]), 1)
    if (pair == "[]" || pair == "{}" || pair == "()") {
      line[first] = substr(line[first], 2); line[last] = substr(line[last], 1, length(line[last]) - 1)
    }
    listed = first < last
    for (i = first; i <= last; i++) { gsub(/;/, ",", line[i]); gsub(/->/, ",", line[i]); if (index(line[i], ",")) listed = 1 }
    for (i = first; i <= last; i++) items(line[i], listed ? "," : " ")
  } else for (i = first; i <= last && value == ""; i++) {
    value = kind == "version" ? version(line[i]) : number(line[i])
    if (value == "" && line[i] ~ /[0-9]/) exit
    if (value != "") print value
  }
}
AWK

_ck_canon() { # KIND VALUE
  printf '%s\n' "$2" | LC_ALL=C awk -v kind="$1" "$_ck_awk_value" | if [ "$1" = set ]; then LC_ALL=C sort -u; else cat; fi
}

_ck_eq() {
  local name=${1-} kind=${4-text} actual expected none IFS=$' \t\n'
  if [ $# -lt 3 ] || [ $# -gt 4 ]; then
    _ck_result FAIL "$name" "write expect_eq NAME ACTUAL EXPECTED [KIND], each value in double quotes"
    return
  fi
  case $kind in
    exact) actual=$2 expected=$3 none="is empty" ;;
    text | set | seq) none="is empty" ;;
    int) none="has no whole number" ;;
    num) none="has no number" ;;
    version) none="has no version" ;;
    bool) none="is neither true nor false" ;;
    *)
      _ck_result FAIL "$name" "there is no kind '$kind': text, int, num, version, bool, set, seq or exact"
      return
      ;;
  esac
  if [ "$kind" != exact ]; then
    actual=$(_ck_canon "$kind" "$2")
    expected=$(_ck_canon "$kind" "$3")
  fi
  if [ -z "$expected" ] && ! [ "$kind" = set -a -z "$actual" ]; then
    _ck_clean "$3" 150
    _ck_result FAIL "$name" "the expected value '$_ck_reply' $none"
  elif [ "$actual" = "$expected" ]; then
    _ck_result PASS "$name"
  else
    _ck_clean "$2" 150
    actual=$_ck_reply
    _ck_clean "$3" 150
    _ck_result FAIL "$name" "got '$actual', expected '$_ck_reply' (as $kind)"
  fi
}
expect_eq() { _ck_eq "$@" || :; }

# ---- readers of reports

# What they have in common: names without case, with - _ and spaces alike; the first lines of the input are arguments.
IFS= read -r -d '' _ck_awk_common << 'AWK' || :
function trim(s) { gsub(/[ \t\r\f\v]+/, " ", s); sub(/^ /, "", s); sub(/ $/, "", s); return s }
function bare(s,   round, c) {
  gsub(/^[ \t\r\f\v]+/, "", s); if (s ~ /[ \t\r\f\v]$/) s = trim_end(s)
  for (round = 0; round < 4 && length(s) > 1; round++) {
    c = substr(s, 1, 1)
    if (index("\"'`", c) == 0 || substr(s, length(s), 1) != c) break
    s = trim_end(substr(s, 2, length(s) - 2)); sub(/^[ \t\r\f\v]+/, "", s)
  }
  return s
}
function trim_end(s,   n, step) {
  n = length(s); while (n > 0 && substr(s, n, 1) ~ /[ \t\r\f\v]/) n--
  return substr(s, 1, n)
}
function norm(s) { s = tolower(s); gsub(/[-_ \t\r\f\v]+/, "_", s); gsub(/["'`*]/, "", s); sub(/^_/, "", s); sub(/_$/, "", s); return s }
function say(what) { print who ": " what > "/dev/stderr" }
AWK

IFS= read -r -d '' _ck_awk_field << 'AWK' || :
function found(rank, value) {
  if ((rank in kept) && kept[rank] != value) doubtful[rank] = 1
  kept[rank] = value
}
# JSON, a token at a time. `state` is what may come: value, key, colon, or next (a comma or the end of the container).
function done() { if (level == 0) state = "end"; else state = "next"; if (capture && level == depth) finish() }
function finish() { found(capture, captured); capture = 0 }
function scalar(value) {
  if (capture) { captured = captured (taken++ ? "\n" : "") value }
  done()
}
function enter(kind) { level++; type[level] = kind; empty = 1; state = kind == "o" ? "key" : "value" }
function leave(kind) {
  if (level == 0 || type[level] != kind || !(state == "next" || (empty && state == (kind == "o" ? "key" : "value")))) { bad = 1; return }
  level--; empty = 0; done()
}
function string(s,   path, i, rank) {
  if (state == "value") { empty = 0; scalar(capture ? plain(s) : ""); return }
  if (state != "key") { bad = 1; return }
  empty = 0; name[level] = norm(plain(s)); state = "colon"
  if (capture) return
  for (i = 1; i <= level; i++) if (type[i] == "o") path = path (path == "" ? "" : ".") name[i]
  rank = name[level] == key ? (level == 1 ? 1 : 3) : (path == key ? 2 : 0)
  if (rank) { capture = rank; captured = ""; taken = 0; depth = level }
}
function token(t) {
  if (t == "{" || t == "[") { if (state != "value") bad = 1; else { empty = 0; enter(t == "{" ? "o" : "a") } }
  else if (t == "}") leave("o")
  else if (t == "]") leave("a")
  else if (t == ",") { if (state != "next") bad = 1; else state = type[level] == "o" ? "key" : "value" }
  else if (t == ":") { if (state != "colon") bad = 1; else state = "value" }
  else if (state != "value" || t !~ /^(true|false|null|-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?)$/) bad = 1
  else { empty = 0; scalar(t == "null" ? "" : t) }
}
function hex(s,   i, n) { for (i = 1; i <= 4; i++) n = n * 16 + index("0123456789abcdef", tolower(substr(s, i, 1))) - 1; return n }
function utf8(n) {
  if (n < 128) return sprintf("%c", n)
  if (n < 2048) return sprintf("%c%c", 192 + int(n / 64), 128 + n % 64)
  if (n < 65536) return sprintf("%c%c%c", 224 + int(n / 4096), 128 + int(n / 64) % 64, 128 + n % 64)
  return sprintf("%c%c%c%c", 240 + int(n / 262144), 128 + int(n / 4096) % 64, 128 + int(n / 64) % 64, 128 + n % 64)
}
function plain(s,   n, i, part, all, out, c, code, low) {
  if (index(s, "\\") == 0) return s
  n = split(s, part, "\\")
  out = part[1]
  for (i = 2; i <= n; i++) {
    if (length(out) > 2000) { all = all out; out = "" } # adding to a long text is slow
    c = substr(part[i], 1, 1)
    if (part[i] == "") { out = out "\\" part[++i] }
    else if (c == "u" && part[i] ~ /^u[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]/) {
      code = hex(substr(part[i], 2))
      if (code >= 55296 && code < 56320 && part[i] ~ /^u....$/ && part[i + 1] ~ /^u[dD][c-fC-F][0-9a-fA-F][0-9a-fA-F]/) {
        low = hex(substr(part[i + 1], 2)); code = 65536 + (code - 55296) * 1024 + low - 56320; i++
      }
      out = out (code ? utf8(code) : "") substr(part[i], 6)
    } else if (c == "n") out = out "\n" substr(part[i], 2)
    else if (c == "t") out = out "\t" substr(part[i], 2)
    else if (index("\"/", c)) out = out part[i]
    else if (index("rbf", c)) out = out " " substr(part[i], 2)
    else bad = 1
  }
  return all out
}
function escapes(s,   n, odd) { # the quote behind s is part of the string
  for (n = length(s); substr(s, n, 1) == "\\"; n--) odd = !odd
  return odd
}
function json(s,   n, i, j, m, part, piece, text) {
  n = split(s, part, "\"")
  for (i = 1; i <= n && !bad; i++) {
    gsub(/[][{},:]/, " & ", part[i]); m = split(part[i], piece, " ")
    for (j = 1; j <= m && !bad; j++) token(piece[j])
    if (i == n) break
    text = part[++i]
    while (escapes(text) && i < n) text = text "\"" part[++i]
    if (i == n) bad = 1; else string(text)
  }
}
function lines(s,   rest, left, tries, sep) {
  sub(/^[ \t]*([-*+]|[0-9]+[.)])[ \t]+/, "", s)
  rest = s; left = ""
  for (tries = 0; tries < 5 && match(rest, /[:=]/); tries++) {
    left = left substr(rest, 1, RSTART - 1); sep = substr(rest, RSTART, 1); rest = substr(rest, RSTART + 1)
    if (norm(left) == key) { if (left ~ /^[ \t]*[*]/) sub(/^[ \t]*[*]+/, "", rest); found(1, bare(rest)); return }
    left = left sep
  }
  sub(/^[ \t|]+/, "", s)
  if (match(s, /[ \t]*[\t|][ \t]*|   */) && norm(substr(s, 1, RSTART - 1)) == key) {
    rest = substr(s, RSTART + RLENGTH); sub(/[ \t]*[|][ \t]*$/, "", rest); found(2, bare(rest))
  }
}
NR == 1 { who = $0; next }
NR == 2 { key = norm($0); next }
NR == 3 { sub(/^\357\273\277/, "") }
{ sub(/\r$/, "") }
form == "" && /[^ \t]/ { form = $0 ~ /^[ \t]*[[{]/ ? "json" : "lines"; state = "value" }
form == "json" && !bad { json($0); if (bad) broken = NR - 2 }
form == "lines" { lines($0) }
END {
  if (form == "json" && (bad || state != "end")) { say("not valid JSON" (broken ? ", line " broken : "")); exit }
  for (rank = 1; rank <= 3; rank++) if (rank in kept) {
    if (rank in doubtful) say("given more than once, with different values")
    else print kept[rank]
    exit
  }
  say("not found")
}
AWK

_ck_read() { # PROGRAM FILE WHO ARGUMENT...: runs the awk program on the arguments, one a line, and the file
  local program=$1 file=$2 who=$3
  shift 3
  if [ ! -f "$file" ] && ! [[ $file =~ ^(/dev|/proc/self)/fd/[0-9]+$ ]]; then
    printf '%s: no such file\n' "$who" >&2
    return
  fi
  {
    _ck_clean "$who" 300
    printf '%s\n' "$_ck_reply" "${@//$'\n'/ }"
    head -c 67108864 < "$file" | tr -d '\000'
  } | LC_ALL=C awk "$_ck_awk_common$program"
}

_ck_use() { printf 'write %s\n' "$1" >&2; }

field() {
  [ $# -eq 2 ] || { _ck_use 'field FILE KEY'; return 0; }
  _ck_read "$_ck_awk_field" "$1" "field $1 $2" "$2" || :
}

# Tables: which separator the lines use is found first. The first record is a header if it holds a name that is asked
# for; without one, positions count.
IFS= read -r -d '' _ck_awk_table << 'AWK' || :
function csv(s,   n, rest, value, q) {
  unclosed = 0
  if (length(s) > 100000) { n = split(s, F, ","); for (q = 1; q <= n; q++) F[q] = bare(F[q]); return n }
  for (rest = s; ; rest = substr(rest, q + 1)) {
    if (rest ~ /^[ \t]*"/) {
      sub(/^[ \t]*"/, "", rest); value = ""
      while ((q = index(rest, "\"")) > 0) {
        value = value substr(rest, 1, q - 1); rest = substr(rest, q + 1)
        if (substr(rest, 1, 1) != "\"") break
        value = value "\""; rest = substr(rest, 2)
      }
      if (!q) { unclosed = 1; F[++n] = value rest; return n }
      q = index(rest ",", ",")
      F[++n] = bare(value trim(substr(rest, 1, q - 1)))
    } else { q = index(rest ",", ","); F[++n] = bare(substr(rest, 1, q - 1)) }
    if (q > length(rest)) return n
  }
}
function fields(s,   n, i) {
  for (i in F) delete F[i]
  if (kind == "comma") return csv(s)
  if (kind == "pipe") {
    gsub(/\\[|]/, "\001", s); s = trim(s); sub(/^[|]/, "", s); sub(/[|]$/, "", s); n = split(s, F, "|")
    for (i = 1; i <= n; i++) gsub(/\001/, "|", F[i])
  } else if (kind == "tab") n = split(s, F, "\t")
  else if (kind == "wide") { gsub(/^[ \t]+/, "", s); n = split(trim_end(s), F, "  +") }
  else if (kind == "narrow") n = split(s, F, " ")
  else { n = 1; F[1] = s }
  for (i = 1; i <= n; i++) F[i] = bare(F[i])
  return n
}
function border(s) { return s ~ /--|==/ && s ~ /^[-+|:= \t]+$/ }
function all_have(pattern,   i) { for (i = 1; i <= n_lines; i++) if (line[i] !~ pattern) return 0; return n_lines > 0 }
function all_as_many(   i, n, first) { # fields in each line
  for (i = 1; i <= n_lines; i++) { n = fields(line[i]); if (i == 1) first = n; if (n != first || n < 2) return 0 }
  return n_lines > 0
}
function keep(pattern, wanted,   i, n) { # only lines that match
  for (i = 1; i <= n_lines; i++) if ((line[i] ~ pattern) == wanted) line[++n] = line[i]
  n_lines = n
}
function separator(   i, ruled, piped, padded) {
  for (i = 1; i <= n_lines; i++) if (border(line[i])) { if (line[i] ~ /[|+]/) piped = 1; ruled = 1 }
  if (all_have("\t")) { kind = "tab"; return }
  if (ruled) { for (i = 1; i <= n_lines; i++) if (!border(line[i])) line[++n_kept] = line[i]; n_lines = n_kept }
  if (piped) keep("[|]", 1); else if (n_lines > 1) keep("^ *[(][0-9]+ rows?[)] *$", 0)
  if (piped || all_have("[|]")) { kind = "pipe"; return }
  for (i = 1; i <= n_lines; i++) if (line[i] ~ /,  |  ,/) padded = 1
  kind = "comma"; if (padded && all_have(",")) return
  kind = "wide"; if (all_as_many()) return
  kind = "comma"; if (line[1] ~ /,/ && (all_have(",") || line[1] ~ /,.*,/ || all_have("[,\"]") )) return
  kind = "narrow"; if (all_as_many()) return
  kind = "wide"; if (all_have("[^ ]  +[^ ]")) return
  kind = "one"
}
function spec(s, which) { # NAME:POS
  name[which] = s; place[which] = 0
  if (match(s, /:[0-9]+$/)) { place[which] = substr(s, RSTART + 1) + 0; name[which] = substr(s, 1, RSTART - 1) }
  name[which] = norm(name[which])
}
function header(n,   i, w, seen, first) {
  for (i = 1; i <= n; i++) {
    first = F[i]; if (i == 1) sub(/^# */, "", first)
    for (w = 1; w <= 2; w++) if (name[w] != "" && norm(first) == name[w] && !at[w]) { at[w] = i; seen = 1 }
  }
  for (w = 1; w <= 2; w++) if (!at[w] && place[w]) at[w] = place[w]
  return seen
}
function text(s) { s = tolower(trim(s)); gsub(/ ?: ?/, ":", s); gsub(/ ?= ?/, "=", s); return s }
function found(rank, value) {
  if ((rank in kept) && kept[rank] != value) doubtful[rank] = 1
  kept[rank] = value
}
function record(n,   value) {
  if (++records == 1 && header(n)) return
  rows++
  if (op == "column") {
    if (at[2]) { value = F[at[2]]; gsub(/\n/, " ", value); print value }
  } else if (op == "cell" && at[1]) {
    if (F[at[1]] == wanted) found(1, F[at[2]])
    else if (text(F[at[1]]) == text(wanted)) found(2, F[at[2]])
  }
}
NR == 1 { who = $0; next }
NR == 2 { op = $0; next }
NR == 3 { spec($0, 1); next }
NR == 4 { wanted = bare($0); next }
NR == 5 { spec($0, 2); next }
NR == 6 { sub(/^\357\273\277/, "") }
{ sub(/\r$/, "") }
/[^ \t]/ { line[++n_lines] = $0 }
END {
  if (n_lines) separator()
  for (i = 1; i <= n_lines; i++) {
    n = fields(line[i])
    for (j = i; kind == "comma" && unclosed && j < n_lines && j - i < 200; ) { line[i] = line[i] "\n" line[++j]; n = csv(line[i]) }
    if (!unclosed) i = j
    record(n)
  }
  if (op == "rows") print rows + 0
  else if (!at[2]) say("no column of that name" (n_lines ? "" : ", the file is empty"))
  else if (op == "cell") {
    if (!at[1]) say("no key column of that name")
    for (rank = 1; rank <= 2; rank++) if (rank in kept) {
      if (rank in doubtful) say("several rows, with different values")
      else print kept[rank]
      exit
    }
    say("no such row")
  }
}
AWK

column() {
  [ $# -eq 2 ] || { _ck_use 'column FILE NAME:POS'; return 0; }
  _ck_read "$_ck_awk_table" "$1" "column $1 $2" column "" "" "$2" || :
}
cell() {
  [ $# -eq 4 ] || { _ck_use 'cell FILE KEYNAME:POS KEYVALUE NAME:POS'; return 0; }
  _ck_read "$_ck_awk_table" "$1" "cell $1 $2 $3 $4" cell "$2" "$3" "$4" || :
}
rows() {
  [ $# -eq 2 ] || { _ck_use 'rows FILE NAME:POS'; return 0; }
  _ck_read "$_ck_awk_table" "$1" "rows $1 $2" rows "" "" "$2" || :
}

# ---- processes

_ck_argv() { # PID: argv is its command line, empty for a process that has ended or is of the kernel
  local part=
  argv=()
  while IFS= read -r -d '' part || [ -n "$part" ]; do
    argv+=("$part")
    [ "${#argv[@]}" -lt 5000 ] || break
  done 2> /dev/null < "/proc/$1/cmdline"
}

_ck_stat() { # PID: state, parent and started (clock ticks since the machine started)
  local text= IFS=$' \t\n'
  read -r -d '' text 2> /dev/null < "/proc/$1/stat"
  text=${text##*") "} # the name before it may hold anything
  set -- $text
  state=${1-} parent=${2-} started=${20-}
}

# The base name of the script or module that the first word of argv, an interpreter, runs: in _ck_reply, else empty.
_ck_script() {
  local word=${argv[0]##*/} takes="" code="" names="" at=1
  _ck_reply=
  case ${word#-} in # options: with a value, with code to run, and before what is run
    python* | pypy*) takes="-W -X" code="-c" names="-m" ;;
    perl*) takes="-I" code="-e -E" ;;
    ruby*) takes="-I -r -C" code="-e" ;;
    node | nodejs | bun | deno) takes="-r --require --import --loader" code="-e --eval -p --print" ;;
    java) takes="-cp -classpath --class-path -p --module-path --add-modules" names="-jar -m --module" ;;
    php*) takes="-d -c -S -t" code="-r" names="-f --file" ;;
    sh | bash | rbash | dash | ash | ksh* | mksh | zsh | fish) takes="-o +o -O +O --rcfile --init-file" code="-c -lc -ic -ec" ;;
    awk | gawk | mawk) takes="-v -F" names="-f --file" ;;
    lua* | tclsh* | wish* | expect | Rscript | guile* | busybox | dotnet | mono | make | ld*.so* | qemu-*) ;;
    *) return ;;
  esac
  for ((at = 1; at < ${#argv[@]}; at++)); do
    word=${argv[at]}
    case $word in
      [-+]*)
        case " $code " in *" $word "*) return ;; esac
        case " $names " in *" $word "*) _ck_reply=${argv[at + 1]-} _ck_reply=${_ck_reply##*/}; return ;; esac
        case " $takes " in *" $word "*) at=$((at + 1)) ;; esac
        ;;
      *) _ck_reply=${word##*/}; return ;;
    esac
  done
}

# 0 if argv runs the program of base name $1. A program may have rewritten its command line into a title
# ("nginx: master process ..."), which then is one word.
_ck_runs() {
  local word=${argv[0]} title
  title=${word%%[: ]*}
  word=${word##*/}
  [ "${word#-}" = "$1" ] || [ "${title##*/}" = "$1" ] && return
  _ck_script
  [ "$_ck_reply" = "$1" ]
}

# 0 if argv has every argument given; --option=value and --option value are the same.
_ck_has() {
  local wanted words=() word IFS=$' \t\n'
  if [ "${#argv[@]}" = 1 ]; then set -f; words=(${argv[0]}); else words=("${argv[@]:1}"); fi
  for wanted in "$@"; do
    for word in "${words[@]}"; do
      [ "$word" != "$wanted" ] || continue 2
      [[ $word == -*=* ]] && { [ "${word%%=*}" = "$wanted" ] || [ "${word#*=}" = "$wanted" ]; } && continue 2
    done
    [[ $wanted == -*=* && " ${words[*]} " == *" ${wanted%%=*} ${wanted#*=} "* ]] || return 1
  done
}

# Prints the start time of every process that runs PROGRAM with every ARG, but not of this script, of the shells it
# consists of and of those that started it. In a subshell, whose settings are known.
_ck_processes() ( # PROGRAM [ARG...]
  set +efu
  shopt -u nullglob failglob nocasematch
  LC_ALL=C IFS=' ' argv=() program=${1##*/} state= parent= started= own= above=" " files=()
  shift
  _ck_argv $$
  own=${argv[*]}
  pid=$$
  while [ "${pid:-1}" -gt 1 ]; do above="$above$pid " && _ck_stat "$pid" && pid=$parent; done
  found=
  for exe in no yes; do
    # The file a process runs says more than its command line, where a link with another name started it.
    [ "$exe" = no ] || while IFS= read -r line; do
      [[ $line =~ \ /proc/([0-9]+)/exe\ -\>\ (.*)$ ]] && files[BASH_REMATCH[1]]=${BASH_REMATCH[2]% (deleted)}
    done < <(ls -l /proc/[0-9]*/exe 2> /dev/null)
    for pid in /proc/[0-9]*; do
      pid=${pid#/proc/}
      [[ $above != *" $pid "* ]] || continue
      _ck_argv "$pid"
      [ "${#argv[@]}" -gt 0 ] && [ "${argv[*]}" != "$own" ] || continue
      if [ "$exe" = yes ]; then
        [ "${files[pid]##*/}" = "$program" ] || continue
      else
        _ck_runs "$program" || continue
      fi
      _ck_has "$@" || continue
      _ck_stat "$pid"
      [ "$state" != Z ] && [ -n "$started" ] || continue
      found=yes
      printf '%s\n' "$started"
    done
    [ -z "$found" ] || break
  done
  [ -n "$found" ]
)

_ck_proc() { # FUNCTION NAME PROGRAM [ARG...]
  local function=$1 name=${2-} program=${3-}
  if [ -z "$program" ] || [ "$function" = expect_proc -a $# -ne 3 ] || [ "$function" = expect_proc_arg -a $# -lt 4 ]; then
    _ck_result FAIL "$name" "write expect_proc NAME PROGRAM or expect_proc_arg NAME PROGRAM ARG..."
    return
  fi
  shift 3
  if _ck_processes "$program" "$@" > /dev/null; then
    _ck_result PASS "$name"
  elif [ $# -gt 0 ] && _ck_processes "$program" > /dev/null; then
    _ck_result FAIL "$name" "no process running $program has all of: $*"
  else
    _ck_result FAIL "$name" "no process runs $program"
  fi
}
expect_proc() { _ck_proc expect_proc "$@" || :; }
expect_proc_arg() { _ck_proc expect_proc_arg "$@" || :; }

_ck_newest() {
  local times=() time newest=
  [ $# -eq 1 ] && [ -n "$1" ] || { _ck_use 'proc_start PROGRAM'; return; }
  mapfile -t times < <(_ck_processes "$1")
  for time in "${times[@]}"; do [ "$time" -gt "${newest:--1}" ] && newest=$time; done
  if [ -n "$newest" ]; then printf '%s\n' "$newest"; else printf 'proc_start %s: no such process\n' "$1" >&2; fi
}
proc_start() { _ck_newest "$@" || :; }

# ---- used by run.sh

_ck_text() { # SCRIPT: its text, without an exit in the last line
  local text line
  text=$(tr -d '\000' < "$1")
  line=${text##*$'\n'}
  [[ $line =~ ^[[:space:]]*exit([[:space:]]+0)?[[:space:]]*$ ]] && text=${text%"$line"}
  printf '%s\n' "$text"
}
_ck_end() { printf 'END %s\n' "$1" >&99; }
