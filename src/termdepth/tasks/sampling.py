"""Which tasks of a dataset are measured, and in which order (paper, App. C, rules 1, 2 and 4, and Table 4). Pure.

Rows are mappings of column to value: those of the table `tasks`, with the columns of a user's CSV joined to them. Tasks
are filtered by evidence that a model passed, split into groups, drawn within each group with a fixed seed, and
interleaved. The order does not depend on the sample size, and the draw of a task depends on its name alone: a larger
sample, or a dataset with more tasks, keeps what was drawn in the order it was drawn.
"""

from __future__ import annotations

import csv
import hashlib
import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from termdepth.errors import UserError

Row = Mapping[str, Any]

NO_LABEL = "(none)"
"""Group of a task without a value."""
ALL = "all"
"""Group of every task where tasks are not grouped."""


@dataclass(frozen=True)
class Split:
    """One way to split tasks into groups.

    Attributes:
        column: column of the rows to split by; `metadata.KEY` reads the key of a column `metadata` that holds a mapping,
            `metadata.TABLE.KEY` one in a table of it.
        bins: None takes each value as a group of its own; a number makes that many quantile groups; a sequence of
            ascending numbers gives the upper limits of all groups but the last (a limit belongs to the group below it).
        keep_whole: groups of the split before that this one leaves whole (Table 4: the hardest level of TMax).
        only: groups of this split that are drawn from, all if empty (Table 4: the hard level of SETA's Synth).
    """

    column: str
    bins: int | Sequence[float] | None = None
    keep_whole: Collection[str] = ()
    only: Collection[str] = ()


@dataclass(frozen=True)
class Evidence:
    """Evidence that a model passed: `column` is at least `at_least` for the task, or for any task of its lineage.

    Attributes:
        column: a number of passes, or a pass rate.
        at_least: the least value that counts as evidence.
        lineage: column that names what results are released for (Table 4: RST), None for the task itself.
        exempt_column, exempt_value: tasks with this value need no evidence, as none is released (Table 4: SETA Synth).
    """

    column: str
    at_least: float = 1
    lineage: str | None = None
    exempt_column: str | None = None
    exempt_value: str | None = None


@dataclass(frozen=True)
class Drawn:
    """A task's place in the sampling order, from 0, and its group."""

    order: int
    task: str
    group: str


@dataclass(frozen=True)
class Selection:
    """What a sample of a given size needs next.

    Attributes:
        admitted: the sample so far, in order.
        replaced: tasks before the end of the sample that failed a check, in order.
        to_check: the next tasks to check, as many as are still missing.
        missing: tasks that the list cannot supply any more.
    """

    admitted: tuple[str, ...]
    replaced: tuple[str, ...]
    to_check: tuple[str, ...]
    missing: int


def with_csv(rows: Iterable[Row], path: Path, key: str = "task", on: str = "task") -> list[dict[str, Any]]:
    """Rows with the columns of a user's CSV, joined where the row's `on` equals the CSV's `key`.

    A column that exists already keeps the row's value where the CSV has none. Numbers become numbers, and an empty field
    None.

    Raises:
        UserError: the file cannot be read, has no column `key`, names the same key twice, or names none of the tasks.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if key not in (reader.fieldnames or ()):
                known = ", ".join(reader.fieldnames or ()) or "none"
                raise UserError(f"no column {key!r}", where=path, hint=f"its columns: {known}")
            table: dict[str, dict[str, Any]] = {}
            for record in reader:
                name = record.pop(key)
                if name in table:
                    raise UserError(f"{key} {name!r} appears twice", where=f"{path}, line {reader.line_num}")
                table[name] = {column: _number(value) for column, value in record.items() if column is not None}
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=path) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"not a CSV file in UTF-8: {error}", where=path) from None
    columns = list(dict.fromkeys(column for record in table.values() for column in record))
    rows = list(rows)
    if rows and not any(str(value_of(row, on)) in table for row in rows):
        raise UserError(
            f"column {key!r} names none of the tasks",
            where=path,
            hint=f"the first task's {on} is {value_of(rows[0], on)!r}; the file has {', '.join(list(table)[:3]) or 'no row'}",
        )
    joined = []
    for row in rows:
        found = table.get(str(value_of(row, on)), {})
        given = {column: value for column, value in found.items() if value is not None}
        joined.append(dict.fromkeys(columns) | dict(row) | given)
    return joined


def with_evidence(rows: Iterable[Row], evidence: Evidence | None) -> list[Row]:
    """The rows with evidence of a pass (rule 1), in their order; all of them without a rule.

    Raises:
        UserError: no row has the column.
    """
    rows = list(rows)
    if evidence is None:
        return rows
    _require(rows, evidence.column)
    by = evidence.lineage or "task"
    passed = {value_of(row, by) for row in rows if _at_least(value_of(row, evidence.column), evidence.at_least)}
    passed.discard(None)

    def exempt(row: Row) -> bool:
        column = evidence.exempt_column
        return column is not None and str(value_of(row, column)) == evidence.exempt_value

    return [row for row in rows if exempt(row) or value_of(row, by) in passed]


def assign_groups(rows: Iterable[Row], splits: Sequence[Split]) -> dict[str, str]:
    """Group of each task: the splits in turn, each within the groups of those before (Table 4: TMax).

    The names of the groups of one split are joined by " / ". Quantiles are computed within the group that is split.
    Tasks of groups that are not drawn from are left out.

    Raises:
        UserError: no row has the column, or a column to be binned has a value that is not a number.
    """
    rows = list(rows)
    groups = {str(row["task"]): "" for row in rows}
    for split in splits:
        _require(rows, split.column)
        members: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            members[groups[str(row["task"])]].append(row)
        for before, inside in members.items():
            if before in split.keep_whole:
                continue
            for task, label in _split(inside, split).items():
                if split.only and label not in split.only:
                    del groups[task]
                else:
                    groups[task] = f"{before} / {label}" if before else label
        rows = [row for row in rows if str(row["task"]) in groups]
    return {task: group or ALL for task, group in groups.items()}


def quantile_limits(values: Sequence[float], groups: int) -> list[float]:
    """Upper limits of all quantile groups but the last, so that the groups are as even as ties allow.

    Fewer limits than `groups - 1` where too few values differ.
    """
    if groups < 1:
        raise UserError("at least one group is needed", where="bins")
    ordered = sorted(values)
    limits: list[float] = []
    for cut in range(1, groups):
        at = math.ceil(cut * len(ordered) / groups) - 1
        if at >= 0 and ordered[at] < ordered[-1] and (not limits or ordered[at] > limits[-1]):
            limits.append(ordered[at])
    return limits


def draw(groups: Mapping[str, str], seed: int) -> list[Drawn]:
    """Order of all tasks: drawn within each group with `seed`, interleaved across groups (rule 2).

    In every prefix the counts of the groups that are not exhausted differ by at most one.

    Args:
        groups: group of each task.
        seed: any integer. Each task's place within its group follows from the seed and its name alone.
    """
    queues: dict[str, list[str]] = defaultdict(list)
    for task in sorted(groups, key=lambda task: (_lot(task, seed), task)):
        queues[groups[task]].append(task)
    rounds = [
        (place, group, task) for group in sorted(queues, key=_natural) for place, task in enumerate(queues[group])
    ]
    rounds.sort(key=lambda entry: entry[0])  # stable: within a round the groups keep their order
    return [Drawn(order, task, group) for order, (_, group, task) in enumerate(rounds)]


def select(order: Sequence[Drawn], checked: Mapping[str, bool], size: int | Literal["all"]) -> Selection:
    """The sample of `size` tasks, given which tasks passed the check (rule 4): one that failed is replaced by the next.

    Ask again with more results until `to_check` is empty. A larger size keeps the sample and adds to it.

    Args:
        order: as `draw` gives it.
        checked: for each task checked so far, whether it was admitted.
        size: tasks wanted, or `all`.

    Raises:
        UserError: `size` is neither.
    """
    if size != "all" and (isinstance(size, bool) or not isinstance(size, int) or size < 0):
        raise UserError(f"{size!r} is no sample size", where="sample", hint="a number of tasks, or all")
    wanted = len(order) if size == "all" else size
    admitted: list[str] = []
    replaced: list[str] = []
    to_check: list[str] = []
    for drawn in order:
        if len(admitted) + len(to_check) >= wanted:
            break
        result = checked.get(drawn.task)
        (to_check if result is None else admitted if result else replaced).append(drawn.task)
    missing = 0 if size == "all" else wanted - len(admitted) - len(to_check)
    return Selection(tuple(admitted), tuple(replaced), tuple(to_check), missing)


def _split(rows: Sequence[Row], split: Split) -> dict[str, str]:
    values = {str(row["task"]): value_of(row, split.column) for row in rows}
    if split.bins is None:
        return {task: NO_LABEL if value is None else str(value) for task, value in values.items()}
    numbers = {task: _must_be_number(value, task, split.column) for task, value in values.items() if value is not None}
    given = [float(limit) for limit in split.bins] if not isinstance(split.bins, int) else None
    if given is not None and any(low >= high for low, high in pairwise(given)):
        raise UserError("the limits of the groups must ascend", where=f"bins of {split.column}")
    limits = quantile_limits(list(numbers.values()), split.bins) if isinstance(split.bins, int) else given or []
    labels = _bin_labels(limits, list(numbers.values()))
    binned = {task: labels[bisect_left(limits, number)] for task, number in numbers.items()}
    return {task: binned.get(task, NO_LABEL) for task in values}


def _bin_labels(limits: Sequence[float], values: Sequence[float]) -> list[str]:
    if not limits:
        return [f"{_shown(min(values))}-{_shown(max(values))}" if values else NO_LABEL]
    inner = [f">{_shown(low)}, <={_shown(high)}" for low, high in pairwise(limits)]
    return [f"<={_shown(limits[0])}", *inner, f">{_shown(limits[-1])}"]


def _shown(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)


def _lot(task: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\0{task}".encode()).digest()


def _natural(group: str) -> tuple[tuple[int, float, str], ...]:
    """Groups in an order that a reader expects: numbers by value, "<=3" before ">3, <=10" before ">10"."""
    key: list[tuple[int, float, str]] = []
    for part in group.split(" / "):
        number = _number(part.lstrip("<=>").split(",")[0])
        above = part.startswith(">")
        if isinstance(number, int | float):
            key.append((0, number, str(int(above))))
        else:
            key.append((2 if part == NO_LABEL else 1, 0.0, part))
    return tuple(key)


def value_of(row: Row, column: str) -> Any:
    """The value of a column, or of `metadata.KEY`; None where there is none, or an empty one."""
    if column in row:
        value = row[column]
    elif column.startswith("metadata.") and isinstance(row.get("metadata"), Mapping):
        value = row["metadata"]
        for key in column.removeprefix("metadata.").split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
    else:
        value = None
    return None if value is None or value == "" or (isinstance(value, float) and math.isnan(value)) else value


def _require(rows: Sequence[Row], column: str) -> None:
    if rows and all(value_of(row, column) is None for row in rows):
        known = ", ".join(sorted({str(name) for row in rows for name in row}))
        raise UserError("no task has a value in this column", where=column, hint=f"columns: {known}")


def _at_least(value: Any, least: float) -> bool:
    number = _number(value)
    return isinstance(number, int | float) and number >= least


def _must_be_number(value: Any, task: str, column: str) -> float:
    number = _number(value)
    if not isinstance(number, int | float) or math.isnan(number):
        raise UserError(f"{value!r} of task {task} is not a number", where=column, hint="bins need numbers")
    return float(number)


def _number(value: Any) -> Any:
    """`value` as a number if it is one in writing; None for an empty text."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
