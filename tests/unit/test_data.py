"""The tables of record: declared, checked, written whole or not at all, documented."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from termdepth.data import TABLES, Column, Table, read_frame, read_table, read_tables, write_table
from termdepth.data.io import to_arrow, write_atomically, write_text
from termdepth.data.schema import document
from termdepth.errors import UserError

ROOT = Path(__file__).parents[2]
VALUES: dict[str, Any] = {
    "string": "caf\u00e9 \u2014 \U0001f600", "int": -3, "float": 0.5, "bool": False,
    "time": datetime(2026, 11, 30, 12, 0, 0, 123000, tzinfo=UTC), "ints": [1, 2], "strings": ["a", ""],
}  # fmt: skip
SMALL = Table("small", "one thing", (Column("a", "int", "", "a"), Column("b", "string", "", "b", "unknown")))


def row(table: Table, *, empty: bool = False) -> dict[str, Any]:
    return {c.name: None if empty and c.null is not None else VALUES[c.type] for c in table.columns}


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_round_trip(table: Table, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "t.parquet"
    rows = [row(table), row(table, empty=True)]
    write_table(rows, table, path)
    assert read_table(path, table) == rows
    write_table([], table, path)
    assert read_table(path, table) == [] and list(read_frame(path).columns) == [c.name for c in table.columns]
    fields = pq.read_schema(path)
    for column in table.columns:
        metadata = fields.field(column.name).metadata
        assert metadata[b"meaning"].decode() == column.meaning and metadata[b"unit"].decode() == column.unit


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_declarations(table: Table) -> None:
    names = [c.name for c in table.columns]
    assert len(set(names)) == len(names)
    for c in table.columns:
        assert c.meaning and c.name == c.name.lower() and c.null != ""
        assert "|" not in c.meaning + c.unit + (c.null or "")  # it would break the table of docs/data.md


def test_rows_that_do_not_fit() -> None:
    good = {"a": 1, "b": None}
    assert to_arrow([good], SMALL).num_rows == 1
    for bad, words in (
        ({"a": 1}, "missing columns ['b']"),
        (good | {"c": 1}, "undeclared columns ['c']"),
        ({"a": None, "b": "x"}, "['a'] may not be empty"),
    ):
        with pytest.raises(ValueError) as caught:
            to_arrow([good, bad], SMALL)
        assert words in str(caught.value) and "table small" in str(caught.value)
    with pytest.raises((pa.ArrowInvalid, pa.ArrowTypeError)):
        to_arrow([{"a": "one", "b": None}], SMALL)


def test_file_of_another_table_or_version(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table([{"a": 1, "b": None}], SMALL, path)
    other = Table("small", "one thing", (*SMALL.columns, Column("c", "int", "", "c", "none")))
    with pytest.raises(UserError, match="not a `small` table of this version"):
        read_table(path, other)
    path.write_bytes(path.read_bytes()[:50])
    for read in (lambda p: read_table(p, SMALL), read_frame):
        with pytest.raises(UserError, match="not a readable Parquet file"):
            read(path)
        with pytest.raises(UserError):
            read(tmp_path / "none.parquet")


def test_several_files_in_their_order(tmp_path: Path) -> None:
    for i in (2, 1):
        write_table([{"a": i, "b": None}], SMALL, tmp_path / str(i))
    assert [r["a"] for r in read_tables([tmp_path / "2", tmp_path / "1"], SMALL)] == [2, 1]


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table([{"a": 1, "b": None}], SMALL, path)
    with pytest.raises(ValueError):
        write_table([{"a": 2, "b": None}, {"a": None, "b": None}], SMALL, path)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, lambda tmp: (_ for _ in ()).throw(KeyboardInterrupt))
    assert read_table(path, SMALL) == [{"a": 1, "b": None}]
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]
    with pytest.raises(UserError, match="cannot write the file"):
        write_text("x", path / "below-a-file")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True, check=False
        ).returncode
    )
    if not mounted:
        pytest.skip("needs root, to mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_full_disk(small_disk: Path) -> None:
    path = small_disk / "t.parquet"
    write_table([{"a": 1, "b": "old"}], SMALL, path)
    big = [{"a": i, "b": os.urandom(50).hex()} for i in range(20_000)]
    with pytest.raises(UserError) as caught:
        write_table(big, SMALL, path)
    assert str(path) in str(caught.value) and "No space left" in str(caught.value) and "\n" not in str(caught.value)
    assert read_table(path, SMALL) == [{"a": 1, "b": "old"}]
    with pytest.raises(UserError, match="No space left"):
        write_text("x" * 100_000, small_disk / "t.txt")
    assert [p.name for p in small_disk.iterdir()] == ["t.parquet"]


def test_document_is_the_generated_one() -> None:
    assert (ROOT / "docs/data.md").read_text() == document(), "run: python -m termdepth.data.schema > docs/data.md"
    assert all(f"## {name}\n" in document() for name in TABLES)
