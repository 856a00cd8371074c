"""From a dataset's folder to validated tasks: list and order them, build their images, check oracle and no-op."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from termdepth.config.models import Config, Dataset
from termdepth.errors import UserError
from termdepth.harness.record import FULL_MARKS, TaskRef, reward_of, segments_of, verifier_problem
from termdepth.harness.redact import redact
from termdepth.harness.runner import run_trial
from termdepth.pipeline.backends import backend_for, ensure_image, environment_for, sweep_all
from termdepth.pipeline.batches import not_reached, order_tasks
from termdepth.pipeline.measure import container_identity, gather_all
from termdepth.tasks.rows import task_rows

Say = Callable[[str], None]
VALIDATION_SECONDS = 3600.0


def list_tasks(dataset: Dataset) -> list[dict[str, Any]]:
    """Rows of `tasks`: every folder found, in the dataset's sampling order where it is a candidate.

    Raises:
        UserError: the folder holds no task at all.
    """
    rows = [{"dataset": dataset.name, "kind": dataset.kind, "group": None, **row} for row in task_rows(dataset.path)]
    if not rows:
        raise UserError(
            "no task in this folder",
            where=f"datasets ({dataset.name}).path = {dataset.path}",
            hint="a task is a folder with a task.toml in it",
        )
    ordered = order_tasks(
        rows,
        patterns=dataset.tasks,
        sample=dataset.sample,
        seed=dataset.seed,
        reserve=dataset.reserve,
        tasks_per_job=dataset.tasks_per_job,
    )
    if not any(row["order"] is not None for row in ordered):
        problems = [f"{r['task']}: {r['problem'] or r['light_evidence'] or 'name not asked for'}" for r in ordered[:5]]
        raise UserError(
            "no task of this dataset can be used: " + "; ".join(problems),
            where=f"datasets ({dataset.name}).path = {dataset.path}",
        )
    return ordered


def build_images(
    config: Config, dataset: Dataset, tasks: Sequence[dict[str, Any]], *, say: Say
) -> list[dict[str, Any]]:
    """Rows of `images` for the candidates of a batch. A build that fails is a row with its reason."""
    sweep_all()
    choice = backend_for(config, dataset)
    say(f"  {dataset.name}: {choice.name} ({choice.reason})")
    rows = []
    for task in tasks:
        row: dict[str, Any] = {
            "dataset": dataset.name,
            "task": task["task"],
            "backend": choice.name,
            "backend_reason": choice.reason,
            "image": None,
            "build_seconds": None,
            "build_bytes": None,
            "problem": None,
        }
        try:
            image = ensure_image(config, dataset, Path(task["path"]))
            row |= {
                "image": f"{choice.name}:{image.image_id}",
                "build_seconds": image.build_seconds,
                "build_bytes": image.size_bytes,
            }
        except UserError as e:
            row["problem"] = str(e)
        except Exception as e:
            row["problem"] = redact(f"{type(e).__name__}: {e}", 1000)
        if row["problem"]:
            say(f"  {dataset.name}/{task['task']}: no image: {row['problem'].splitlines()[-1][:200]}")
        rows.append(row)
    return rows


# --- oracle and no-op


@dataclass(frozen=True)
class Reference:
    """What a reference agent got. rewards: of each segment that was reached; None where the verifier gave none."""

    rewards: list[float | None]
    problem: str | None
    seconds: float

    def passed(self, n_segments: int) -> int:
        """Segments passed in a row."""
        count = 0
        for reward in self.rewards[:n_segments]:
            if reward is None or reward < FULL_MARKS:
                break
            count += 1
        return count


async def run_reference(task: TaskRef, agent: str, environment: Any, folder: Path, identity: str) -> Reference:
    """Run the oracle or the no-op agent on a task, or take the finished result.

    Args:
        agent: `oracle` or `nop`.
        folder: parent of the trial's folder.
        identity: what the result depends on beside the task and its image.
    """
    from harbor.models.trial.config import AgentConfig

    key = hashlib.sha256(f"{task.digest}\0{task.image}\0{task.container}\0{identity}".encode()).hexdigest()[:8]
    trial_dir = folder / task.dataset / task.task / f"{agent}-{key}"
    record = trial_dir / "validation.json"
    try:
        return Reference(**json.loads(record.read_text()))
    except (OSError, ValueError, TypeError):
        shutil.rmtree(trial_dir, ignore_errors=True)
    started = time.monotonic()
    try:
        result = await run_trial(
            task, AgentConfig(name=agent, override_timeout_sec=VALIDATION_SECONDS), environment, trial_dir
        )
        rewards = [reward_of(s.verifier_result.rewards) if s.verifier_result else None for s in segments_of(result)]
        verifier = verifier_problem(result)
        problem = verifier or next(
            (redact(f"{e.exception_type}: {e.exception_message}") for e in result.recorded_exceptions()), None
        )
        reference = Reference(rewards, problem, time.monotonic() - started)
        if problem and not verifier and rewards[-1] is None:
            return reference  # something around the task broke: not kept, it may be mended by the next time
    except (asyncio.CancelledError, UserError):
        raise
    except Exception as e:  # Harbor refuses the task before the trial starts: not kept, it may be mended outside
        return Reference([], redact(f"{type(e).__name__}: {e}"), time.monotonic() - started)
    trial_dir.mkdir(parents=True, exist_ok=True)
    tmp = record.with_suffix(".tmp")
    tmp.write_text(json.dumps(reference.__dict__))
    tmp.replace(record)
    return reference


def why_not_admitted(n_segments: int, oracle: Reference, noop: Reference) -> str | None:
    """Why a validated task is not admitted (App. C, rule 4), or None. Pure."""
    passed = oracle.passed(n_segments)
    if passed < n_segments:
        segment = f" at segment {passed + 1} of {n_segments}" if n_segments > 1 else ""
        return f"oracle failed{segment}" + (f": {oracle.problem}" if oracle.problem else "")
    if any(reward is not None and reward > 0 for reward in noop.rewards):
        return "no-op got a reward"
    if not noop.rewards or noop.rewards[0] is None:
        return f"no-op could not be verified: {noop.problem or 'no reward'}"
    return None


def validate_tasks(
    config: Config,
    dataset: Dataset,
    tasks: Sequence[dict[str, Any]],
    images: Iterable[dict[str, Any]],
    *,
    threads: int,
    say: Say,
) -> list[dict[str, Any]]:
    """Rows of `admission` for the candidates of a batch: the reference solution gets full marks, doing nothing gets zero."""
    sweep_all()
    image_of = {i["task"]: i for i in images}
    folder = config.results / "validation"

    async def one(task: dict[str, Any], gate: asyncio.Semaphore) -> dict[str, Any]:
        image = image_of[task["task"]]
        row = not_reached(task) | {k: image[k] for k in ("backend", "image", "build_seconds", "build_bytes")}
        if image["problem"]:
            return row | {"reason": f"no build: {image['problem']}"}
        ref = TaskRef(
            dataset.name,
            task["task"],
            Path(task["path"]),
            task["n_segments"],
            task["digest"],
            image["image"],
            VALIDATION_SECONDS,
            container=container_identity(dataset),
        )
        async with gate:
            environment = environment_for(config, dataset)
            oracle = await run_reference(ref, "oracle", environment, folder, "1")
            noop = await run_reference(ref, "nop", environment, folder, "1")
        reason = why_not_admitted(ref.n_segments, oracle, noop)
        say(
            f"  {dataset.name}/{task['task']}  {'admitted' if reason is None else reason}  {oracle.seconds + noop.seconds:.1f} s"
        )
        return row | {
            "oracle_passed": oracle.passed(ref.n_segments) == ref.n_segments,
            "oracle_segments": oracle.passed(ref.n_segments),
            "noop_reward": max((r for r in noop.rewards if r is not None), default=None),
            "admitted": reason is None,
            "reason": reason,
            "seconds": oracle.seconds + noop.seconds,
        }

    async def work() -> list[dict[str, Any]]:
        gate = asyncio.Semaphore(max(1, threads) * config.trials_per_core)
        return await gather_all(one(task, gate) for task in tasks)

    return asyncio.run(work())
