"""The known depth of tasks that a plan covers: the truth that a measured D is checked against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from termdepth.models.plan import find_plan, load_plans, plan_depth
from termdepth.tasks.reading import TaskInfo, read_task


def plan_depths(tasks: Iterable[Mapping[str, Any]]) -> dict[str, int | None]:
    """Known depth by task, in turns; None where no plan of the right number of segments covers the task.

    Args:
        tasks: rows of `tasks`.
    """
    plans = load_plans()
    depths: dict[str, int | None] = {}
    for row in tasks:
        path = Path(row["path"])
        task = read_task(path, path) if row["problem"] is None else None
        plan = find_plan(task.segments[0].instruction(), plans) if isinstance(task, TaskInfo) else None
        matches = plan is not None and plan.segments == row["n_segments"]
        depths[row["task"]] = plan_depth(plan) if plan is not None and matches else None
    return depths
