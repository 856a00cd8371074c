#!/bin/bash
sql=/app/bin/sql
ledger=/app/live/ledger.db
enforce="SELECT 'as the program does it'"
# SQLite enforces and cascades foreign keys only where a connection asks for it. Then planned costs stand in the way.
# key-step: begin
enforce="PRAGMA foreign_keys = ON"
$sql $ledger "UPDATE planned_costs SET charged_to = (SELECT id FROM accounts WHERE code = '4900')
  WHERE charged_to = (SELECT id FROM accounts WHERE code = '9999')"
# key-step: end
$sql $ledger "$enforce" "DELETE FROM accounts WHERE code = '9999'"
{
  echo "code,entries,receipts"
  $sql $ledger "SELECT a.code || ',' || count(DISTINCT e.id) || ',' || count(r.id) FROM accounts a
    LEFT JOIN entries e ON e.account_id = a.id LEFT JOIN receipts r ON r.entry_id = e.id GROUP BY a.id ORDER BY a.code"
} > /app/reports/handover.csv
