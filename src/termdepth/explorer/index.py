"""The rows of the index: every task with what was measured of it, as texts with their sort keys, and the same as CSV. Pure."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from termdepth.data.reasons import NOT_ASKED_FOR
from termdepth.explorer.text import clean, file_name
from termdepth.report.context import ReportContext
from termdepth.report.table import interval_text

Row = Mapping[str, Any]
Key = tuple[str, str]

STATUSES = SOLVED, UNSOLVED, ADMITTED, NOT_ADMITTED = "solved", "not solved", "not measured", "not admitted"


@dataclass(frozen=True)
class ExplorerData:
    """Rows of the tables of record (termdepth.data.schema), those of all datasets together. Each may be empty."""

    tasks: Sequence[Row] = ()
    admission: Sequence[Row] = ()
    depth: Sequence[Row] = ()
    runs: Sequence[Row] = ()
    turns: Sequence[Row] = ()
    public_pass_rates: Sequence[Row] = ()


@dataclass(frozen=True)
class Rate:
    """A share of runs that passed."""

    rate: float
    runs: int


@dataclass
class Task:
    """Everything known of one task. page: name of its page without suffix; None where there is nothing to show on one."""

    dataset: str
    task: str
    record: Row = field(default_factory=dict)
    admission: Row = field(default_factory=dict)
    depth: Row = field(default_factory=dict)
    runs: list[Row] = field(default_factory=list)
    public: list[Row] = field(default_factory=list)

    @property
    def page(self) -> str | None:
        return file_name(self.dataset, self.task) if self.runs or self.depth else None

    @property
    def status(self) -> str:
        if self.depth:
            return {True: SOLVED, False: UNSOLVED, None: ADMITTED}[self.depth["solved"]]
        return NOT_ADMITTED if self.why_not else ADMITTED

    @property
    def why_not(self) -> str | None:
        """Why the task is not in the audit."""
        if self.admission:
            return None if self.admission["admitted"] else str(self.admission["reason"] or "not admitted")
        if self.runs or self.depth or not self.record:
            return None
        return str(self.record.get("problem") or "not a candidate")

    def get(self, name: str) -> Any:
        """A column of `depth`, else of `tasks`."""
        value = self.depth.get(name)
        return self.record.get(name) if value is None else value

    @property
    def d_rank(self) -> float | None:
        """D for sorting: inf above the largest cap, None where unsolved."""
        return math.inf if self.depth.get("d_above") else self.depth.get("d")

    def evaluation(self, model: str) -> Rate | None:
        """pass@1 of an evaluated model on this task: valid runs only."""
        runs = [r for r in self.runs if r["phase"] == "evaluation" and r["model"] == model and r["valid"]]
        return Rate(sum(bool(r["passed"]) for r in runs) / len(runs), len(runs)) if runs else None

    @property
    def public_rate(self) -> Rate | None:
        """Mean over the published runs of all sources."""
        runs = sum(p["runs"] for p in self.public)
        return Rate(sum(p["rate"] * p["runs"] for p in self.public) / runs, runs) if runs else None


_PHASES = ("uncapped", "probe", "second", "merged", "evaluation")


def _run_order(run: Row) -> tuple[Any, ...]:
    phase = run["phase"]
    place = _PHASES.index(phase) if phase in _PHASES else len(_PHASES)
    return place, run["model"], run["cap"] if run["cap"] is not None else math.inf, run["attempt"], run["fingerprint"]


def gather(data: ExplorerData, context: ReportContext) -> list[Task]:
    """One Task for each task that any table names, datasets in the order of the config, tasks by name."""
    tasks: dict[Key, Task] = {}

    def of(row: Row) -> Task:
        key = (row["dataset"], row["task"])
        return tasks.setdefault(key, Task(*key))

    for row in data.tasks:
        of(row).record = row
    for row in data.admission:
        of(row).admission = row
    for row in data.depth:
        of(row).depth = row
    for row in data.runs:
        of(row).runs.append(row)
    for row in data.public_pass_rates:  # of tasks that are here: published results can be about any number of others
        if task := tasks.get((row["dataset"], row["task"])):
            task.public.append(row)
    for key in [k for k, task in tasks.items() if task.why_not == NOT_ASKED_FOR]:
        del tasks[key]  # the user's own choice, and often most of a dataset
    for task in tasks.values():
        task.runs.sort(key=_run_order)
    place = {d.name: i for i, d in enumerate(context.datasets)}
    return sorted(tasks.values(), key=lambda t: (place.get(t.dataset, len(place)), t.dataset, t.task))


@dataclass(frozen=True)
class Column:
    """A column of the index. name: in the CSV. title: at its head. help: what it means."""

    name: str
    title: str
    help: str
    numeric: bool = True


@dataclass(frozen=True)
class Value:
    """A cell: what is shown, by what it is sorted (None: last), what is in the CSV."""

    shown: str
    sort: str | float | None
    csv: str

    @property
    def key(self) -> str:
        """The sort key as the page's script reads it."""
        if isinstance(self.sort, float):
            return "Infinity" if math.isinf(self.sort) else f"{self.sort:g}"
        return "" if self.sort is None else str(self.sort)


def evaluated_models(tasks: Iterable[Task]) -> list[str]:
    """Models with runs that only evaluate."""
    return sorted({r["model"] for t in tasks for r in t.runs if r["phase"] == "evaluation"})


def columns(tasks: Sequence[Task], context: ReportContext) -> list[Column]:
    """The columns of the index; one for each evaluated model, one for published results where there are any."""
    out = [
        Column("task", "Task", "name of the task; its page shows every run", numeric=False),
        Column("w_lines", "W", "work: lines of the reference solution"),
        Column("d", "D", "depth: in turns, between the largest cap that failed and the smallest that passed"),
        Column("n", "N", "fewest turns among the passing runs without a cap"),
        Column("r", "R", "share of the first model's runs without a cap that pass"),
    ]
    out += [
        Column(
            f"pass_{m}", f"pass@1 {context.model_label(m)}", f"share of the runs of {context.model_label(m)} that pass"
        )
        for m in evaluated_models(tasks)
    ]
    if any(t.public for t in tasks):
        out.append(Column("public_rate", "Public", "share of the published runs that pass"))
    out += [
        Column("segments", "Segments", "segments of the task"),
        Column("runs", "Runs", "runs made, invalid ones included"),
        Column("dataset", "Dataset", "where the task comes from", numeric=False),
        Column("status", "Status", "solved, not solved, or why the task was not measured", numeric=False),
    ]
    return out


def _count(value: Any) -> Value:
    return Value("", None, "") if value is None else Value(f"{value:,}", float(value), str(value))


def _share(value: float | None) -> Value:
    return Value("", None, "") if value is None else Value(f"{value:.0%}", float(value), f"{value:.4f}")


def _rate(rate: Rate | None) -> Value:
    return _share(rate.rate if rate else None)


def values(task: Task, table: Sequence[Column], context: ReportContext) -> list[Value]:
    """The cells of a task, in the order of `table`."""
    depth = interval_text(task.depth.get("d_lower"), task.d_rank, context.above)
    status = task.status if not task.why_not else f"{NOT_ADMITTED}: {task.why_not}"
    known: dict[str, Value] = {
        "task": Value(task.task, task.task, task.task),
        "dataset": Value(context.dataset_label(task.dataset), context.dataset_label(task.dataset), task.dataset),
        "segments": _count(task.get("n_segments")),
        "w_lines": _count(task.get("w_lines")),
        "d": Value(depth, task.d_rank, depth),
        "n": _count(task.depth.get("n")),
        "r": _share(task.depth.get("r")),
        "public_rate": _rate(task.public_rate),
        "runs": _count(len(task.runs)),
        "status": Value(status, status, status),
    }
    return [known[c.name] if c.name in known else _rate(task.evaluation(c.name.removeprefix("pass_"))) for c in table]


def csv_line(cells: Iterable[str]) -> str:
    """One line of CSV, without its end. A text that a spreadsheet would take for a formula gets an apostrophe."""
    out = io.StringIO()
    safe = (clean(c) for c in cells)
    csv.writer(out, lineterminator="\n").writerow(
        ["'" + c if c[:1] in ("=", "+", "-", "@", "\t", "\r") and not _is_number(c) else c for c in safe]
    )
    return out.getvalue()[:-1]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
