"""Which tasks are candidates, in which order, which of them share a job, and which are admitted (App. C). Pure."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

from termdepth.data.reasons import GROUP_NOT_DRAWN, NO_EVIDENCE, NO_SOLUTION, NOT_ASKED_FOR, NOT_REACHED, SPARE
from termdepth.tasks.sampling import Drawn, Evidence, Row, Split, assign_groups, draw, select, value_of, with_evidence

Sample = int | Literal["all"]


def bucket(task: str, n_buckets: int) -> int:
    """The batch of a task. Depends on nothing but its name and the number of batches, so that others stay where they are."""
    return int(hashlib.sha256(task.encode()).hexdigest()[:8], 16) % n_buckets


def n_batches(n_tasks: int, tasks_per_job: int) -> int:
    """A power of two, so that a few tasks more rarely change it, and with it every batch."""
    return 1 << math.ceil(math.log2(max(1.0, n_tasks / tasks_per_job)))


def n_first(sample: int, reserve: float) -> int:
    """How many tasks of the list are checked at once: the sample and its spare ones (rule 4)."""
    return math.ceil(sample * (1 + reserve))


def batch_of(order: int, task: str, n_listed: int, *, sample: Sample, reserve: float, tasks_per_job: int) -> int:
    """The batch of the task at `order` of the list.

    Of a sample, batches are stretches of the list, which a larger sample makes longer at its end. Of a whole dataset, they
    follow from the names, so that a new task changes one of them.
    """
    if sample == "all":
        return bucket(task, n_batches(n_listed, tasks_per_job))
    return order // min(tasks_per_job, n_first(sample, reserve))


def n_first_batches(n_listed_batches: int, *, sample: Sample, reserve: float, tasks_per_job: int) -> int:
    """How many batches, from the first, are checked by jobs of their own: those of the sample and its reserve. What is still
    missing then is taken from the rest of the list while tasks are admitted."""
    if sample == "all":
        return n_listed_batches
    first = n_first(sample, reserve)
    return min(n_listed_batches, math.ceil(first / min(tasks_per_job, first)))


def why_left_out(row: Row, patterns: Sequence[str], needs_solution: bool) -> str | None:
    """Why a task is not asked about, before the rules of the sampling; None if it is."""
    if row["problem"] is not None:
        return f"cannot be read: {row['problem']}"
    if not any(fnmatchcase(row["task"], pattern) for pattern in patterns):
        return NOT_ASKED_FOR
    if needs_solution and row["w_lines"] is None:
        return NO_SOLUTION
    return None


def order_tasks(
    rows: Sequence[Row],
    *,
    patterns: Sequence[str] = ("*",),
    needs_solution: bool = True,
    evidence: Evidence | None = None,
    splits: Sequence[Split] = (),
    sample: Sample = "all",
    seed: int = 0,
    reserve: float = 0.25,
    tasks_per_job: int = 20,
) -> list[dict[str, Any]]:
    """Rows with `left_out`, `group`, `order` and `batch` filled in.

    Rules 1 to 3 in turn: tasks without evidence of a pass are left out, then tasks are grouped, then those whose text says
    that they are not light are left out; the rest is drawn. The order is the same for every sample size.

    Args:
        rows: rows of `tasks`, with any other columns to group by.
    """
    left_out = {r["task"]: why_left_out(r, patterns, needs_solution) for r in rows}

    def left() -> list[Row]:
        return [r for r in rows if left_out[r["task"]] is None]

    def keep(tasks: set[str], reason: str) -> None:
        for row in left():
            if row["task"] not in tasks:
                left_out[row["task"]] = reason

    if evidence is not None:
        keep({r["task"] for r in with_evidence(left(), evidence)}, NO_EVIDENCE)
    groups = assign_groups(left(), splits)
    keep(set(groups), GROUP_NOT_DRAWN)
    for row in left():
        if row["light"] is False:
            left_out[row["task"]] = f"not light: {row['light_rule']}: {row['light_evidence']}"
    drawn = {d.task: d.order for d in draw({r["task"]: groups[r["task"]] for r in left()}, seed)}
    return [
        {
            **row,
            "left_out": left_out[task],
            "group": groups.get(task),
            "order": drawn.get(task),
            "batch": batch_of(
                drawn[task], task, len(drawn), sample=sample, reserve=reserve, tasks_per_job=tasks_per_job
            )
            if task in drawn
            else None,
        }
        for row in rows
        for task in (row["task"],)
    ]


def labels(row: Row, columns: str | Sequence[str]) -> str | None:
    """The label of a task: the value of a column, or of several, joined; None where any is missing."""
    values = [value_of(row, column) for column in ([columns] if isinstance(columns, str) else columns)]
    return None if None in values else " / ".join(map(str, values))


# --- admission


def admission_table(
    tasks: Sequence[Mapping[str, Any]], checked: Sequence[Mapping[str, Any]], sample: Sample
) -> list[dict[str, Any]]:
    """One row of `admission` for each task found, with why it is in or not.

    First those that were checked, in order: the first `sample` that passed are admitted, the rest of those that passed are
    spare. Then those that were left out of the list, then those that the sample did not reach.

    Args:
        tasks: rows of `tasks`, all of the dataset.
        checked: rows of `admission` of the tasks that were built and validated.
    """
    rows: list[dict[str, Any]] = []
    left = math.inf if sample == "all" else sample
    for row in sorted(checked, key=lambda r: r["order"]):
        spare = row["admitted"] and left <= 0
        left -= row["admitted"]
        rows.append({**row, "admitted": row["admitted"] and not spare, "reason": SPARE if spare else row["reason"]})
    seen = {row["task"] for row in rows}
    out = [not_checked(t) | {"reason": t["left_out"]} for t in tasks if t["order"] is None]
    rest = [not_checked(t) | {"reason": NOT_REACHED} for t in tasks if t["order"] is not None]
    return rows + out + sorted((r for r in rest if r["task"] not in seen), key=lambda r: r["order"])


def still_to_check(
    tasks: Sequence[Mapping[str, Any]], checked: Sequence[Mapping[str, Any]], sample: Sample
) -> list[Mapping[str, Any]]:
    """The next tasks of the list, as many as are missing in the sample after those that were checked (rule 4)."""
    line = sorted((t for t in tasks if t["order"] is not None), key=lambda t: t["order"])
    known = {row["task"]: bool(row["admitted"]) for row in checked}
    wanted = set(select([Drawn(t["order"], t["task"], t["group"]) for t in line], known, sample).to_check)
    return [t for t in line if t["task"] in wanted]


def hopeless(checked: Sequence[Mapping[str, Any]], tasks: int = 30) -> str | None:
    """Why it makes no sense to check more tasks, or None: the last ones in order all failed for one kind of reason, so it is
    most likely around the tasks that something is wrong (no network, a wrong mirror, a full disk)."""
    last = sorted(checked, key=lambda r: r["order"])[-tasks:]
    kinds = {str(r["reason"]).partition(":")[0] for r in last}
    if len(last) < tasks or len(kinds) > 1 or any(r["admitted"] for r in last):
        return None
    return f"the last {tasks} tasks of the list all failed with `{kinds.pop()}`"


def not_checked(task: Mapping[str, Any]) -> dict[str, Any]:
    """The row of `admission` of a task before anything was tried on it."""
    empty = (
        "backend image build_seconds build_bytes oracle_passed oracle_segments noop_reward reason log seconds".split()  # noqa: SIM905
    )
    return (
        {k: task[k] for k in ("dataset", "task", "order", "group", "light")}
        | dict.fromkeys(empty)
        | {"admitted": False}
    )
