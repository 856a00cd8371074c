"""What identifies a run, and its row from Harbor's result. Pure: reads and writes nothing."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

from termdepth.config.models import Harness, ModelEntry
from termdepth.harness.outcomes import EARLY_SUBMIT, OUTCOME_RULES, Outcome, is_early_submit
from termdepth.harness.redact import redact

FULL_MARKS = 1.0

_VERIFIER_ERRORS = {
    "VerifierTimeoutError": "the verifier ran longer than its time limit",
    "RewardFileNotFoundError": "the verifier wrote no reward file",
    "RewardFileEmptyError": "the verifier wrote an empty reward file",
    "VerifierOutputParseError": "the verifier's reward is not a finite number",
    "AddTestsDirError": "the tests could not be copied into the container",
    "DownloadVerifierDirError": "the verifier's output could not be read from the container",
    "IsADirectoryError": "the verifier made a folder in the place of the reward file",
    "ValidationError": "the verifier's reward.json is not a mapping of names to numbers",
}

_TURN_FIELDS = (
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
)


@dataclass(frozen=True)
class TaskRef:
    """A task as the harness needs it. time_limit_sec: over all segments. image: identity of its image by content.
    container: how it is run (network, memory, processors), for its identity."""

    dataset: str
    task: str
    path: Path
    n_segments: int
    digest: str
    image: str
    time_limit_sec: float
    freeze: bool = False
    container: str = ""


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
            "container": self.task.container,
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


def reward_of(rewards: Mapping[str, float | int] | None) -> float | None:
    """The reward that decides: `reward` where there is one, else the smallest; None for no rewards at all."""
    if not rewards:
        return None
    value = float(rewards.get("reward", min(rewards.values())))
    return value if math.isfinite(value) else None


def is_full_marks(rewards: Mapping[str, float | int] | None) -> bool:
    """Whether a segment with these rewards passed."""
    reward = reward_of(rewards)
    return reward is not None and reward >= FULL_MARKS


def segments_of(result: Any) -> list[Any]:
    """What a trial says about each segment that was reached; a task may have the form of steps with only one of them."""
    return list(result.step_results or [result])


def verifier_problem(result: Any) -> str | None:
    """What was wrong with the verification of a trial, in a few words; None if it gave rewards."""
    for exception in result.recorded_exceptions():
        if exception.exception_type in _VERIFIER_ERRORS:
            return _VERIFIER_ERRORS[exception.exception_type]
    verified = [s.verifier_result for s in segments_of(result)]
    return "the verifier gave no rewards" if any(v and not v.rewards for v in verified) else None


def describe(
    spec: RunSpec, result: Any | None, started: datetime, error: str | None = None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A run's row and turn rows from Harbor's TrialResult (None: there was no trial). Pure.

    The row has one extra key, `unavailable`: the model cannot be called at all.
    """
    k = spec.task.n_segments
    steps = [] if result is None else segments_of(result)
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
    verifier = None if result is None else verifier_problem(result)
    broken = next((f"{e}: {m}" for e, m in zip(exceptions, messages, strict=True) if e not in _VERIFIER_ERRORS), error)
    if notes and notes[-1] and rewards[-1] is not None:
        broken = None  # the agent's end and the verdict are both known: what broke after them changes neither
    outcome, why = decide(k, passed, stop, verifier, redact(broken) if broken else None)
    turns = [row for note in notes for row in note.get("turns", [])]
    ran = notes[-1] if notes else {}
    cost = result.compute_token_cost_totals() if result is not None else (None, None, None, None)
    early = is_early_submit(outcome, turns=len(turns), looked=looked_before_submitting(turns))
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
    return row, [{"fingerprint": spec.fingerprint, **{f: t[f] for f in _TURN_FIELDS}} for t in turns]


def looked_before_submitting(turns: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last segment's submission came after the output of its last commands had been read: there were commands,
    and the reply that first marked it complete sent no more of them."""
    segment = [t for t in turns if t["segment"] == turns[-1]["segment"]]
    before = list(takewhile(lambda t: not t["complete"], segment))
    return len(before) < len(segment) and segment[len(before)]["commands"] == 0 and any(t["commands"] for t in before)


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

    A state that passed every segment counts, however the conversation ended. A container that the agent broke does not
    become a run without a verdict because checks cannot run in it. Then: what could not be verified says nothing about the
    task; then the agent's own end; then what broke around it.
    """
    if segments_passed == n_segments:
        return Outcome.PASSED, None
    if stop == "session_broken":
        return Outcome.SESSION_BROKEN, None
    if verifier_error:
        return Outcome.VERIFIER_ERROR, verifier_error
    if stop not in ("completed", "model_unavailable", "infrastructure_error"):
        return Outcome(stop), None
    if broken or stop != "completed":
        return Outcome.INFRASTRUCTURE_ERROR, broken
    return Outcome.FAILED_CHECKS, None
