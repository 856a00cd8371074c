# What must be left is worked out on the backup.
work=$(mktemp -d)
cp /app/backup/nightly-0531.db "$work/whole.db"
cp /app/backup/ledger.db-wal "$work/whole.db-wal"
ask() { /app/bin/sql /app/live/ledger.db "$1"; }
before() { /app/bin/sql "$work/whole.db" "$1"; }

expect_eq "accounts left" "$(ask "SELECT code FROM accounts ORDER BY code")" \
  "$(before "SELECT code FROM accounts WHERE code <> '9999' ORDER BY code")" seq
expect_out "ledger is sound" '^ok$' -- /app/bin/sql /app/live/ledger.db "PRAGMA integrity_check"
expect_no_out "no reference to a missing row" '.' -- /app/bin/sql /app/live/ledger.db "PRAGMA foreign_key_check"
kept="SELECT e.id FROM entries e JOIN accounts a ON a.id = e.account_id WHERE a.code <> '9999'"
expect_eq "entries left" "$(ask "SELECT id FROM entries WHERE memo <> 'closing entry' ORDER BY id")" "$(before "$kept ORDER BY 1")" set
expect_eq "closing entry left" "$(ask "SELECT code FROM entries JOIN accounts a ON a.id = account_id
  WHERE memo = 'closing entry'")" 4900
expect_eq "receipts left" "$(ask "SELECT id FROM receipts")" "$(before "SELECT id FROM receipts WHERE entry_id IN ($kept)")" set
expect_eq "planned costs kept" "$(ask "SELECT year || '/' || cents FROM planned_costs")" \
  "$(before "SELECT year || '/' || cents FROM planned_costs")" set
expect_eq "planned costs moved" "$(ask "SELECT p.id FROM planned_costs p JOIN accounts a ON a.id = charged_to WHERE code = '4900'")" \
  "$(before "SELECT p.id FROM planned_costs p JOIN accounts a ON a.id = charged_to WHERE code IN ('4900', '9999')")" set
report=/app/reports/handover.csv
expect_eq "report: accounts" "$(column "$report" code:1)" "$(before "SELECT code FROM accounts WHERE code <> '9999' ORDER BY code")" seq
for code in $(before "SELECT code FROM accounts WHERE code <> '9999'"); do
  closing=$((code == 4900))
  entries=$(before "SELECT count(*) + $closing FROM entries e JOIN accounts a ON a.id = e.account_id WHERE a.code = '$code'")
  receipts=$(before "SELECT count(*) FROM receipts r JOIN entries e ON e.id = entry_id JOIN accounts a ON a.id = account_id WHERE code = '$code'")
  expect_eq "report: entries of $code" "$(cell "$report" code:1 "$code" entries:2)" "$entries" int
  expect_eq "report: receipts of $code" "$(cell "$report" code:1 "$code" receipts:3)" "$receipts" int
done
rm -rf "$work"
