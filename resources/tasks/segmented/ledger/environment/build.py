"""Build the crash backup of the ledger: the database as of its last checkpoint, and the log of what came after."""

import random
import shutil
import sqlite3
import tempfile
from pathlib import Path

SCHEMA = """
CREATE TABLE accounts (id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, title TEXT NOT NULL);
CREATE TABLE entries (
  id INTEGER PRIMARY KEY,
  account_id INTEGER NOT NULL REFERENCES accounts(id) ON DELETE CASCADE,
  posted TEXT NOT NULL,
  amount TEXT NOT NULL,
  memo TEXT NOT NULL);
CREATE TABLE receipts (
  id INTEGER PRIMARY KEY,
  entry_id INTEGER NOT NULL REFERENCES entries(id) ON DELETE CASCADE,
  scan TEXT NOT NULL);
CREATE TABLE planned_costs (
  id INTEGER PRIMARY KEY,
  charged_to INTEGER NOT NULL REFERENCES accounts(id),
  year INTEGER NOT NULL,
  cents INTEGER NOT NULL);
CREATE TABLE month_seal (month TEXT PRIMARY KEY, sealed_by TEXT NOT NULL);
CREATE TRIGGER keep_sealed_months BEFORE INSERT ON entries
WHEN EXISTS (SELECT 1 FROM month_seal WHERE month = substr(NEW.posted, 1, 7))
BEGIN SELECT RAISE(IGNORE); END;
"""
ACCOUNTS = [
    ("1000", "Cash"), ("1200", "Receivables"), ("3000", "Sales"), ("4100", "Rent"), ("4300", "Travel"),
    ("4900", "Other costs"), ("9999", "Suspense"),
]  # fmt: skip
# The suspense account is used by the old program and by the new one, so that no part of the entries gives its balance.


def plain(cents: int) -> str:
    """The way the old program wrote amounts."""
    return f"{cents / 100:.2f}"


def printed(cents: int) -> str:
    """The way the new program writes amounts: thousands separated, negative ones in parentheses."""
    text = f"{abs(cents) / 100:,.2f}"
    return f"({text})" if cents < 0 else text


def main() -> None:
    rng = random.Random(20240531)
    backup = Path("/app/backup")
    backup.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA wal_autocheckpoint=0")
        db.executescript(SCHEMA)
        db.executemany("INSERT INTO accounts (code, title) VALUES (?, ?)", ACCOUNTS)

        def post(count: int, days: list[str], write: object) -> None:
            for _ in range(count):
                cents = rng.choice((-1, 1)) * rng.randrange(1_000, 900_000)
                account = rng.randrange(1, len(ACCOUNTS) + 1)
                day = rng.choice(days)
                db.execute(
                    "INSERT INTO entries (account_id, posted, amount, memo) VALUES (?, ?, ?, ?)",
                    (account, day, write(cents), rng.choice(("transfer", "invoice", "correction", "payment"))),  # type: ignore[operator]
                )

        post(230, [f"2024-04-{d:02d}" for d in range(1, 31)], plain)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        post(170, [f"2024-05-{d:02d}" for d in range(1, 32)], printed)
        for entry in rng.sample(range(1, 401), 60):
            db.execute("INSERT INTO receipts (entry_id, scan) VALUES (?, ?)", (entry, f"scan-{entry:04d}.pdf"))
        for account in (4, 5, 7):
            db.execute(
                "INSERT INTO planned_costs (charged_to, year, cents) VALUES (?, 2025, ?)", (account, account * 12_500)
            )
        db.executemany("INSERT INTO month_seal VALUES (?, 'controller')", [("2024-04",), ("2024-05",)])
        # Copied while the program has it open, like a backup of a machine that then crashed.
        shutil.copy(path, backup / "nightly-0531.db")
        shutil.copy(f"{path}-wal", backup / "ledger.db-wal")
        db.close()
    (backup / "README").write_text(
        "nightly-0531.db  ledger.db, copied 2024-05-31 23:50 by the nightly job (which adds the date to the name)\n"
        "The job copies every file of the ledger program's data folder. Restore into a new folder, never in here.\n"
    )


main()
