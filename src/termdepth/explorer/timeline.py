"""What happened in a run, turn by turn, from the folder it left. Reads files; what it reads is untrusted."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from termdepth.explorer.text import squeeze

MAX_FILE_BYTES = 64_000_000
_OUTPUT_HEADS = ("New Terminal Output:\n", "Current Terminal Screen:\n")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Command:
    """Keystrokes sent, and the seconds the agent asked to wait after them."""

    keys: str
    wait: float | None


@dataclass(frozen=True)
class Message:
    """Something that is no turn: what the harness told the model, or a compression of the context."""

    source: str
    text: str


@dataclass(frozen=True)
class Turn:
    """A turn. said: the model's analysis and plan, or its whole reply where that could not be read. back: what it got.

    row: its row of `turns`, empty where there is none. recorded: the trajectory has it.
    """

    number: int
    row: Row
    said: str = ""
    commands: tuple[Command, ...] = ()
    back: str = ""
    recorded: bool = True


@dataclass
class Segment:
    """A segment of a run. checks: what its verifier printed. reward: None where it gave none."""

    number: int
    name: str
    state: Literal["passed", "failed", "not reached"]
    items: list[Message | Turn] = field(default_factory=list)
    checks: str = ""
    reward: float | None = None

    @property
    def turns(self) -> list[Turn]:
        return [i for i in self.items if isinstance(i, Turn)]


@dataclass
class Timeline:
    """A run's segments in order, and what could not be read of it, in sentences."""

    segments: list[Segment]
    problems: list[str]

    @property
    def turns(self) -> list[Turn]:
        return [t for s in self.segments for t in s.turns]

    def texts(self) -> Iterator[str]:
        """Every text that a page may have to cut."""
        for segment in self.segments:
            yield segment.checks
            for item in segment.items:
                if isinstance(item, Message):
                    yield item.text
                else:
                    yield item.said
                    yield from (c.keys for c in item.commands)
                    yield item.back


class _Unreadable(Exception):
    """A file is not there or cannot be used; the text says why."""


def _read(folder: Path, *parts: str) -> str:
    """The text of a file of the run. A container had a hand in some: no link is followed, nothing outside is read."""
    path = folder.joinpath(*parts)
    try:
        inside = path.parent.resolve(strict=True).is_relative_to(folder.resolve())
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) if inside else -1
    except FileNotFoundError as e:
        raise _Unreadable("is missing") from e
    except (OSError, ValueError) as e:
        raise _Unreadable("cannot be opened") from e
    if fd < 0:
        raise _Unreadable("is outside the run's folder")
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise _Unreadable("is not a file")
        if info.st_size > MAX_FILE_BYTES:
            raise _Unreadable(f"is too large to show ({info.st_size / 1e6:,.0f} MB)")
        return file.read(MAX_FILE_BYTES).decode("utf-8", "replace")


def _json(folder: Path, *parts: str) -> dict[str, Any]:
    try:
        value = json.loads(_read(folder, *parts))
    except (ValueError, RecursionError) as e:
        raise _Unreadable("is not readable JSON") from e
    if not isinstance(value, dict):
        raise _Unreadable("is not what Harbor writes")
    return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    """A message of a trajectory: a text, or parts of which only the texts are shown."""
    if isinstance(value, str):
        return value
    return "\n".join(str(p["text"]) for p in _list(value) if isinstance(p, dict) and isinstance(p.get("text"), str))


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _terminal(text: str) -> str:
    for head in _OUTPUT_HEADS:
        text = text.removeprefix(head)
    return squeeze(text).strip("\n")


def _steps(trajectory: dict[str, Any]) -> Iterator[Message | Turn]:
    """The steps of an ATIF trajectory; the numbers of the turns are not known yet."""
    for step in map(_dict, _list(trajectory.get("steps"))):
        if step.get("is_copied_context"):
            continue
        results = [_dict(r) for r in _list(_dict(step.get("observation")).get("results"))]
        back = "\n".join(filter(None, (_text(r.get("content")) for r in results)))
        if step.get("source") != "agent":
            yield Message(str(step.get("source", "")), squeeze(_text(step.get("message"))))
            continue
        calls = [_dict(_dict(c).get("arguments")) for c in _list(step.get("tool_calls"))]
        commands = tuple(
            Command(str(a["keystrokes"]), _number(a.get("duration"))) for a in calls if a.get("keystrokes") is not None
        )
        yield Turn(0, {}, _text(step.get("message")).strip(), commands, _terminal(back))


def _segment_names(folder: Path, count: int) -> tuple[list[str], list[float | None], str | None]:
    """Folder names below steps/ and rewards of the segments that ran, in order, and what was wrong."""
    try:
        result = _json(folder, "result.json")
    except _Unreadable as e:
        if count == 1:
            return [""], [None], f"result.json {e}"
        with_steps = folder / "steps"
        names = sorted(p.name for p in with_steps.iterdir()) if with_steps.is_dir() else []
        return names, [None] * len(names), f"result.json {e}: the order of the segments is a guess"
    steps = [_dict(s) for s in _list(result.get("step_results"))] or [result]
    rewards = [_dict(_dict(s.get("verifier_result")).get("rewards")) for s in steps]
    values = [_number(r.get("reward", min(r.values(), default=None, key=lambda v: _number(v) or 0.0))) for r in rewards]
    return [str(s.get("step_name") or "") for s in steps], values, None


def read_timeline(run: Row, turns: Sequence[Row], root: Path = Path()) -> Timeline:
    """The timeline of one run. What is missing or broken is told in `problems`; this never fails.

    Args:
        run: a row of `runs`; its path is below `root`. turns: its rows of `turns`, in order.
    """
    count, passed = int(run["n_segments"]), int(run["segments_passed"])
    folder = root / str(run["path"])
    try:
        is_there = folder.is_dir()
    except (OSError, ValueError):
        is_there = False
    names: list[str] = [""] * count
    rewards: list[float | None] = [None] * count
    problem: str | None = "The folder of this run is missing: only its numbers are known."
    if is_there:
        names, rewards, problem = _segment_names(folder, count)
    problems = [problem] if problem else []
    reached = len(run["turns_per_segment"])
    segments = []
    number = 0
    for i in range(1, count + 1):
        name = names[i - 1] if i <= len(names) else ""
        ran = i <= max(reached, len(names) if is_there else 0, passed)
        segment = Segment(i, name, "passed" if i <= passed else "failed" if ran and i == passed + 1 else "not reached")
        segment.reward = rewards[i - 1] if i <= len(rewards) else None
        rows = [t for t in turns if t["segment"] == i]
        found: list[Message | Turn] = []
        if is_there and ran:
            base = ("steps", name) if name else ()
            try:
                found = list(_steps(_json(folder, *base, "agent", "trajectory.json")))
            except _Unreadable as e:
                if rows or i == 1:
                    problems.append(f"{'/'.join((*base, 'agent', 'trajectory.json'))} {e}: what was sent is not known.")
            try:
                segment.checks = squeeze(_read(folder, *base, "verifier", "test-stdout.txt"))
            except _Unreadable as e:
                segment.checks = "" if str(e) == "is missing" else f"[the verifier's output {e}]"
        known = iter(rows)
        for item in found:
            if isinstance(item, Turn):
                number += 1
                row = next(known, {})
                item = Turn(number, row, item.said, item.commands, item.back)
            segment.items.append(item)
        for row in known:
            number += 1
            segment.items.append(Turn(number, row, recorded=False))
        segments.append(segment)
    return Timeline(segments, problems)
