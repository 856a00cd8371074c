"""Whether a checked task is admitted, and why not (App. C, rule 4). Pure.

A reason is `kind: what was seen`. Kinds: cannot be read, name not asked for, no reference solution, no evidence of a pass,
group not drawn from, not light, no build, needs network, time-out, oracle failed, flaky verifier, no-op passed, no-op not
verified, spare, not reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from termdepth.harness.record import FULL_MARKS


@dataclass(frozen=True)
class Reference:
    """What a reference agent (oracle or no-op) got.

    Attributes:
        rewards: of each segment that was reached; None where the verifier gave none.
        problem: what went wrong, in one line.
        seconds: time of the trial.
        no_network: a line of its logs that says that a host could not be reached.
        folder: of its trial.
    """

    rewards: list[float | None]
    problem: str | None
    seconds: float
    no_network: str | None = None
    folder: str | None = None

    def passed(self, n_segments: int) -> int:
        """Segments passed in a row."""
        count = 0
        for reward in self.rewards[:n_segments]:
            if reward is None or reward < FULL_MARKS:
                break
            count += 1
        return count


def why_not_admitted(
    n_segments: int,
    oracle: Sequence[Reference],
    noop: Sequence[Reference],
    *,
    offline: bool = False,
    command: str | None = None,
) -> str | None:
    """Why a task is not admitted, or None.

    Args:
        oracle: its runs of the reference solution; none for a task that has no solution and needs none.
        noop: its runs of doing nothing, at least one.
        offline: its containers have no network.
        command: a command of its solution or verifier that needs a network.
    """
    failed = [r for r in oracle if r.passed(n_segments) < n_segments]
    if failed and len(failed) < len(oracle):
        return f"flaky verifier: the reference solution passed {len(oracle) - len(failed)} of {len(oracle)} times"
    if failed:
        return _oracle_failed(n_segments, failed[0], offline, command)
    best = max((reward for r in noop for reward in r.rewards if reward is not None), default=None)
    if best is not None and best > 0:
        return f"no-op passed: reward {best:g}"
    for r in noop:
        if not r.rewards or r.rewards[0] is None:
            return f"no-op not verified: {r.problem or 'no reward'}"
    return None


def _oracle_failed(n_segments: int, run: Reference, offline: bool, command: str | None) -> str:
    problem = run.problem or ""
    place = f"segment {run.passed(n_segments) + 1} of {n_segments}" if n_segments > 1 else ""
    if offline and (evidence := run.no_network or command):
        return f"needs network: {evidence}"
    if problem.startswith("AgentTimeoutError") or "ran longer than" in problem:
        who = "the verifier" if "verifier" in problem else "the reference solution"
        return f"time-out: {who}{f' at {place}' if place else ''}"
    return "oracle failed: " + ", ".join(part for part in (place, problem or "not full marks") if part)
