# What the ledger must hold is read from the backup, put together in a folder of its own.
work=$(mktemp -d)
cp /app/backup/nightly-0531.db "$work/whole.db"
cp /app/backup/ledger.db-wal "$work/whole.db-wal"
ask() { python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' "$@"; }
entries=$(ask "$work/whole.db" "SELECT count(*) FROM entries")
last=$(ask "$work/whole.db" "SELECT max(posted) FROM entries")

expect_file "ledger is there" /app/live/ledger.db
# Only the one file is copied: what is still in a log beside it does not count.
cp /app/live/ledger.db "$work/alone.db"
expect_out "ledger is sound" '^ok$' -- /app/bin/sql "$work/alone.db" "PRAGMA integrity_check"
expect_eq "all entries restored" "$(ask "$work/alone.db" "SELECT count(*) FROM entries")" "$entries" int
expect_eq "newest entry restored" "$(ask "$work/alone.db" "SELECT max(posted) FROM entries")" "$last"
expect_eq "report: entries" "$(field /app/reports/restore.txt entries)" "$entries" int
expect_eq "report: last_posted" "$(field /app/reports/restore.txt last_posted)" "$last"
rm -rf "$work"
