"""What an outage of a provider is, and what a job makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from termdepth.config.models import ModelEntry
from termdepth.errors import UserError
from termdepth.harness.outcomes import is_outage
from termdepth.pipeline.measure import refuse_broken

MODEL = ModelEntry(id="far", litellm="openai/far", roles=["first"], api_base="http://10.0.0.1/v1")
OUT = "ServiceUnavailableError: overloaded"


def row(task: str, attempt: int, error: str | None = None, cap: int | None = None) -> dict[str, Any]:
    outcome = "infrastructure_error" if error else "passed"
    return {"task": task, "phase": "uncapped", "cap": cap, "attempt": attempt, "outcome": outcome, "error": error}


@pytest.mark.parametrize(
    ("outcome", "error", "outage"),
    [
        ("infrastructure_error", OUT, True),
        ("infrastructure_error", "RateLimitError: slow down", True),
        ("infrastructure_error", "APIConnectionError", True),
        ("infrastructure_error", "Timeout: after 600 s", False),
        ("infrastructure_error", "BadRequestError: no such parameter", False),
        ("infrastructure_error", "ContainerGone: the engine stopped", False),
        ("infrastructure_error", None, False),
        ("failed_checks", OUT, False),
    ],
)
def test_what_an_outage_is(outcome: str, error: str | None, outage: bool) -> None:
    assert is_outage(outcome, error) is outage


def test_an_outage_that_a_retry_mended_is_none() -> None:
    refuse_broken([row("a", 1, OUT), row("a", 2), row("b", 1)], MODEL)
    refuse_broken([], MODEL)


def test_a_slot_that_an_outage_left_empty_ends_the_job() -> None:
    with pytest.raises(UserError) as error:
        refuse_broken([row("a", 1), row("b", 1, OUT), row("b", 2, OUT), row("a", 1, OUT, cap=2)], MODEL)
    assert str(error.value) == (
        "models (far) = openai/far at http://10.0.0.1/v1: the provider did not answer for b, a, even when asked again; "
        f"the last time: {OUT} (finished runs of this job are kept (1); run the same command again to make the rest, "
        "or leave the task out with datasets[].tasks)"
    )


def test_a_broken_container_of_one_task_stops_nothing() -> None:
    refuse_broken([row("a", 1), row("b", 1, "ContainerGone: x")], MODEL)
    with pytest.raises(UserError, match="all 1 runs failed for reasons outside the tasks"):
        refuse_broken([row("b", 1, "ContainerGone: x")], MODEL)
