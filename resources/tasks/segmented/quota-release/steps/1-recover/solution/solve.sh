#!/bin/bash
cd /app/quota
tip=$(git rev-parse origin/feature/grace)
# What was pushed is only where the branch began; its end is among the commits that nothing refers to.
# key-step: begin
lost=$(git fsck --no-reflogs 2> /dev/null | awk '$2 == "commit" {print $3}')
tip=$(git log --no-walk --grep='Ticket: Q-117' --format=%H $lost | head -1)
# key-step: end
git branch -f feature/grace "$tip"
{
  echo "commit: $tip"
  echo "subject: $(git log -1 --format=%s "$tip")"
} > /app/reports/recovered.txt
