"""Which tasks are candidates, in which order, and which of them share a job. Pure."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal


def bucket(task: str, n_buckets: int) -> int:
    """The batch of a task. Depends on nothing but its name and the number of batches, so that others stay where they are."""
    return int(hashlib.sha256(task.encode()).hexdigest()[:8], 16) % n_buckets


def n_batches(n_tasks: int, tasks_per_job: int) -> int:
    """A power of two, so that a few tasks more rarely change it, and with it every batch."""
    return 1 << math.ceil(math.log2(max(1.0, n_tasks / tasks_per_job)))


def n_candidates(n_usable: int, sample: int | Literal["all"], reserve: float) -> int:
    """How many tasks of the order are validated: the sample and its spare ones (App. C, rule 4)."""
    return n_usable if sample == "all" else min(n_usable, math.ceil(sample * (1 + reserve)))


def usable(row: Mapping[str, Any], patterns: Sequence[str]) -> bool:
    """The task can be read, is light as far as the text tells, and its name is asked for."""
    return row["problem"] is None and row["light"] is not False and any(fnmatchcase(row["task"], p) for p in patterns)


def order_tasks(
    rows: Sequence[Mapping[str, Any]],
    *,
    patterns: Sequence[str],
    sample: int | Literal["all"],
    seed: int,
    reserve: float,
    tasks_per_job: int,
) -> list[dict[str, Any]]:
    """Rows with `order` and `batch` filled in for the candidates, empty for the others.

    With `sample: all` the order is that of the names; else a seeded one in which a larger sample only adds tasks.
    """
    chosen = [r for r in rows if usable(r, patterns)]
    if sample != "all":
        random.Random(seed).shuffle(chosen)
    chosen = chosen[: n_candidates(len(chosen), sample, reserve)]
    n = n_batches(len(chosen), tasks_per_job)
    place = {r["task"]: i for i, r in enumerate(chosen)}
    return [
        {**r, "order": place.get(r["task"]), "batch": bucket(r["task"], n) if r["task"] in place else None}
        for r in rows
    ]


def admission_table(
    tasks: Sequence[Mapping[str, Any]], candidates: Sequence[Mapping[str, Any]], sample: int | Literal["all"]
) -> list[dict[str, Any]]:
    """Rows of `admission` for every task that was found, or is a candidate, with why it is in or not.

    Candidates come first, in order; the first `sample` that passed are admitted, the rest of those that passed are spare.
    Then the tasks that could not be candidates, with the reason: a problem, or a dependency that is not light.
    """
    rows: list[dict[str, Any]] = []
    left = math.inf if sample == "all" else sample
    for row in sorted(candidates, key=lambda r: r["order"]):
        spare = row["admitted"] and left <= 0
        left -= row["admitted"]
        rows.append({**row, "admitted": row["admitted"] and not spare, "reason": "spare" if spare else row["reason"]})
    for task in tasks:
        reason = task["problem"] or (f"not light: {task['light_rule']}" if task["light"] is False else None)
        if task["order"] is None and reason:
            rows.append(not_reached(task) | {"reason": reason})
    return rows


def not_reached(task: Mapping[str, Any]) -> dict[str, Any]:
    """The row of `admission` of a task before anything was tried on it."""
    empty = (
        "backend image build_seconds build_bytes oracle_passed oracle_segments noop_reward reason seconds".split()  # noqa: SIM905
    )
    return (
        {k: task[k] for k in ("dataset", "task", "order", "group", "light")}
        | dict.fromkeys(empty)
        | {"admitted": False}
    )
