#!/bin/bash
push="git -C /app/quota push -q"
refs="main feature/grace v1.3 v1.4 v1.4.1"
refusal=$($push /app/srv/quota.git $refs 2>&1)
# The repository refuses a push that does not name a change, and says which. The daemon hands out only repositories that are marked for it; --export-all would hand out the neighbours too. And the
# prepared repository points to a branch that is not there, so that a clone checks out nothing.
# key-step: begin
$push -o "$(sed -n 's/.*with the option \([^ ]*\).*/\1/p' <<< "$refusal")" /app/srv/quota.git $refs
git -C /app/srv/quota.git symbolic-ref HEAD refs/heads/main
touch /app/srv/quota.git/git-daemon-export-ok
# key-step: end
# event: begin start
git daemon --detach --listen=127.0.0.1 --port=9418 --base-path=/app/srv --reuseaddr > /dev/null 2>&1
sleep 0.3
# event: end
