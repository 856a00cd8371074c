#!/bin/bash
cd /app/quota
cat > /tmp/probe.sh <<'EOF'
#!/bin/sh
answer=$(python3 quota.py check anna 512 2> /dev/null)
EOF
# Between the tags lie commits that do not run at all: a test that only asks for "allowed" takes the first of them.
# key-step: begin
echo '[ -n "$answer" ] || exit 125' >> /tmp/probe.sh
# key-step: end
echo '[ "$answer" = allowed ]' >> /tmp/probe.sh
git bisect start v1.4 v1.3
git bisect run sh /tmp/probe.sh
bad=$(git rev-parse refs/bisect/bad)
git bisect reset
{
  echo "commit: $bad"
  echo "subject: $(git log -1 --format=%s "$bad")"
} > /app/reports/regression.txt
# A later commit wrote beside the line: "git revert" ends in a conflict, the bare change does not.
git show -U0 --format= "$bad" | git apply -R --unidiff-zero && git commit -qam "Undo: $(git log -1 --format=%s "$bad")"
/app/bin/release 1.4.1
