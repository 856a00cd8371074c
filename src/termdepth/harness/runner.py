"""One run: a model on a task, once, through Harbor's Trial; its record, and how a finished one is found again."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from termdepth.config.models import Harness, ModelEntry
from termdepth.errors import UserError
from termdepth.harness.outcomes import EARLY_SUBMIT, OUTCOME_RULES, Outcome, is_early_submit
from termdepth.harness.redact import redact

AGENT = "termdepth.harness.agent:SegmentedTerminus2"
RECORD = "run.json"
FULL_MARKS = 1.0

_VERIFIER_ERRORS = {
    "VerifierTimeoutError": "the verifier ran longer than its time limit",
    "RewardFileNotFoundError": "the verifier wrote no reward file",
    "RewardFileEmptyError": "the verifier wrote an empty reward file",
    "VerifierOutputParseError": "the verifier's reward is not a finite number",
    "AddTestsDirError": "the tests could not be copied into the container",
    "DownloadVerifierDirError": "the verifier's output could not be read from the container",
}


@dataclass(frozen=True)
class TaskRef:
    """A task as the harness needs it. time_limit_sec: over all segments. image: identity of its image by content."""

    dataset: str
    task: str
    path: Path
    n_segments: int
    digest: str
    image: str
    time_limit_sec: float
    freeze: bool = False


@dataclass(frozen=True)
class RunSpec:
    """Everything that identifies a run."""

    task: TaskRef
    model: ModelEntry
    phase: str
    cap: int | None
    attempt: int
    turn_limit: int
    limits: Harness
    harness: str
    knowledge: str = ""  # digest of what a scripted model knows beside the conversation

    @property
    def fingerprint(self) -> str:
        """Identity of the run: the same fingerprint is never run again (architecture, section 6)."""
        parts = {
            "task": self.task.digest,
            "image": self.task.image,
            "time_limit_sec": self.task.time_limit_sec,
            "freeze": self.task.freeze,
            "model": self.model.model_dump(mode="json", exclude={"roles", "title", "request_timeout_sec"}),
            "knowledge": self.knowledge,
            "harness": self.harness,
            "turn_limit": self.turn_limit,
            "phase": self.phase,
            "cap": self.cap,
            "attempt": self.attempt,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @property
    def seed(self) -> int:
        """Differs by run, and stays when the image or the harness change."""
        parts = (self.task.dataset, self.task.task, self.model.id, self.phase, self.cap, self.attempt)
        return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:7], 16)

    def folder(self, runs: Path) -> Path:
        """Where the run lives below `runs`. The end of the name tells runs of changed configurations apart."""
        where = "uncapped" if self.cap is None else f"cap-{self.cap}"
        if self.phase in ("merged", "evaluation"):
            where = f"{self.phase}-{where}"
        return (
            runs / self.task.dataset / self.task.task / self.model.id / where / f"{self.attempt}-{self.fingerprint[:8]}"
        )


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
    try:
        data = json.loads((spec.folder(runs) / RECORD).read_text())
        record = RunRecord(data["row"], data["turns"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if record.row.get("fingerprint") != spec.fingerprint or record.row.get("outcome") == Outcome.INFRASTRUCTURE_ERROR:
        return None
    record.row["started_at"] = datetime.fromisoformat(record.row["started_at"])
    return record


def _store(record: RunRecord, trial_dir: Path, folder: Path) -> None:
    """Put the record into the trial's folder and give the folder its name: from then on the run is finished."""
    text = json.dumps({"row": record.row, "turns": record.turns}, default=_isoformat, indent=1)
    try:
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
        if model.prices.cached_input is not None:
            info["cache_read_input_token_cost"] = model.prices.cached_input / 1e6
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


# --- from Harbor's result to a row (pure)


def reward_of(rewards: Mapping[str, float | int] | None) -> float | None:
    """The reward that decides: `reward` where there is one, else the smallest; None for no rewards at all."""
    if not rewards:
        return None
    value = float(rewards.get("reward", min(rewards.values())))
    return value if math.isfinite(value) else None


def describe(
    spec: RunSpec, result: Any | None, started: datetime, error: str | None = None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A run's row and turn rows from Harbor's TrialResult (None: there was no trial). Pure.

    The row has one extra key, `unavailable`: the model cannot be called at all.
    """
    k = spec.task.n_segments
    steps = [] if result is None else list(result.step_results or []) if k > 1 else [result]
    notes = [_note(s) for s in steps]
    rewards = [reward_of(s.verifier_result.rewards) if s.verifier_result else None for s in steps]
    passed = 0
    for reward in rewards:
        if reward is None or reward < FULL_MARKS:
            break
        passed += 1
    stop, said = _stop(notes)
    exceptions = [] if result is None else [e.exception_type for e in result.recorded_exceptions()]
    messages = [] if result is None else [e.exception_message for e in result.recorded_exceptions()]
    verifier = next((_VERIFIER_ERRORS[e] for e in exceptions if e in _VERIFIER_ERRORS), None)
    if (
        verifier is None
        and result is not None
        and any(s.verifier_result and not s.verifier_result.rewards for s in steps)
    ):
        verifier = "the verifier gave no rewards"
    broken = next((f"{e}: {m}" for e, m in zip(exceptions, messages, strict=True) if e not in _VERIFIER_ERRORS), error)
    outcome, why = decide(k, passed, stop, verifier, redact(broken) if broken else None)
    turns = [row for note in notes for row in note.get("turns", [])]
    ran = notes[-1] if notes else {}
    cost = result.compute_token_cost_totals() if result is not None else (None, None, None, None)
    first_submit = next((t for t in turns if t["complete"] and t["segment"] == max(x["segment"] for x in turns)), None)
    early = is_early_submit(
        outcome, turns=len(turns), looked=first_submit is not None and first_submit["commands"] == 0
    )
    row: dict[str, Any] = {
        "dataset": spec.task.dataset,
        "task": spec.task.task,
        "model": spec.model.id,
        "phase": spec.phase,
        "cap": spec.cap,
        "attempt": spec.attempt,
        "outcome": str(outcome),
        "label": EARLY_SUBMIT if early else None,
        "valid": OUTCOME_RULES[outcome].valid,
        "passed": outcome is Outcome.PASSED,
        "segments_passed": passed,
        "n_segments": k,
        "turns": len(turns),
        "turns_per_segment": [len(note.get("turns", [])) for note in notes],
        "minutes": sum(note.get("seconds", 0.0) for note in notes) / 60,
        "input_tokens": cost[0],
        "output_tokens": cost[2],
        "cached_tokens": cost[1],
        "context_tokens": ran.get("context_tokens"),
        "cost_usd": 0.0 if spec.model.scripted else cost[3],
        "command_lines": sum(t["command_lines"] for t in turns),
        "compressions": ran.get("compressions", 0),
        "parse_errors": sum(t["parse_error"] for t in turns),
        "error": why or said,
        "fingerprint": spec.fingerprint,
        "harness": spec.harness,
        "backend": spec.task.image.partition(":")[0],
        "started_at": started,
        "path": "",
        "unavailable": stop == "model_unavailable",
    }
    fields = [
        "turn",
        "segment",
        "model_seconds",
        "terminal_seconds",
        "wait_seconds",
        "commands",
        "complete",
        "parse_error",
        "input_tokens",
        "output_tokens",
        "finish_reason",
    ]
    return row, [{"fingerprint": spec.fingerprint, **{f: t[f] for f in fields}} for t in turns]


def _note(step: Any) -> dict[str, Any]:
    """What the agent left about one segment."""
    metadata = (step.agent_result.metadata if step.agent_result else None) or {}
    return metadata.get("termdepth") or {}


def _stop(notes: Sequence[Mapping[str, Any]]) -> tuple[str, str | None]:
    """Why the agent's conversation ended: the first segment that did not end by being marked complete says it."""
    for note in notes:
        if note.get("stop", "completed") != "completed":
            return note["stop"], note.get("error")
    return "completed", None


def decide(
    n_segments: int, segments_passed: int, stop: str, verifier_error: str | None, broken: str | None
) -> tuple[Outcome, str | None]:
    """The one outcome of a run, and what went wrong in one line. Pure; the order is the rule.

    A state that passed every segment counts, however the conversation ended. Then: what could not be verified says nothing
    about the task; then the agent's own end; then what broke around it.
    """
    if segments_passed == n_segments:
        return Outcome.PASSED, None
    if verifier_error:
        return Outcome.VERIFIER_ERROR, verifier_error
    if stop not in ("completed", "model_unavailable", "infrastructure_error"):
        return Outcome(stop), None
    if broken or stop != "completed":
        return Outcome.INFRASTRUCTURE_ERROR, broken
    return Outcome.FAILED_CHECKS, None
