"""Every way a run can end: the table, the decision, the early-submit label."""

from __future__ import annotations

from typing import Any

import pytest

from termdepth.harness.outcomes import OUTCOME_RULES, Outcome, is_early_submit
from termdepth.harness.record import decide, looked_before_submitting

INVALID = {Outcome.REFUSED, Outcome.EMPTY_RESPONSE, Outcome.VERIFIER_ERROR, Outcome.INFRASTRUCTURE_ERROR}


def test_table_covers_every_outcome() -> None:
    assert set(OUTCOME_RULES) == set(Outcome)
    assert all(rule.meaning and rule.meaning[0].islower() for rule in OUTCOME_RULES.values())


def test_what_counts() -> None:
    """App. I: refusals and empty replies leave the denominator; every way in which the agent itself fails stays in it."""
    assert {o for o, rule in OUTCOME_RULES.items() if not rule.valid} == INVALID
    assert {o for o, rule in OUTCOME_RULES.items() if rule.retried} == INVALID


@pytest.mark.parametrize(
    ("passed", "stop", "verifier", "broken", "outcome"),
    [
        # All segments passed: nothing else matters.
        (3, "completed", None, None, "passed"),
        (3, "turn_cap", None, None, "passed"),
        (3, "time_limit", None, "CleanupError: x", "passed"),
        (3, "session_broken", None, None, "passed"),
        (3, "infrastructure_error", None, None, "passed"),
        # A segment's checks failed.
        (0, "completed", None, None, "failed_checks"),
        (2, "completed", None, None, "failed_checks"),
        # The agent's own end.
        *((1, stop, None, None, stop) for stop in ("turn_cap", "turn_limit", "time_limit", "session_broken")),
        *((0, stop, None, None, stop) for stop in ("context_overflow", "refused", "empty_response")),
        (1, "turn_cap", None, "CleanupError: x", "turn_cap"),
        # No verdict says nothing about the task, unless the agent broke what the checks run in.
        (1, "completed", "no reward", None, "verifier_error"),
        (1, "turn_cap", "no reward", None, "verifier_error"),
        (1, "session_broken", "no reward", None, "session_broken"),
        (1, "session_broken", None, "ContainerGone: x", "session_broken"),
        # What broke around it.
        (0, "completed", None, "EnvironmentStartTimeoutError: x", "infrastructure_error"),
        (0, "infrastructure_error", None, None, "infrastructure_error"),
        (0, "model_unavailable", None, None, "infrastructure_error"),
    ],
)
def test_decide(passed: int, stop: str, verifier: str | None, broken: str | None, outcome: str) -> None:
    found, why = decide(3, passed, stop, verifier, broken)
    assert found == outcome
    assert why in (None, verifier, broken)
    if outcome == "verifier_error":
        assert why == verifier


def test_every_stop_of_the_agent_is_decided() -> None:
    stops = {o.value for o in Outcome} - {"passed", "failed_checks", "verifier_error"}
    for stop in stops | {"completed", "model_unavailable"}:
        for passed in (0, 1):
            for verifier in (None, "v"):
                for broken in (None, "b"):
                    assert decide(1, passed, stop, verifier, broken)[0] in OUTCOME_RULES


def turns(*rows: tuple[int, int, bool]) -> list[dict[str, Any]]:
    return [{"segment": s, "commands": c, "complete": done} for s, c, done in rows]


@pytest.mark.parametrize(
    ("rows", "looked"),
    [
        ([], False),  # no turn at all
        ([(1, 3, True), (1, 0, True)], False),  # sent and submitted at once, then confirmed
        ([(1, 3, False), (1, 0, True), (1, 0, True)], True),  # read the output, then submitted
        ([(1, 3, False), (1, 2, True)], False),  # the last commands' output was never read
        ([(1, 0, True), (1, 0, True)], False),  # nothing was ever done
        ([(1, 0, False), (1, 0, True)], False),
        ([(1, 3, False)], False),  # not submitted
        ([(1, 3, False), (1, 0, True), (2, 1, True)], False),  # the last segment decides
        ([(1, 3, True), (2, 1, False), (2, 0, True)], True),
    ],
)
def test_looked_before_submitting(rows: list[tuple[int, int, bool]], looked: bool) -> None:
    assert looked_before_submitting(turns(*rows)) is looked


def test_early_submit_is_a_failed_quick_and_blind_run() -> None:
    assert is_early_submit(Outcome.FAILED_CHECKS, turns=3, looked=False)
    assert not is_early_submit(Outcome.FAILED_CHECKS, turns=4, looked=False)
    assert not is_early_submit(Outcome.FAILED_CHECKS, turns=2, looked=True)
    assert not any(is_early_submit(o, turns=1, looked=False) for o in Outcome if o is not Outcome.FAILED_CHECKS)
