"""The paper's published figures (resources/paper), to set beside ours. Never an input of a measurement."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

from termdepth.report.context import ReportContext

Value = float | str | None


@lru_cache(maxsize=64)
def _rows(path: Path) -> tuple[dict[str, Value], ...]:
    if not path.is_file():
        return ()
    with path.open(encoding="utf-8", newline="") as file:
        return tuple({k: _value(v) for k, v in row.items()} for row in csv.DictReader(file))


def _value(text: str) -> Value:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return text


def rows(context: ReportContext, name: str) -> tuple[dict[str, Value], ...]:
    """The rows of resources/paper/<name>.csv: numbers as float, empty cells None. Nothing where the file is not there."""
    return _rows(Path(context.paper) / f"{name}.csv")


def row(context: ReportContext, name: str, /, **keys: str | None) -> dict[str, Value] | None:
    """The first row whose columns have these values; None where there is none, or where a value is None."""
    if None in keys.values():
        return None
    return next((r for r in rows(context, name) if all(r.get(k) == v for k, v in keys.items())), None)


def count(context: ReportContext, name: str) -> float | None:
    """A single number that the paper's text states (counts.csv), by its name there."""
    found = row(context, "counts", name=name)
    value = found["value"] if found else None
    return value if isinstance(value, float) else None
