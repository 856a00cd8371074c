#!/bin/bash
cd /app/quota
git merge --no-edit feature/grace
# The repository merges limits.ini by "union": no conflict, but the setting both changed now stands there twice.
# key-step: begin
keep=$(git show origin/main:limits.ini | grep '^default = ')
awk -v keep="$keep" '!/^default = / || $0 == keep' limits.ini > limits.new
mv limits.new limits.ini
git commit -am "Keep the default limit of main"
# key-step: end
