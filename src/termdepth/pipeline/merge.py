"""Merge the sampled tasks of a batch, check the quality of what comes out, and measure it from the original D downward."""

from __future__ import annotations

import asyncio
import glob
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from termdepth.config.models import Config, Dataset
from termdepth.data.io import write_text
from termdepth.harness.record import FULL_MARKS, TaskRef
from termdepth.harness.runner import RunRecord
from termdepth.merge.build import build, why_not_mergeable
from termdepth.merge.checks import Checks, drop, names_of, sections
from termdepth.merge.protocol import merged_depth, next_merged_run, sample
from termdepth.models.merged_plan import merged_plan_depth
from termdepth.models.plan import find_plan
from termdepth.pipeline.backends import environment_for, sweep_all
from termdepth.pipeline.measure import (
    Measurer,
    container_identity,
    gather_all,
    protocol_of,
    refuse_broken,
    rows_of,
    run_of,
)
from termdepth.pipeline.spec import code_hash
from termdepth.replay.changes import Look, Work
from termdepth.replay.container import Seen, play
from termdepth.replay.verdict import passed_checks
from termdepth.tasks.reading import TaskInfo, read_task

Say = Callable[[str], None]


def merged_folder(config: Config, dataset: str, task: str) -> Path:
    """Where a merged task is kept."""
    return config.results / "merged" / "tasks" / dataset / task


def merge_tasks(
    config: Config,
    dataset: Dataset,
    tasks: Sequence[TaskRef],
    depth: Sequence[dict[str, Any]],
    *,
    threads: int,
    say: Say,
) -> list[dict[str, Any]]:
    """Rows of `merged`, not measured yet, for the sampled tasks of a batch.

    Args:
        tasks: admitted tasks of the batch.
        depth: rows of `depth` of the whole dataset.
    """
    if dataset.merge is None:
        return []
    sweep_all()
    sampled = set(sample(depth, dataset.merge.tasks, dataset.merge.seed))
    d_first = {row["task"]: row["d_first"] for row in depth}
    environment = environment_for(config, dataset)

    async def one(task: TaskRef, gate: asyncio.Semaphore) -> dict[str, Any]:
        async with gate:
            row = await _merge_or_load(config, task, d_first[task.task], environment)
        say(f"  {task.dataset}/{task.task}  merged, {row['reason'] or 'quality check passed'}  {row['seconds']:.1f} s")
        return row

    async def work() -> list[dict[str, Any]]:
        gate = asyncio.Semaphore(max(1, threads) * config.trials_per_core)
        return await gather_all(one(task, gate) for task in tasks if task.task in sampled)

    return asyncio.run(work())


async def _merge_or_load(config: Config, task: TaskRef, d_original: int, environment: Any) -> dict[str, Any]:
    """The row of a task, made now or taken as it is. A check that the container broke is made again the next time."""
    folder = merged_folder(config, task.dataset, task.task)
    parts = (task.digest, task.image, task.container, code_hash("merge"), str(folder))
    identity = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    file = config.results / "merged" / "checked" / task.dataset / f"{task.task}.json"
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["fingerprint"] == identity and (data["row"]["path"] is None or folder.is_dir()):
            return {**data["row"], "d_original": d_original, "plan_depth": _plan_depth(task)}
    except (OSError, ValueError, KeyError, TypeError):
        pass
    row, broken = await merge(task, environment, folder)
    if not broken:
        write_text(json.dumps({"fingerprint": identity, "row": row}, indent=1), file)
    return {**row, "d_original": d_original, "plan_depth": _plan_depth(task)}


async def merge(task: TaskRef, environment: Any, folder: Path) -> tuple[dict[str, Any], bool]:
    """Merge one task into `folder` and check its quality: (row of `merged`, whether a container broke).

    What the row says about D is not known here.
    """
    started = time.monotonic()
    row: dict[str, Any] = {
        "dataset": task.dataset,
        "task": task.task,
        "path": None,
        "digest": None,
        "image": task.image,
        "n_segments": task.n_segments,
        "checks_total": None,
        "checks_dropped": [],
        "quality_passed": False,
        "reason": None,
        "solved": None,
        "d_merged": None,
        "runs": 0,
        "seconds": 0.0,
    }
    broken = False
    for stale in folder.parent.glob(f".{glob.escape(folder.name)}[.-]*"):  # of a killed job
        shutil.rmtree(stale, ignore_errors=True)

    async def played(path: Path, *steps: Work | Look) -> list[Seen]:
        nonlocal broken
        place = folder.with_name(f".{folder.name}-{os.getpid()}")
        seen = await play(path, environment, steps, place, f"{task.dataset}-{folder.name}-merged")
        broken = broken or any(s.broken for s in seen)
        return seen

    info = read_task(task.path, task.path)
    row["reason"] = why_not_mergeable(info) if isinstance(info, TaskInfo) else info.reason
    if row["reason"] is None and isinstance(info, TaskInfo):
        row["path"] = str(folder)
        row["reason"] = await _check_quality(info, folder, row, played)
    row["quality_passed"] = row["reason"] is None
    row["seconds"] = time.monotonic() - started
    return row, broken


def _plan_depth(task: TaskRef) -> int | None:
    info = read_task(task.path, task.path)
    plan = find_plan(info.segments[0].instruction()) if isinstance(info, TaskInfo) else None
    return merged_plan_depth(plan) if plan and plan.segments == task.n_segments else None


async def _check_quality(info: TaskInfo, folder: Path, row: dict[str, Any], played: Any) -> str | None:
    """Write the merged task without the checks that a later segment changes; why it does not do, or None."""
    row["digest"] = build(info, folder)
    solved = Work(1), Look(1, "checks_before_work", 1)
    (final,) = await played(folder, *solved)
    if final.broken:
        return str(final.broken)
    seen = sections(final.log)
    if final.reward == FULL_MARKS:
        row["checks_total"] = sum(len(passed_checks(section.log)) or 1 for section in seen.values())
    else:
        checks, reason = await _drop(info, final.log, row, played)
        if reason:
            return reason
        row["digest"] = build(info, folder, checks)
        (final,) = await played(folder, *solved)
        if problem := _problem(final):
            return f"the merged reference solution does not pass: {problem}"
    (nothing,) = await played(folder, solved[1])
    if nothing.broken or nothing.reward is None:
        return f"no-op could not be verified: {nothing.broken or nothing.crash or 'no reward'}"
    return "no-op got a reward" if nothing.reward > 0 else None


async def _drop(info: TaskInfo, log: str, row: dict[str, Any], played: Any) -> tuple[list[Checks], str | None]:
    """The checks without those that failed on the final state, and why that is not possible, or None.

    The names of the checks are learned from a run that is not merged, in which all of them pass: where a name holds a colon,
    the line of a failure does not tell where the name ends.
    """
    steps = [step for s in range(1, info.n_segments + 1) for step in (Work(s), Look(s, "checks_before_work", s))]
    checks = []
    for s, seen in enumerate(await played(info.path, *steps), start=1):
        if problem := _problem(seen):
            return [], f"the reference solution does not pass segment {s} when it is not merged: {problem}"
        checks.append(Checks(names_of(seen.log, library=_uses_library(info, s))))
    row["checks_total"] = sum(own.total for own in checks)
    checks, reason = drop(checks, log)
    row["checks_dropped"] = [
        f"{segment.name}: {name}"
        for segment, own in zip(info.segments, checks, strict=True)
        for name in (own.dropped or (("all of it",) if own.whole_dropped else ()))
    ]
    return checks, reason


def _uses_library(info: TaskInfo, segment: int) -> bool:
    places = (info.path / "tests", info.path / "steps" / info.segments[segment - 1].name / "tests")
    return any((place / "checks.sh").is_file() for place in places)


def _problem(seen: Seen) -> str | None:
    if seen.broken or seen.crash or seen.reward is None:
        return seen.broken or seen.crash or "no reward"
    if seen.reward < FULL_MARKS:
        failed = next((line for line in seen.log.splitlines() if line.startswith("FAIL ")), "the checks fail")
        return failed[:300]
    return None


# --- measuring


def merged_refs(dataset: Dataset, merged: Iterable[dict[str, Any]]) -> list[tuple[TaskRef, int]]:
    """The merged tasks that passed the quality check, each with the original D to start from.

    They keep the time limit of the original task: environment and work are the same.
    """
    return [
        (
            TaskRef(
                dataset=dataset.name,
                task=row["task"],
                path=Path(row["path"]),
                n_segments=1,
                digest=row["digest"],
                image=row["image"],
                time_limit_sec=dataset.time_limit_sec(row["n_segments"]),
                freeze=dataset.freeze_agent,
                container=container_identity(dataset),
            ),
            row["d_original"],
        )
        for row in merged
        if row["quality_passed"]
    ]


def measure_merged(
    config: Config, dataset: Dataset, merged: Sequence[dict[str, Any]], *, threads: int, say: Say
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """(Rows of `merged` with D, rows of `runs`, rows of `turns`): the first model alone, from the original D downward."""
    model = config.role("first")
    assert model is not None, "the config has a first model"
    protocol = protocol_of(config)
    sweep_all()
    refs = merged_refs(dataset, merged)

    async def work() -> list[list[RunRecord]]:
        measurer = Measurer(config, dataset, threads=threads, say=say)
        return await gather_all(
            measurer.until_done(task, model, partial(next_merged_run, d_original=d, protocol=protocol))
            for task, d in refs
        )

    records = asyncio.run(work()) if refs else []
    found = {
        task.task: (merged_depth([run_of(r.row) for r in own], d, protocol), len(own))
        for (task, d), own in zip(refs, records, strict=True)
    }
    rows = []
    for row in merged:
        estimate, n = found.get(row["task"], (None, 0))
        measured = {"solved": estimate.solved, "d_merged": estimate.d, "runs": n} if estimate else {}
        rows.append({**row, **measured})
    runs, turns = rows_of(records)
    refuse_broken(runs, model)
    return rows, runs, turns
