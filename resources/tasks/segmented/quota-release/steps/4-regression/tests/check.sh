cd /app/quota
work=$(mktemp -d)
answer() { # COMMIT: what the program says there
  rm -rf "$work/at"
  mkdir "$work/at"
  git --work-tree="$work/at" restore --source="$1" -- . 2> /dev/null
  python3 "$work/at/quota.py" check anna 512 2> /dev/null
}
# The history of origin/main as it was given, oldest first.
culprit=""
for commit in $(git rev-list --reverse v1.3..origin/main); do
  [ "$(answer "$commit")" = refused ] && culprit=$commit && break
done
undone=$(git diff -U0 "$culprit" "$culprit^" -- . | git patch-id --stable | cut -d ' ' -f 1)
done_since=$(git diff -U0 v1.4 main -- . 2> /dev/null | git patch-id --stable | cut -d ' ' -f 1)
tar -xzf /app/release/quota-1.4.1.tar.gz -C "$work" 2> /dev/null
released="$work/quota-1.4.1"

expect_eq "report: commit" "$(field /app/reports/regression.txt commit)" "$culprit"
expect_eq "report: subject" "$(field /app/reports/regression.txt subject)" "$(git log -1 --format=%s "$culprit")"
expect_eq "main undoes that commit and nothing else" "$done_since" "$undone"
expect_eq "main answers as 1.3 did" "$(answer main)" "$(answer v1.3)"
expect_eq "release is tagged on main" "$(git rev-parse -q --verify 'v1.4.1^{commit}')" "$(git rev-parse main)"
expect_out "selftest of the release succeeds" 'selftest ok' -- python3 "$released/selftest.py"
expect_eq "release knows its version" "$(python3 "$released/quota.py" version 2>&1 | tail -1)" 1.4.1 exact
expect_eq "release answers as 1.3 did" "$(python3 "$released/quota.py" check anna 512 2>&1 | tail -1)" "$(answer v1.3)"
rm -rf "$work"
