# The balances are computed from the backup, so that they do not depend on how the ledger was restored.
work=$(mktemp -d)
cp /app/backup/nightly-0531.db "$work/whole.db"
cp /app/backup/ledger.db-wal "$work/whole.db-wal"
balances() {
  python3 -c '
import decimal, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for code, in db.execute("SELECT code FROM accounts ORDER BY code").fetchall():
    cents = 0
    for text, in db.execute("SELECT amount FROM entries e JOIN accounts a ON a.id = e.account_id WHERE code = ?", (code,)):
        value = decimal.Decimal(text.strip("()").replace(",", ""))
        cents += int(value * 100) * (-1 if text.startswith("(") else 1)
    print(code, cents)
' "$1"
}
report=/app/reports/balances.csv
expected=$(balances "$work/whole.db")
expect_file "report is there" "$report"
while read -r code cents; do
  expect_eq "balance of $code" "$(cell "$report" code:1 "$code" balance_cents:2)" "$cents" int
done <<< "$expected"
expect_eq "order of the accounts" "$(column "$report" code:1)" "$(cut -d ' ' -f 1 <<< "$expected")" seq
rm -rf "$work"
