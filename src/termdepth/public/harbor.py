"""Trials from Harbor's jobs: the result.json of each trial, or of a job that has its trials in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from termdepth.errors import UserError
from termdepth.public.files import (
    HARBOR_RESULT,
    LARGEST,
    NO_MODEL,
    Name,
    Number,
    ResultFiles,
    checked,
    leaves,
    read_json,
)
from termdepth.public.trial import Trial

# What is used of Harbor's own models (harbor/models/trial/result.py). Those do not take what another version wrote.


class _Verdict(BaseModel):
    rewards: dict[str, Number] | None = None
    reward: Number | None = None  # of Harbor's first versions

    @property
    def value(self) -> float | None:
        """The reward that decides: `reward` where there is one, else the smallest, as for our own runs."""
        rewards = self.rewards or ({} if self.reward is None else {"reward": self.reward})
        return rewards.get("reward", min(rewards.values())) if rewards else None


class _Own(BaseModel):
    turns: list[Any]


class _Metadata(BaseModel):
    termdepth: _Own | None = None
    n_episodes: Annotated[int, Field(strict=True, ge=0)] | None = None

    @property
    def turns(self) -> int | None:
        """Of our harness, which lists them; else of terminus-2, which counts them."""
        return self.n_episodes if self.termdepth is None else len(self.termdepth.turns)


class _Used(BaseModel):
    metadata: _Metadata | None = None


class _Exception(BaseModel):
    exception_type: str


class _Step(BaseModel):
    agent_result: _Used | None = None
    verifier_result: _Verdict | None = None
    exception_info: _Exception | None = None


class _Named(BaseModel):
    name: Name


class _Agent(_Named):
    model_info: _Named | None = None


class _Result(_Step):
    id: Name
    task_name: Name
    agent_info: _Agent
    step_results: list[_Step] | None = None


class _Job(BaseModel):
    trial_results: list[Any] | None = None


class _Message(BaseModel):
    source: str
    is_copied_context: bool | None = None


class _Trajectory(BaseModel):
    steps: list[_Message]


def harbor_trials(files: ResultFiles) -> Iterator[tuple[str, Trial | None]]:
    """The id of each trial that a file tells of, in the order of the files, and the trial; None in its place for one that was
    cancelled before it had a verdict, and for those without a model (NO_MODEL).

    The task's name is taken without its organisation, as the folder of a task is named.

    Raises:
        UserError: a file is not the result of a trial or job; tasks of two organisations have one name.
    """
    full: dict[str, str] = {}
    for path in files.named(HARBOR_RESULT):
        for value in _results(path, files.root):
            result = checked(_Result, value, path)
            task = result.task_name.rpartition("/")[2]
            if full.setdefault(task, result.task_name) != result.task_name:
                raise UserError(
                    f"tasks {full[task]!r} and {result.task_name!r} would both be {task!r}",
                    where=path,
                    hint="give each organisation's trials as an entry of their own",
                )
            yield result.id, _trial(result, task, path, files.root)


def _results(path: Path, root: Path) -> list[Any]:
    value = read_json(path, root)
    if "task_name" in value:
        return [value]
    if "n_total_trials" in value or "stats" in value:
        return checked(_Job, value, path).trial_results or []
    raise UserError("neither the result of a trial of Harbor's nor of a job", where=path)


def _trial(result: _Result, task: str, path: Path, root: Path) -> Trial | None:
    steps = result.step_results or [result]
    reward = result.verifier_result.value if result.verifier_result else None
    if any(step.verifier_result is None for step in steps):
        reward = None  # Harbor's mean over the steps leaves out the step that broke
    errors = [part.exception_info.exception_type for part in (result, *steps) if part.exception_info]
    if (reward is None and "CancelledError" in errors) or result.agent_info.name in NO_MODEL:
        return None
    model = result.agent_info.model_info or result.agent_info
    turns = _counted_turns(steps)
    if turns is None and not result.step_results:
        turns = _turns_in(path.parent / "agent" / "trajectory.json", root)
    return Trial(task, model.name, reward is not None and reward >= 1, turns)


def _counted_turns(steps: list[_Step]) -> float | None:
    """As the agent counted them, over all steps."""
    notes = [step.agent_result.metadata for step in steps if step.agent_result]
    counts = [note.turns for note in notes if note and note.turns is not None]
    return float(sum(counts)) if len(counts) == len(steps) else None


def _turns_in(trajectory: Path, root: Path) -> float | None:
    """The agent's messages in a trajectory of Harbor's format. The agent could write there: anything else tells nothing."""
    try:
        if leaves(trajectory, root) or not trajectory.is_file() or trajectory.stat().st_size > LARGEST:
            return None
        messages = _Trajectory.model_validate_json(trajectory.read_bytes()).steps
    except (OSError, ValueError):
        return None
    return float(sum(m.source == "agent" and not m.is_copied_context for m in messages)) or None
