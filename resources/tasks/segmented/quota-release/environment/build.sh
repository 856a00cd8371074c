#!/bin/bash
# Builds /app/quota: a history with a release, a range that does not run, a regression, and a branch that was deleted.
set -e
export HOME=/root GIT_CONFIG_NOSYSTEM=1
mkdir -p /app/srv /app/release /app/reports
clock=1714554000
git init -q -b main /app/quota
cd /app/quota
git config user.name "Quota Team"
git config user.email quota@example.test
git config gc.auto 0
git config core.logAllRefUpdates false
commit() { # MESSAGE [TRAILER]
  clock=$((clock + 4217))
  git add -A
  GIT_AUTHOR_DATE="$clock +0000" GIT_COMMITTER_DATE="$clock +0000" git commit -q -m "$1" ${2:+-m "$2"}
}
note() { echo "- $1" >> CHANGES.md; commit "$1"; }

cp -r /source/. .
# Without their dot in our own repository, where git would take them at their word.
mv gitattributes .gitattributes
mv gitignore .gitignore
commit "Quota: limits, usage and a check"
note "Say in the usage text what check prints"
note "Describe the fixtures"
GIT_COMMITTER_DATE="$clock +0000" git tag -a v1.3 -m "quota 1.3"
note "List the people with limits of their own"
note "Explain warn"
base=$(git rev-parse HEAD)
note "Reword the introduction"
note "Name the owner of the fixtures"
# Commits in which the program does not start.
cp quota.py /tmp/quota.py
sed -i 's/^def main(args):/def report(:\n    pass\n\n\n&/' quota.py
commit "Start on a report command"
note "Note the report command"
note "Ask for comments on the report command"
note "Move the list of people up"
note "Say which disks are counted"
note "Spell out the units"
note "Sort the notes"
note "Thank the reviewers"
note "Mention the mailing list"
note "Collect the comments on the report command"
mv /tmp/quota.py quota.py
commit "Put the report command off"
note "Describe how usage is measured"
note "Link the handbook"
# The regression.
sed -i 's/if mb <= free else/if mb < free else/' quota.py
commit "Keep one megabyte in reserve on every disk"
sed -i 's/^    return "allowed" if/    # The reserve is for the mail queue.\n&/' quota.py
commit "Describe the reserve"
note "Update the year"
sed -i 's/^default = .*/default = 750/' limits.ini
commit "Raise the default limit"
note "Announce the new limit"
main=$(git rev-parse HEAD)
git update-ref refs/remotes/origin/main "$main"

# The branch as it was pushed once, an abandoned attempt at it, and its last state, which only this repository had.
grace() { # the change to the program, the settings and the tests
  sed -i "s/^    return limits.getint(\"disk\", \"default\")/    return limits.getint(\"disk\", \"default\") * (100 + $1) \/\/ 100/" quota.py
}
git checkout -q --detach "$base"
grace 5
commit "Grace: allow 5 percent over the default limit" "Ticket: Q-117"
git update-ref refs/remotes/origin/feature/grace HEAD
first=$(git rev-parse HEAD)
echo "grace = 10" > grace.ini
commit "Grace: a settings file of its own (attempt)" "Ticket: Q-117"
git checkout -q --detach "$first"
sed -i 's/(100 + 5)/(100 + limits.getint("disk", "grace"))/' quota.py
sed -i 's/^default = .*/default = 600\ngrace = 3/' limits.ini
commit "Grace: read the percentage from limits.ini" "Ticket: Q-117"
sed -i 's/^print(/assert quota.check("bob", quota.limit("bob") - quota.used("bob") - 1) == "allowed"\nassert quota.limits.getint("disk", "grace") > 0\n&/' selftest.py
commit "Grace: test it" "Ticket: Q-117"
git checkout -q --detach "$base"
echo "draft" > letter.txt
commit "Draft of a letter to the users"
git checkout -q main
git config --unset core.logAllRefUpdates
git remote add origin /mnt/quota.git
rm -rf .git/logs

# Where ours is to be published, as the machine's owner prepared it, and another team's repository beside it.
git init -q --bare -b master /app/srv/quota.git
git -C /app/srv/quota.git config receive.advertisePushOptions true
install -m 755 /source.hook /app/srv/quota.git/hooks/pre-receive
git init -q --bare -b main /app/srv/payroll.git
git push -q /app/srv/payroll.git "$base:refs/heads/main"
