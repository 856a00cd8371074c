cd /app/quota
# The last commit of the ticket, among all commits the repository holds, whatever refers to them.
all=$(git cat-file --batch-all-objects --batch-check='%(objecttype) %(objectname)' | awk '$1 == "commit" {print $2}')
last=$(git log --no-walk --grep='Ticket: Q-117' --format='%ct %H' $all | sort -n | tail -1 | cut -d ' ' -f 2)
expect_eq "branch is back at its last commit" "$(git rev-parse --verify -q refs/heads/feature/grace)" "$last"
expect_eq "report: commit" "$(field /app/reports/recovered.txt commit)" "$last"
expect_eq "report: subject" "$(field /app/reports/recovered.txt subject)" "$(git log -1 --format=%s "$last")"
expect_eq "main is checked out" "$(git symbolic-ref --short HEAD)" main
