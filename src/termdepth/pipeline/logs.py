"""Where the verifier of a validation wrote what it saw, and the last of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from termdepth.explorer.text import clean
from termdepth.harness.record import FULL_MARKS
from termdepth.harness.redact import redact
from termdepth.tasks.reading import TaskInfo

_LINES, _LINE_CHARS, _READ_BYTES = 5, 200, 65_536
_ORACLE_REASONS = ("oracle failed", "flaky verifier", "time-out", "needs network")


def last_lines(path: Path) -> list[str]:
    """The last lines that are not blank of a log that a container wrote: at most five, cut, without keys, printable. Of one
    with lines of failed checks, the last of these."""
    with path.open("rb") as f:
        size = f.seek(0, 2)
        f.seek(max(0, size - _READ_BYTES))
        text = f.read().decode("utf-8", errors="replace")
    # A carriage return begins a line anew: progress bars are one long line else.
    found = [line for line in text.replace("\r", "\n").split("\n") if line.strip()]
    failed = [line for line in found if line.startswith("FAIL ")]
    return [clean(redact(line, _LINE_CHARS))[:_LINE_CHARS] for line in (failed or found)[-_LINES:]]


def why(task: TaskInfo, reason: str, trials: Iterable[Path]) -> dict[str, Any]:
    """What tells more about a task that validation did not admit: `verifier_log`, its last lines as `verifier_said`, and the
    `solution_log` where the reference solution failed. Empty where there is no such log, as after a failed build.

    Args:
        reason: of the admission.
        trials: folders of the task's trials with the oracle (`oracle-…`) and the no-op (`nop-…`).
    """
    if reason.startswith("no-op"):
        agent, ends = "nop", _rewarded
    elif reason.startswith(_ORACLE_REASONS):
        agent, ends = "oracle", _failed
    else:
        return {}
    newest = _newest(trials, agent, lambda r: any(map(ends, r)) or len(r) < (task.n_segments if ends is _failed else 1))
    if newest is None:
        return {}
    folder, rewards = newest
    place = next((i for i, reward in enumerate(rewards) if ends(reward)), max(0, len(rewards) - 1))
    # One step alone may have either form.
    below = folder / "steps" / task.segments[min(place, task.n_segments - 1)].name
    folder = below if below.is_dir() else folder
    found: dict[str, Any] = {}
    if _is_log(log := folder / "verifier" / "test-stdout.txt"):
        found |= {"verifier_log": str(log), "verifier_said": last_lines(log)}
    if agent == "oracle" and _is_log(log := folder / "agent" / "oracle.txt"):
        found["solution_log"] = str(log)
    return found


def _rewarded(reward: float | None) -> bool:
    return reward is None or reward > 0


def _failed(reward: float | None) -> bool:
    return reward is None or reward < FULL_MARKS


def _is_log(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _newest(
    trials: Iterable[Path], agent: str, wanted: Callable[[list[float | None]], bool]
) -> tuple[Path, list[float | None]] | None:
    """The newest trial of an agent whose rewards are such; with its rewards, of the segments that it reached."""
    found = []
    for record in (trial / "validation.json" for trial in trials if trial.name.startswith(f"{agent}-")):
        try:
            data = json.loads(record.read_text())
            rewards = data["rewards"] if isinstance(data, Mapping) else []
            if wanted(rewards):
                found.append((record.stat().st_mtime_ns, record.parent, rewards))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    newest = max(found, default=None, key=lambda f: f[0])
    return newest and (newest[1], newest[2])
