cd /app/quota
work=$(mktemp -d)
all=$(git cat-file --batch-all-objects --batch-check='%(objecttype) %(objectname)' | awk '$1 == "commit" {print $2}')
last=$(git log --no-walk --grep='Ticket: Q-117' --format='%ct %H' $all | sort -n | tail -1 | cut -d ' ' -f 2)
tar -xzf /app/release/quota-1.4.tar.gz -C "$work" 2> /dev/null

expect_out "release is executable" '^yes$' -- bash -c 'test -x /app/bin/release && echo yes'
expect_file "archive is there" /app/release/quota-1.4.tar.gz
expect_ok "tag contains the branch" -- git merge-base --is-ancestor "$last" v1.4
expect_ok "tag is on main" -- git merge-base --is-ancestor v1.4 main
expect_eq "everything is below quota-1.4" "$(tar -tzf /app/release/quota-1.4.tar.gz 2> /dev/null | cut -d / -f 1 | sort -u)" quota-1.4
expect_out "selftest succeeds where it is unpacked" 'selftest ok' -- python3 "$work/quota-1.4/selftest.py"
expect_eq "it knows its version" "$(python3 "$work/quota-1.4/quota.py" version 2>&1 | tail -1)" 1.4 exact
expect_eq "program is the tagged one" "$(sha256sum < "$work/quota-1.4/quota.py")" "$(git show v1.4:quota.py 2> /dev/null | sha256sum)"
expect_eq "grace is in the release" "$(python3 "$work/quota-1.4/quota.py" show grace 2>&1 | tail -1)" \
  "$(git show "$last:limits.ini" | sed -n 's/^grace = //p')" int
rm -rf "$work"
