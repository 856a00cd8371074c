"""From the runs of a dataset to one row of `depth` for each admitted task. Pure but for the plans' known depths."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from termdepth.depth.protocol import Protocol, Run, estimate


def depth_rows(
    tasks: Iterable[Mapping[str, Any]],
    admission: Iterable[Mapping[str, Any]],
    runs: Iterable[Mapping[str, Any]],
    protocol: Protocol,
    plan_depths: Mapping[str, int | None],
) -> list[dict[str, Any]]:
    """Rows of `depth`, in the order of the tasks.

    Args:
        runs: rows of `runs` of the phases uncapped, probe and second, of one dataset.
        plan_depths: known depth by task, where a plan covers it.
    """
    admitted = {a["task"]: a for a in admission if a["admitted"]}
    by_task: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for run in runs:
        by_task[run["task"]].append(run)
    return [
        _depth_row(task, admitted[task["task"]], by_task[task["task"]], protocol, plan_depths.get(task["task"]))
        for task in tasks
        if task["task"] in admitted
    ]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return fmean(known) if known else None


def lines_sent(runs: Sequence[Mapping[str, Any]]) -> int | None:
    """W of a task without a reference solution: lines of the commands, file content included, that the first model sent in
    its passing run at the smallest cap that it passes, of several the one with the fewest turns (App. D); None: unsolved."""
    passed = [r for r in runs if r["phase"] in ("uncapped", "probe") and r["valid"] and r["passed"]]
    best = min(passed, key=lambda r: (math.inf if r["cap"] is None else r["cap"], r["turns"]), default=None)
    return None if best is None else int(best["command_lines"])


def _depth_row(
    task: Mapping[str, Any],
    admission: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    protocol: Protocol,
    plan_depth: int | None,
) -> dict[str, Any]:
    found = estimate(
        [Run(r["phase"], r["cap"], r["attempt"], r["valid"], r["passed"], r["turns"]) for r in runs], protocol
    )
    uncapped = [r for r in runs if r["phase"] == "uncapped" and r["valid"]]
    best = min((r for r in uncapped if r["passed"]), key=lambda r: r["turns"], default=None)
    costs = [r["cost_usd"] for r in runs]
    return {
        "dataset": task["dataset"],
        "task": task["task"],
        "kind": task["kind"],
        "n_segments": task["n_segments"],
        "solved": found.solved,
        "d": found.d,
        "d_above": found.d_above,
        "d_lower": found.d_lower,
        "d_first": found.d_first,
        "d_first_above": found.d_first_above,
        "second_ran": any(r["phase"] == "second" for r in runs),
        "n": found.n,
        "r": found.r,
        "minutes": best and best["minutes"],
        "context_tokens": best and best["context_tokens"],
        "all_turns": _mean(r["turns"] for r in uncapped),
        "all_minutes": _mean(r["minutes"] for r in uncapped),
        "all_tokens": _mean(r["context_tokens"] for r in uncapped),
        "runs": len(runs),
        "cost_usd": None if None in costs else sum(costs),
        "w_lines": lines_sent(runs) if task["w_lines"] is None else task["w_lines"],
        "w_tokens": task["w_tokens"],
        "w_chars": task["w_chars"],
        "difficulty": task["difficulty"],
        "category": task["category"],
        "group": admission["group"],
        "plan_depth": plan_depth,
    }
