#!/bin/bash
sql=/app/bin/sql
mkdir -p /app/live /app/reports
cp /app/backup/nightly-0531.db /app/live/ledger.db
# The backup is of a database in WAL mode: without its log, under the name SQLite looks for, the newest entries are missing
# and nothing says so.
# key-step: begin
cp /app/backup/ledger.db-wal /app/live/ledger.db-wal
# key-step: end
$sql /app/live/ledger.db "PRAGMA journal_mode=DELETE"
{
  echo "entries: $($sql /app/live/ledger.db "SELECT count(*) FROM entries")"
  echo "last_posted: $($sql /app/live/ledger.db "SELECT max(posted) FROM entries")"
} > /app/reports/restore.txt
