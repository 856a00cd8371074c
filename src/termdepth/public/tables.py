"""Published trials, and what is known of their tasks, from CSV files."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from termdepth.errors import UserError
from termdepth.public.trial import Trial


def csv_trials(path: Path) -> Iterator[Trial]:
    """A trial for each row: task, model, reward (at least 1 is a pass; empty is a run without a verdict, which counts as
    not passed), turns (optional). Other columns are not read.

    Raises:
        UserError: the file cannot be read, a column is missing, a value is no number; names file, line and column.
    """
    for line, row in _rows(path, ("task", "model", "reward")):
        reward = _number(row["reward"], path, line, "reward")
        turns = _number(row.get("turns", ""), path, line, "turns", least=0)
        passed = reward is not None and reward >= 1
        yield Trial(_text(row, "task", path, line), row["model"], passed, turns)


def described_tasks(path: Path) -> dict[str, dict[str, Any]]:
    """By task, columns of PUBLIC_PASS_RATES: author_rating, category, expert_minutes, w_naive_lines.

    Raises:
        UserError: as `csv_trials` does, and for a task that is there twice.
    """
    found: dict[str, dict[str, Any]] = {}
    for line, row in _rows(path, ("task",)):
        task = _text(row, "task", path, line)
        if task in found:
            raise UserError(f"task {task!r} is there twice", where=f"{path}:{line}", hint="one row a task")
        lines = _number(row.get("solution_lines", ""), path, line, "solution_lines", least=0)
        if lines is not None and not lines.is_integer():
            raise UserError(f"column solution_lines: {lines:g} is not a whole number", where=f"{path}:{line}")
        found[task] = {
            "author_rating": row.get("author_difficulty") or None,
            "category": row.get("category") or None,
            "expert_minutes": _number(row.get("expert_minutes", ""), path, line, "expert_minutes", least=0),
            "w_naive_lines": None if lines is None else int(lines),
        }
    return found


def _rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line numbers and rows of a CSV file, spaces at the ends of values removed."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            names = [name.strip() for name in reader.fieldnames or []]
            reader.fieldnames = names
            absent = [name for name in needed if name not in names]
            if absent:
                raise UserError(
                    f"no column {', '.join(absent)}",
                    where=f"{path}:1",
                    hint=f"the header has {', '.join(names) or 'nothing'}; columns are separated by commas",
                )
            for row in reader:
                # DictReader puts values without a column under None, and None for columns without a value.
                if None in row or None in row.values():
                    raise UserError(f"not {len(names)} values as in the header", where=f"{path}:{reader.line_num}")
                yield reader.line_num, {name: value.strip() for name, value in row.items()}
    except OSError as error:
        raise UserError(f"cannot read the file: {error.strerror}", where=path) from error
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8 text: {error.reason} at byte {error.start}", where=path) from error
    except csv.Error as error:
        # The reader has not counted the line that it failed on.
        raise UserError(f"not CSV: {error}", where=f"{path}:{reader.line_num + 1}") from error


def _text(row: dict[str, str], column: str, path: Path, line: int) -> str:
    if not row[column]:
        raise UserError(f"column {column} is empty", where=f"{path}:{line}")
    return row[column]


def _number(text: str, path: Path, line: int, column: str, least: float = -math.inf) -> float | None:
    """A finite number, None for an empty cell."""
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < least:
        hint = f"a number{f' of at least {least:g}' if math.isfinite(least) else ''}, or nothing where it is not known"
        raise UserError(
            f"column {column}: {text!r} is not a number that it can have", where=f"{path}:{line}", hint=hint
        )
    return value
