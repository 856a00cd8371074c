# What the two accounts must hold is computed from the backup.
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
balance() { balances "$1" | awk -v code="$2" '$1 == code {print $2}'; }
ask() { /app/bin/sql /app/live/ledger.db "$1"; }
suspense=$(balance "$work/whole.db" 9999)
other=$(balance "$work/whole.db" 4900)

expect_eq "suspense account is at zero" "$(balance /app/live/ledger.db 9999)" 0 int
expect_eq "other costs took the balance" "$(balance /app/live/ledger.db 4900)" "$((other + suspense))" int
expect_eq "closing entries and their accounts" "$(ask "SELECT code FROM entries JOIN accounts a ON a.id = account_id
  WHERE memo = 'closing entry' AND posted = '2024-05-31' ORDER BY code")" "4900 9999" seq
expect_eq "entries that were there are unchanged" "$(ask "SELECT count(*), sum(account_id * id), sum(length(amount)) FROM entries
  WHERE memo <> 'closing entry'")" "$(/app/bin/sql "$work/whole.db" "SELECT count(*), sum(account_id * id), sum(length(amount)) FROM entries")"
# The protection is tried on a copy: an entry in May must again be dropped.
cp /app/live/ledger.db "$work/try.db"
/app/bin/sql "$work/try.db" "INSERT INTO entries (account_id, posted, amount, memo) VALUES (1, '2024-05-02', '1.00', 'probe of May')" || true
expect_eq "May is protected again" "$(/app/bin/sql "$work/try.db" "SELECT count(*) FROM entries WHERE memo = 'probe of May'")" 0 int
rm -rf "$work"
