work=$(mktemp -d)
git clone -q git://127.0.0.1/quota.git "$work/clone" > "$work/log" 2>&1
remote() { git ls-remote git://127.0.0.1/quota.git "$1" 2> /dev/null | cut -f 1; }

expect_port "the daemon listens" 127.0.0.1 9418
expect_out "a clone works" '^yes$' -- bash -c "test -f '$work/clone/quota.py' && echo yes"
for ref in refs/heads/main refs/heads/feature/grace refs/tags/v1.4 refs/tags/v1.4.1; do
  expect_eq "it has ${ref#refs/}" "$(remote "$ref")" "$(git -C /app/quota rev-parse -q --verify "$ref")"
done
expect_eq "a clone is on main" "$(git -C "$work/clone" symbolic-ref --short HEAD 2> /dev/null)" main
expect_eq "its program allows what 1.3 allowed" "$(python3 "$work/clone/quota.py" check anna 512 2>&1 | tail -1)" allowed
expect_fail "the neighbour cannot be read" 'denied|not exported' -- git ls-remote git://127.0.0.1/payroll.git
expect_fail "nobody can push" 'denied|not exported' -- git -C /app/quota push git://127.0.0.1/quota.git main:refs/heads/probe
rm -rf "$work"
