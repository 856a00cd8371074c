"""Replay the reference solutions of a batch with parts removed, and keep what is finished."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from termdepth.config.models import Config, Dataset
from termdepth.data.io import write_text
from termdepth.harness.record import TaskRef
from termdepth.pipeline.backends import environment_for, sweep_all
from termdepth.pipeline.measure import gather_all
from termdepth.pipeline.spec import code_hash
from termdepth.replay.changes import Branch, Look, Part, Work, branches
from termdepth.replay.container import Seen, play
from termdepth.replay.pages import page, page_name
from termdepth.replay.verdict import judge
from termdepth.tasks.marks import parse_marks, remove
from termdepth.tasks.reading import Segment, TaskInfo, read_task

Say = Callable[[str], None]


@dataclass(frozen=True)
class Replayed:
    """A branch that was played. file: its record; None where it is tried again the next time."""

    branch: Branch
    seen: list[Seen]
    file: Path | None


def parts_of(task: TaskInfo) -> list[Part]:
    """The solution of each segment with its marked parts removed.

    Raises:
        UserError: a mark is wrong, with file and line.
    """
    return [_part(segment) for segment in task.segments]


def _part(segment: Segment) -> Part:
    if segment.solution is None:
        return Part()
    where = str(segment.solution)
    script = segment.solution.read_text(encoding="utf-8", errors="surrogateescape")
    marks = parse_marks(script, where=where)
    key_steps = [mark for mark in marks if mark.kind == "key-step"]
    events = dict.fromkeys(mark.name for mark in marks if mark.kind == "event" and mark.name)
    return Part(
        remove(script, key_steps, where=where) if key_steps else None,
        {
            event: remove(script, [m for m in marks if m.name == event and m.kind == "event"], where=where)
            for event in events
        },
    )


def replay_tasks(
    config: Config, dataset: Dataset, tasks: Sequence[TaskRef], *, threads: int, say: Say
) -> list[dict[str, Any]]:
    """Rows of `replays` for the tasks of a batch, and a page for each replay that did not go as it should.

    Raises:
        UserError: a mark in a reference solution is wrong, before anything is run.
    """
    sweep_all()
    infos = [read_task(task.path, task.path) for task in tasks]
    work = [
        (t, i, branches(parts_of(i)))
        for t, i in zip(tasks, infos, strict=True)
        if isinstance(i, TaskInfo) and i.has_solution
    ]
    home = config.results / "replays" / dataset.name
    for task, _, _ in work:  # what a killed job left; a batch has one job at a time
        for stale in (home / task.task).glob("partial-*"):
            shutil.rmtree(stale, ignore_errors=True)
    environment = environment_for(config, dataset)

    async def one(task: TaskRef, branch: Branch, gate: asyncio.Semaphore) -> Replayed:
        async with gate:
            return await replay(task, branch, environment, home / task.task)

    async def all_() -> list[list[Replayed]]:
        gate = asyncio.Semaphore(max(1, threads) * config.trials_per_core)
        return await gather_all([gather_all([one(task, b, gate) for b in found]) for task, _, found in work])

    rows = []
    for (task, info, _), replayed in zip(work, asyncio.run(all_()), strict=True):
        mine = report(task, info, replayed, home / task.task)
        holds = sum(row["holds"] is True for row in mine)
        known = sum(row["holds"] is not None for row in mine)
        left = len(mine) - known
        say(f"  {task.dataset}/{task.task}  {holds} of {known} hold" + (f", {left} without a result" if left else ""))
        rows += mine
    return rows


# --- one branch


def fingerprint(task: TaskRef, branch: Branch) -> str:
    """Identity of a branch: what is run, on what, by which code."""
    steps = [[type(s).__name__, *s.__dict__.values()] for s in branch.steps]
    place = (task.image, task.container)
    parts = {"task": task.digest, "place": place, "steps": steps, "code": code_hash("replay")}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


async def replay(task: TaskRef, branch: Branch, environment: Any, folder: Path) -> Replayed:
    """Play a branch, or take the finished one. One that broke is not kept: what broke it may be mended outside the task."""
    identity = fingerprint(task, branch)
    file = folder / "finished" / f"{branch.name}-{identity[:8]}.json"
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["fingerprint"] == identity:
            return Replayed(branch, [Seen.from_json(s) for s in data["looks"]], file)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    partial = folder / f"partial-{os.getpid()}-{branch.name}"
    session = f"{task.dataset}-{task.task.replace('/', '-')}-{branch.name}"
    seen = await play(task.path, environment, branch.steps, partial, session)
    if any(s.broken for s in seen):
        return Replayed(branch, seen, None)
    for old in file.parent.glob(f"{branch.name}-????????.json"):
        old.unlink(missing_ok=True)
    write_text(json.dumps({"fingerprint": identity, "looks": [s.to_json() for s in seen]}, indent=1), file)
    return Replayed(branch, seen, file)


# --- rows and pages


def report(task: TaskRef, info: TaskInfo, replayed: Sequence[Replayed], folder: Path) -> list[dict[str, Any]]:
    """Rows of one task in the order of its segments. Writes the pages; those of earlier replays are removed."""
    for old in folder.glob("*.md"):
        old.unlink()
    names = [segment.name for segment in info.segments]
    rows = []
    for done in replayed:
        for look, seen in zip(done.branch.looks, done.seen, strict=True):
            verdict = judge(seen.reward, seen.log, seen.crash, seen.broken)
            where = None
            if not verdict.holds:
                where = folder / page_name(look)
                write_text(page(task.task, names, look, seen, verdict, _changed(done.branch, look)), where)
            rows.append(
                {
                    "dataset": task.dataset,
                    "task": task.task,
                    "segment": look.segment,
                    "change": look.change,
                    "event": look.event,
                    "holds": verdict.holds,
                    "crashed": verdict.crashed,
                    "reason": verdict.reason,
                    "seconds": seen.seconds,
                    "backend": task.image.partition(":")[0],
                    "log": str(done.file) if done.file else None,
                    "page": str(where) if where else None,
                }
            )
    return sorted(rows, key=lambda row: row["segment"])


def _changed(branch: Branch, look: Look) -> str | None:
    """The changed script that was run before a look."""
    before = branch.steps[: branch.steps.index(look)]
    return next((s.script for s in reversed(before) if isinstance(s, Work) and s.script is not None), None)
