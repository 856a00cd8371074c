"""What the checks of a segment said, from the reward and the lines they printed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from termdepth.harness.record import FULL_MARKS

SCRIPT = "check script"
"""The name under which the check library reports that the script itself did not run to its end."""


@dataclass(frozen=True)
class Verdict:
    """holds: the checks report a failure, as they should where a part was removed; None: there is no result.
    crashed: the checks did not run to a result. reason: why there is no result, None if there is one."""

    holds: bool | None
    crashed: bool
    reason: str | None


def judge(reward: float | None, log: str, crash: str | None, broken: str | None) -> Verdict:
    """The verdict of one verification.

    Args:
        reward: what Harbor read; None if it could not.
        log: what the test script printed.
        crash: why the verifier gave no reward.
        broken: what failed around the verifier (the container, the replayed script's time limit).
    """
    if broken:
        return Verdict(None, False, broken)
    stopped = next((line for line in log.splitlines() if line.startswith(f"FAIL {SCRIPT}: ")), None)
    if crash or stopped or reward is None:
        reason = crash or (stopped and stopped.removeprefix(f"FAIL {SCRIPT}: ")) or "no reward"
        return Verdict(None, True, reason)
    return Verdict(reward < FULL_MARKS, False, None)


def passed_checks(log: str) -> list[str]:
    """Names of the checks that passed, in order, as the check library prints them; none for another verifier."""
    return [line.removeprefix("PASS ") for line in log.splitlines() if line.startswith("PASS ")]


def failed_checks(log: str, names: Sequence[str]) -> list[str]:
    """Which of the known names failed. A failure is printed `FAIL name: reason`, and names may hold colons: the longest
    name that fits is meant. A failure that fits none is given as its whole line."""
    failed = []
    for line in log.splitlines():
        if line.startswith("FAIL "):
            rest = line.removeprefix("FAIL ")
            fitting = [name for name in names if rest.startswith(f"{name}: ")]
            failed.append(max(fitting, key=len, default=rest))
    return failed
