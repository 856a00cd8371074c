#!/bin/bash
git clone -q --bare /app/quota /app/srv/quota.git
# The daemon hands out only repositories that are marked for it; --export-all would hand out the neighbours too.
# key-step: begin
touch /app/srv/quota.git/git-daemon-export-ok
# key-step: end
# event: begin start
git daemon --detach --listen=127.0.0.1 --port=9418 --base-path=/app/srv --reuseaddr > /dev/null 2>&1
sleep 0.3
# event: end
