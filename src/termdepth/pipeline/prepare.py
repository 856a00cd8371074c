"""From listed tasks to validated ones: build their images, decide whether they are light, check oracle and no-op."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from termdepth.config.models import Config, Dataset, Judge
from termdepth.environments.backend import BackendChoice, BuildTooLong
from termdepth.errors import UserError
from termdepth.harness.record import TaskRef, reward_of, segments_of, verifier_problem
from termdepth.harness.redact import redact
from termdepth.harness.runner import run_trial
from termdepth.pipeline.admission import Reference, why_not_admitted
from termdepth.pipeline.backends import backend_for, ensure_image, environment_for, sweep_all, trim_images
from termdepth.pipeline.batches import hopeless, not_checked, still_to_check
from termdepth.pipeline.judge import judge as ask
from termdepth.pipeline.listing import light_limits
from termdepth.pipeline.logs import why
from termdepth.pipeline.measure import Ledger, container_identity, gather_all
from termdepth.tasks.light import LightLimits, measured_build
from termdepth.tasks.network import failed_access, network_command
from termdepth.tasks.reading import TaskInfo, read_task

Say = Callable[[str], None]
VALIDATION_SECONDS = 3600.0
_LOG_BYTES = 1_000_000


def build_images(
    config: Config, dataset: Dataset, tasks: Sequence[dict[str, Any]], *, say: Say
) -> list[dict[str, Any]]:
    """Rows of `images` for the candidates of a batch. A build that fails is a row with its reason."""
    sweep_all()
    choice = backend_for(config, dataset)
    say(f"  {dataset.name}: {choice.name} ({choice.reason})")
    limits = light_limits(dataset)
    told = {choice.reason}
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
            **{k: task[k] for k in ("light", "light_rule", "light_evidence")},
            "problem": None,
        }
        if task["light"] is None and config.judge is not None:
            row |= _judged(config, dataset, task, config.judge, limits)
            say(f"  {dataset.name}/{task['task']}: light: {row['light']}, says the judge: {row['light_evidence']}")
        if row["light"] is not False:
            row |= _built(config, dataset, task, choice, limits)
        if row["light"] is False:
            say(f"  {dataset.name}/{task['task']}: not light: {row['light_rule']}: {row['light_evidence']}")
        elif row["backend_reason"] not in told:
            told.add(row["backend_reason"])
            say(f"  {dataset.name}/{task['task']}: {row['backend_reason']}")
        elif row["problem"]:
            say(f"  {dataset.name}/{task['task']}: no image: {row['problem'].splitlines()[-1][:200]}")
        rows.append(row)
    return rows


def _judged(
    config: Config, dataset: Dataset, task: dict[str, Any], judge: Judge, limits: LightLimits
) -> dict[str, Any]:
    """What the judge says of a task whose text leaves it unsure; nothing where it is unsure as well."""
    info = read_task(Path(task["path"]), config.folder(dataset))
    if not isinstance(info, TaskInfo):
        return {"light": None}
    ledger = Ledger(config.results / "ledger.txt", config.budgets.cost_usd, config.budgets.turns)
    ledger.check()

    def spent(usd: float) -> None:
        ledger.add({"fingerprint": "judge", "cost_usd": usd, "turns": 0})

    opinion = ask(info, judge, limits, config.results / "light" / dataset.name, spent)
    return {
        "light": opinion.light,
        "light_rule": opinion.rule or task["light_rule"],
        "light_evidence": opinion.evidence,
    }


def _built(
    config: Config, dataset: Dataset, task: dict[str, Any], choice: BackendChoice, limits: LightLimits
) -> dict[str, Any]:
    """The image of a task, and what its build says about light dependencies; or why there is none."""
    try:
        image = ensure_image(config, dataset, Path(task["path"]))
    except BuildTooLong as e:
        return {"light": False, "light_rule": "build_time", "light_evidence": str(e)}
    except UserError as e:
        return {"problem": str(e)}
    except Exception as e:
        return {"problem": redact(f"{type(e).__name__}: {e}", 1000)}
    measured = measured_build(image.size_bytes, image.build_seconds, limits)
    trim_images(config)
    decided = {} if measured.light else {"light_rule": measured.rule, "light_evidence": str(measured.evidence[0])}
    return {
        "image": f"{choice.name}:{image.image_id.removeprefix(f'{choice.name}:')}",
        **({"backend_reason": f"{choice.reason}; {image.note}"} if image.note else {}),
        "build_seconds": image.build_seconds,
        "build_bytes": image.size_bytes,
        "light": measured.light,
        **decided,
    }


# --- oracle and no-op


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
        return _seen(Reference(**json.loads(record.read_text())), trial_dir)
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
    return _seen(reference, trial_dir)


def _seen(reference: Reference, trial_dir: Path) -> Reference:
    """With what is looked up in the trial's folder each time, and not kept."""
    return replace(reference, no_network=no_network_in(trial_dir), folder=str(trial_dir))


def no_network_in(trial_dir: Path) -> str | None:
    """The first line of a trial's logs that says that a host could not be reached, with its file; None if there is none."""
    for place in (trial_dir, *sorted(trial_dir.glob("steps/*"))):
        for name in ("agent/oracle.txt", "verifier/test-stdout.txt", "verifier/test-stderr.txt"):
            path = place / name
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as f:
                    line = failed_access(f.read(_LOG_BYTES).decode("utf-8", errors="replace"))
                if line:
                    return redact(f"{path.relative_to(trial_dir)}: {line}")
    return None


def network_command_of(path: Path, root: Path) -> str | None:
    """The first command of a task's solution or verifier that needs a network, with file and line."""
    info = read_task(path, root)
    return network_command(info) if isinstance(info, TaskInfo) else None


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
        row = not_checked(task) | {k: image[k] for k in ("light", "backend", "image", "build_seconds", "build_bytes")}
        if image["light"] is False:
            return row | {"reason": f"not light: {image['light_rule']}: {image['light_evidence']}"}
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
            oracle, noop = [], []
            for attempt in range(1, dataset.oracle_repeats + 2):
                if task["w_lines"] is not None:
                    oracle.append(await run_reference(ref, "oracle", environment, folder, str(attempt)))
                noop.append(await run_reference(ref, "nop", environment, folder, str(attempt)))
        command = network_command_of(ref.path, config.folder(dataset)) if dataset.network == "none" else None
        reason = why_not_admitted(ref.n_segments, oracle, noop, offline=dataset.network == "none", command=command)
        seconds = sum(r.seconds for r in (*oracle, *noop))
        log = None
        if reason is not None and isinstance(info := read_task(ref.path, config.folder(dataset)), TaskInfo):
            more = why(info, reason, [Path(r.folder) for r in (*oracle, *noop) if r.folder])
            log = more.get("verifier_log") or more.get("solution_log")
            if reason.startswith("oracle failed") and more.get("verifier_said"):
                reason = f"{reason}: {more['verifier_said'][-1]}"
        say(f"  {dataset.name}/{task['task']}  {'admitted' if reason is None else reason}  {seconds:.1f} s")
        passed = min((r.passed(ref.n_segments) for r in oracle), default=None)
        return row | {
            "oracle_passed": None if passed is None else passed == ref.n_segments,
            "oracle_segments": passed,
            "noop_reward": max((x for r in noop for x in r.rewards if x is not None), default=None),
            "admitted": reason is None,
            "reason": reason,
            "log": log,
            "seconds": seconds,
        }

    async def work() -> list[dict[str, Any]]:
        gate = asyncio.Semaphore(max(1, threads) * config.trials_per_core)
        return await gather_all(one(task, gate) for task in tasks)

    return asyncio.run(work())


def check_replacements(
    config: Config,
    dataset: Dataset,
    tasks: Sequence[dict[str, Any]],
    checked: Sequence[dict[str, Any]],
    *,
    threads: int,
    say: Say,
) -> list[dict[str, Any]]:
    """Rows of `admission` of the tasks that were checked, and of the next ones of the list until the sample is complete or the
    list at its end (App. C, rule 4). Stops where it is hopeless (see `hopeless`).

    Args:
        tasks: rows of `tasks`, all of the dataset.
    """
    rows = list(checked)
    while batch := [dict(t) for t in still_to_check(tasks, rows, dataset.sample)]:
        if why := hopeless(rows):
            say(f"  {dataset.name}: stopped: {why}. Mend the cause and run again; what was checked is kept")
            break
        say(f"  {dataset.name}: {len(batch)} tasks are missing: checking the next ones of the list")
        images = build_images(config, dataset, batch, say=say)
        rows += validate_tasks(config, dataset, batch, images, threads=threads, say=say)
    return rows
