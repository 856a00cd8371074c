#!/bin/bash
sql=/app/bin/sql
amount="e.amount"
# The newer entries hold amounts as printed text, "1,250.00" and "(45.10)", of which SUM silently reads the first digits.
# key-step: begin
amount="replace(replace(replace(e.amount, ',', ''), '(', '-'), ')', '')"
# key-step: end
mkdir -p /app/reports
{
  echo "code,balance_cents"
  $sql /app/live/ledger.db "SELECT a.code || ',' || CAST(round(total(CAST($amount AS REAL)) * 100) AS INTEGER)
    FROM accounts a LEFT JOIN entries e ON e.account_id = a.id GROUP BY a.id ORDER BY a.code"
} > /app/reports/balances.csv
