cd /app/quota
work=$(mktemp -d)
all=$(git cat-file --batch-all-objects --batch-check='%(objecttype) %(objectname)' | awk '$1 == "commit" {print $2}')
last=$(git log --no-walk --grep='Ticket: Q-117' --format='%ct %H' $all | sort -n | tail -1 | cut -d ' ' -f 2)
setting() { git show "$1:limits.ini" | sed -n "s/^$2 = //p"; }
git clone -q --branch main /app/quota "$work/fresh" 2> /dev/null
show() { python3 "$work/fresh/quota.py" show "$1" 2>&1 | tail -1; }

expect_ok "main contains the branch" -- git merge-base --is-ancestor "$last" main
expect_ok "main contains what it had" -- git merge-base --is-ancestor origin/main main
expect_no_out "nothing is left uncommitted" '.' -- git status --porcelain --untracked-files=no
expect_eq "main is checked out" "$(git symbolic-ref --short HEAD)" main
expect_out "selftest succeeds" 'selftest ok' -- python3 "$work/fresh/selftest.py"
expect_eq "default" "$(show default)" "$(setting origin/main default)" int
expect_eq "warn" "$(show warn)" "$(setting origin/main warn)" int
expect_eq "grace" "$(show grace)" "$(setting "$last" grace)" int
rm -rf "$work"
