"""The order of runs of App. B and the estimate of D from them. Pure: no run is made here.

For one task. The first model runs without a cap; caps below its fewest passing turns N are tried from the smallest up; the
second model tries only caps below the first model's estimate. A run that says nothing about the task (invalid: a refusal, a
broken container) is made again up to `invalid_retries` times for each slot and never counts as a failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Phase = Literal["uncapped", "probe", "second", "merged", "evaluation"]
PHASES: tuple[Phase, ...] = ("uncapped", "probe", "second")


@dataclass(frozen=True)
class Protocol:
    """Caps in turns, strictly increasing; how many valid runs a slot gets; how often an invalid run is made again."""

    caps: tuple[int, ...] = (1, 2, 3, 5, 10, 20, 40, 80)
    runs_uncapped: int = 2
    runs_per_cap: int = 2
    invalid_retries: int = 2
    second_model: bool = True


@dataclass(frozen=True)
class Run:
    """One finished run of one task. cap: None without a cap. turns: over all segments."""

    phase: Phase
    cap: int | None
    attempt: int
    valid: bool
    passed: bool
    turns: int


@dataclass(frozen=True)
class RunRequest:
    """The next run to make. attempt counts from 1 within (phase, cap)."""

    phase: Phase
    cap: int | None
    attempt: int


@dataclass(frozen=True)
class Estimate:
    """What the runs of one task say.

    solved: a valid run of the first model without a cap passed; None where there is no valid one, so that nothing is
    known. n: fewest turns among those (N). r: share of its valid runs
    without a cap that passed (R). d: the smallest cap that passed, None if unsolved or above the largest cap.
    d_above: solved, but only without a cap. d_lower: the cap next below d in the list (0 below the smallest), so that the
    depth lies in (d_lower, d]; the largest cap when d_above. d_first: the first model's estimate alone, d_first_above alike.
    """

    solved: bool | None
    n: int | None
    r: float | None
    d: int | None
    d_above: bool
    d_lower: int | None
    d_first: int | None
    d_first_above: bool


def _slot(runs: Iterable[Run], phase: Phase, cap: int | None) -> list[Run]:
    return [r for r in runs if r.phase == phase and r.cap == cap]


def _passed(slot: Sequence[Run]) -> bool:
    return any(r.valid and r.passed for r in slot)


def _request(slot: Sequence[Run], phase: Phase, cap: int | None, wanted: int, retries: int) -> RunRequest | None:
    """The next attempt of a slot, or None when it has its valid runs or has used up its retries."""
    invalid = sum(not r.valid for r in slot)
    if len(slot) - invalid >= wanted or invalid > retries:
        return None
    return RunRequest(phase, cap, 1 + max((r.attempt for r in slot), default=0))


def fewest_turns(runs: Iterable[Run]) -> int | None:
    """N: the fewest turns among the passing runs without a cap; None if none passes."""
    return min((r.turns for r in _slot(runs, "uncapped", None) if r.valid and r.passed), default=None)


def _first_estimate(runs: Sequence[Run], caps: Sequence[int], n: int) -> int | None:
    """The first model's D (App. B, "Order of runs"); None means above the largest cap."""
    for cap in caps:
        if cap >= n or _passed(_slot(runs, "probe", cap)):
            return cap
    return None


def next_run(runs: Sequence[Run], protocol: Protocol, phases: Sequence[Phase] = PHASES) -> RunRequest | None:
    """The run that App. B makes next, given all runs of this task so far; None when the phases asked for are complete.

    Args:
        runs: finished runs of this task, any order.
        phases: the phases to work on. Later phases need the earlier ones complete and take them as they are.
    """
    if "uncapped" in phases:
        request = _request(
            _slot(runs, "uncapped", None), "uncapped", None, protocol.runs_uncapped, protocol.invalid_retries
        )
        if request:
            return request
    n = fewest_turns(runs)
    if n is None:
        return None
    if "probe" in phases:
        for cap in (c for c in protocol.caps if c < n):
            slot = _slot(runs, "probe", cap)
            if _passed(slot):
                break
            if request := _request(slot, "probe", cap, protocol.runs_per_cap, protocol.invalid_retries):
                return request
    if "second" in phases and protocol.second_model:
        first = _first_estimate(runs, protocol.caps, n)
        for cap in (c for c in protocol.caps if first is None or c < first):
            slot = _slot(runs, "second", cap)
            if _passed(slot):
                break
            if request := _request(slot, "second", cap, protocol.runs_per_cap, protocol.invalid_retries):
                return request
    return None


def most_runs(protocol: Protocol) -> int:
    """The most valid runs one task can cost: every slot full, N above the largest cap."""
    models = 2 if protocol.second_model else 1
    return protocol.runs_uncapped + models * len(protocol.caps) * protocol.runs_per_cap


def estimate(runs: Sequence[Run], protocol: Protocol) -> Estimate:
    """D, N and R of one task from its runs (equations 5 and 6).

    A cap whose runs were all invalid says nothing; it counts as not passed, which can only raise D.
    """
    uncapped = [r for r in _slot(runs, "uncapped", None) if r.valid]
    r = sum(run.passed for run in uncapped) / len(uncapped) if uncapped else None
    n = fewest_turns(runs)
    if n is None:
        return Estimate(False if uncapped else None, None, r, None, False, None, None, False)
    first = _first_estimate(runs, protocol.caps, n)
    second = next((c for c in protocol.caps if _passed(_slot(runs, "second", c))), None)
    known = [c for c in (first, second) if c is not None]
    d = min(known) if known else None
    lower = max((c for c in protocol.caps if d is None or c < d), default=0)
    return Estimate(True, n, r, d, d is None, lower, first, first is None)
