"""One run: a model on a task, once, through Harbor's Trial; its record, and how a finished one is found again."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from termdepth.config.models import Harness
from termdepth.data.schema import RUNS, TURNS, Table
from termdepth.errors import UserError
from termdepth.harness.outcomes import Outcome
from termdepth.harness.record import FULL_MARKS, RunSpec, TaskRef, describe, is_full_marks
from termdepth.harness.redact import redact, scrub

AGENT = "termdepth.harness.agent:SegmentedTerminus2"
RECORD = "run.json"


@dataclass(frozen=True)
class RunRecord:
    """A finished run: its row of `runs` and its rows of `turns`."""

    row: dict[str, Any]
    turns: list[dict[str, Any]]


def harness_identity(limits: Harness) -> str:
    """What the harness was, readable: a column of every run, part of every fingerprint."""
    from termdepth.harness import agent, texts

    template = hashlib.sha256(agent.prompt_template().encode()).hexdigest()
    return (
        f"terminus-2 of harbor {agent.HARBOR_VERSION}, prompt {template[:8]}, texts {texts.DIGEST[:8]}, "
        f"output {limits.output_bytes} bytes, wait {limits.max_wait_sec:g} s, compressions {limits.max_compressions}"
    )


# --- finished runs


def load_finished(spec: RunSpec, runs: Path) -> RunRecord | None:
    """The record of this very run if it is finished. A run that failed for reasons outside the task is made again."""
    folder = spec.folder(runs)
    try:
        data = json.loads((folder / RECORD).read_text())
        row, turns = _as_declared(data["row"], RUNS), [_as_declared(t, TURNS) for t in data["turns"]]
        row |= {"path": str(folder), "started_at": datetime.fromisoformat(row["started_at"])}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if row["fingerprint"] != spec.fingerprint or row["outcome"] == Outcome.INFRASTRUCTURE_ERROR:
        return None
    return RunRecord(row, turns)


def _as_declared(row: dict[str, Any], table: Table) -> dict[str, Any]:
    """A row that another version wrote, with this version's columns: a paid run outlives a new column.

    Raises:
        KeyError: it lacks a column that is never empty.
    """
    return {c.name: row[c.name] if c.null is None else row.get(c.name) for c in table.columns}


def _store(record: RunRecord, trial_dir: Path, folder: Path) -> None:
    """Put the record into the trial's folder and give the folder its name: from then on the run is finished."""
    text = json.dumps({"row": record.row, "turns": record.turns}, default=_isoformat, indent=1)
    try:
        scrub(trial_dir)
        tmp = trial_dir / f".{RECORD}"
        tmp.write_text(text)
        tmp.replace(trial_dir / RECORD)
        if folder.exists():
            shutil.rmtree(folder)
        trial_dir.rename(folder)
    except OSError as e:
        raise UserError(
            f"cannot write the run: {e.strerror}", where=folder, hint="free space; finished runs are kept"
        ) from e


def _isoformat(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"not JSON: {value!r}")


# --- a trial


def _agent_kwargs(spec: RunSpec) -> dict[str, Any]:
    """The model entry and the limits as options of the agent."""
    model = spec.model
    call: dict[str, Any] = {"timeout": model.request_timeout_sec}
    if model.scripted or model.seed_attempts:
        call["seed"] = spec.seed
    if model.extra_body:
        call["extra_body"] = model.extra_body
    if model.max_output_tokens:
        call["max_tokens"] = model.max_output_tokens
    info: dict[str, Any] = {}
    if model.context_tokens:
        info["max_input_tokens"] = model.context_tokens
    if model.max_output_tokens:
        info["max_output_tokens"] = model.max_output_tokens
    if model.prices:
        info |= {
            "input_cost_per_token": model.prices.input / 1e6,
            "output_cost_per_token": model.prices.output / 1e6,
        }
        cached = model.prices.input if model.prices.cached_input is None else model.prices.cached_input
        info["cache_read_input_token_cost"] = cached / 1e6
        info["cache_creation_input_token_cost"] = model.prices.input / 1e6  # LiteLLM would take 0, and warn in each job
    optional = {
        "temperature": model.temperature,
        "reasoning_effort": model.reasoning_effort,
        "api_base": model.api_base,
        "model_info": info or None,
    }
    return {
        "record_terminal_session": False,
        "suppress_max_turns_warning": True,
        "parts": spec.task.n_segments,
        "cap": spec.cap,
        "turn_limit": spec.turn_limit,
        "time_limit_sec": spec.task.time_limit_sec,
        "output_bytes": spec.limits.output_bytes,
        "max_wait_sec": spec.limits.max_wait_sec,
        "max_compressions": spec.limits.max_compressions,
        "freeze": spec.task.freeze,
        "llm_call_kwargs": call,
        **{k: v for k, v in optional.items() if v is not None},
    }


async def run_trial(task: TaskRef, agent: Any, environment: Any, trial_dir: Path) -> Any:
    """Run Harbor's Trial with every segment a gate. Returns its TrialResult; Harbor's own layout is left in `trial_dir`."""
    from harbor.models.task.config import MultiStepRewardStrategy
    from harbor.models.trial.config import TaskConfig, TrialConfig
    from harbor.trial.trial import Trial

    logging.getLogger("harbor").setLevel(logging.CRITICAL)
    trial_dir.parent.mkdir(parents=True, exist_ok=True)
    trial = await Trial.create(
        TrialConfig(
            task=TaskConfig(path=task.path),
            trials_dir=trial_dir.parent.resolve(),
            trial_name=trial_dir.name,
            agent=agent,
            environment=environment,
        )
    )
    # A run stops at the first segment that fails (App. B), whatever the task asks for, and its reward is the last one's.
    for step in trial.task.config.steps or []:
        step.min_reward = FULL_MARKS
        trial.task.config.multi_step_reward_strategy = MultiStepRewardStrategy.FINAL
    # What passes is for `reward_of` to say: Harbor's own gate knows only a reward of that name. Pinned like the agent.
    trial._min_reward_failure = lambda rewards, _: None if is_full_marks(rewards) else "is below full marks"
    return await trial.run()


async def run_once(spec: RunSpec, environment: Any, runs: Path) -> RunRecord:
    """Make one run, or take the finished one.

    Args:
        environment: Harbor's EnvironmentConfig for this task.
        runs: folder of all runs.

    Raises:
        UserError: the model cannot be called at all (key refused, no such model), or the disk is full.
    """
    if finished := load_finished(spec, runs):
        return finished
    from harbor.models.trial.config import AgentConfig

    if spec.model.scripted:
        from termdepth.models.provider import register

        register()
    folder = spec.folder(runs)
    trial_dir = folder.with_name(f"partial-{os.getpid()}-{folder.name}")
    shutil.rmtree(trial_dir, ignore_errors=True)
    started = datetime.now(UTC)
    agent = AgentConfig(
        import_path=AGENT,
        model_name=spec.model.litellm,
        resume_trajectory=spec.task.n_segments > 1,
        override_timeout_sec=spec.task.time_limit_sec
        + 600,  # the agent's own limit is over all segments, this per segment
        kwargs=_agent_kwargs(spec),
    )
    try:
        result = await run_trial(spec.task, agent, environment, trial_dir)
        row, turns = describe(spec, result, started)
    except (OSError, UserError) as e:
        if isinstance(e, UserError):
            raise
        row, turns = describe(spec, None, started, error=redact(f"{type(e).__name__}: {e}"))
    except asyncio.CancelledError:
        shutil.rmtree(trial_dir, ignore_errors=True)
        raise
    except Exception as e:  # Harbor refuses the task or the agent before the trial starts
        row, turns = describe(spec, None, started, error=redact(f"{type(e).__name__}: {e}"))
    if row.pop("unavailable"):
        with suppress(OSError):
            shutil.rmtree(trial_dir)
        raise UserError(
            f"the model cannot be called: {row['error']}",
            where=f"models ({spec.model.id}).litellm = {spec.model.litellm}",
            hint="check the name and the provider's key in the environment, then run again: finished runs are kept",
        )
    trial_dir.mkdir(parents=True, exist_ok=True)
    row["path"] = str(folder)
    record = RunRecord(row, turns)
    _store(record, trial_dir, folder)
    return record
