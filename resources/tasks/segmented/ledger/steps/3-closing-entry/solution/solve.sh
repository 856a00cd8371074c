#!/bin/bash
sql=/app/bin/sql
ledger=/app/live/ledger.db
cents=$(awk -F, '$1 == "9999" {print $2}' /app/reports/balances.csv)
out=$(awk -v c="$cents" 'BEGIN {printf "%.2f", -c / 100}')
in=$(awk -v c="$cents" 'BEGIN {printf "%.2f", c / 100}')
# A trigger silently drops entries of sealed months: lift the seal of May while posting.
# key-step: begin
seal=$($sql $ledger "SELECT sealed_by FROM month_seal WHERE month = '2024-05'")
$sql $ledger "DELETE FROM month_seal WHERE month = '2024-05'"
# key-step: end
post() {
  $sql $ledger "INSERT INTO entries (account_id, posted, amount, memo)
    SELECT id, '2024-05-31', '$2', 'closing entry' FROM accounts WHERE code = '$1'"
}
post 9999 "$out"
post 4900 "$in"
$sql $ledger "INSERT OR IGNORE INTO month_seal VALUES ('2024-05', '$seal')"
