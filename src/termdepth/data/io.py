"""Read and write the tables of record. A file is either whole or not there: it is written beside its place and renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from termdepth.data.schema import Table
from termdepth.errors import UserError

if TYPE_CHECKING:
    import pandas as pd


def to_arrow(rows: Iterable[Mapping[str, Any]], table: Table) -> pa.Table:
    """Rows as an Arrow table of exactly the declared schema.

    Raises:
        ValueError: a row has a column that is not declared, lacks one, or leaves one empty that is never empty.
    """
    rows = list(rows)
    names = [c.name for c in table.columns]
    for row in rows:
        if set(row) != set(names):
            extra, missing = sorted(set(row) - set(names)), sorted(set(names) - set(row))
            raise ValueError(f"table {table.name}: undeclared columns {extra}, missing columns {missing}")
        empty = [c.name for c in table.columns if c.null is None and row[c.name] is None]
        if empty:
            raise ValueError(f"table {table.name}: {empty} may not be empty: {dict(row)!r:.300}")
    return pa.Table.from_pylist([{n: row[n] for n in names} for row in rows], schema=table.arrow)


def write_table(rows: Iterable[Mapping[str, Any]], table: Table, path: str | Path) -> None:
    """Write rows to `path`, whole or not at all.

    Raises:
        UserError: the file cannot be written (disk full, no permission); what stood there before is untouched.
    """
    write_atomically(path, lambda tmp: pq.write_table(to_arrow(rows, table), tmp))


def write_text(text: str, path: str | Path) -> None:
    """Write a text file, whole or not at all. Raises like `write_table`."""
    write_atomically(path, lambda tmp: Path(tmp).write_text(text, encoding="utf-8"))


def write_atomically(path: str | Path, write: Callable[[str], object]) -> None:
    """Call `write(temporary path)` and rename its result to `path`; on failure leave no trace of it."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd, tmp = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(fd)
        try:
            write(tmp)
            Path(tmp).chmod(0o644)
            Path(tmp).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(tmp).unlink()
            raise
    except OSError as e:
        raise UserError(
            f"cannot write the file: {e.strerror or e}",
            where=path,
            hint="free space or mend the permissions, then run the same command again: finished runs are kept",
        ) from e


def read_table(path: str | Path, table: Table) -> list[dict[str, Any]]:
    """The rows of one file.

    Raises:
        UserError: the file is not readable, or was written by another version with other columns.
    """
    try:
        found = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as e:
        raise UserError(
            f"not a readable Parquet file: {e}", where=path, hint="delete it and run snakemake again"
        ) from e
    if not found.schema.equals(table.arrow):
        raise UserError(
            f"not a `{table.name}` table of this version", where=path, hint="delete it and run snakemake again"
        )
    return found.to_pylist()  # type: ignore[no-any-return]


def read_tables(paths: Sequence[str | Path], table: Table) -> list[dict[str, Any]]:
    """The rows of several files, in the order given."""
    return [row for path in paths for row in read_table(path, table)]


def read_frame(path: str | Path) -> pd.DataFrame:
    """One file as a pandas DataFrame, whatever its table."""
    try:
        frame: pd.DataFrame = pq.read_table(path).to_pandas()
    except (OSError, pa.ArrowInvalid) as e:
        raise UserError(
            f"not a readable Parquet file: {e}", where=path, hint="delete it and run snakemake again"
        ) from e
    return frame
