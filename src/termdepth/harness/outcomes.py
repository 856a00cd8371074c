"""Every way a run can end, and what each means for the measurement (paper, App. I; architecture, section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a run ended. `PASSED` wins over every reason to stop: the state was verified, and it was right."""

    PASSED = "passed"
    FAILED_CHECKS = "failed_checks"
    TURN_CAP = "turn_cap"
    TURN_LIMIT = "turn_limit"
    TIME_LIMIT = "time_limit"
    SESSION_BROKEN = "session_broken"
    CONTEXT_OVERFLOW = "context_overflow"
    REFUSED = "refused"
    EMPTY_RESPONSE = "empty_response"
    VERIFIER_ERROR = "verifier_error"
    INFRASTRUCTURE_ERROR = "infrastructure_error"


@dataclass(frozen=True)
class OutcomeRule:
    """What an outcome means. valid: the run says something about the task, so it counts and enters denominators.
    retried: the run is made again, up to `protocol.invalid_retries` times, before it is left out."""

    valid: bool
    retried: bool
    meaning: str


OUTCOME_RULES: dict[Outcome, OutcomeRule] = {
    Outcome.PASSED: OutcomeRule(True, False, "the checks of every segment passed"),
    Outcome.FAILED_CHECKS: OutcomeRule(True, False, "a segment was marked complete and its checks failed"),
    Outcome.TURN_CAP: OutcomeRule(True, False, "the stated cap was reached and the state did not pass"),
    Outcome.TURN_LIMIT: OutcomeRule(True, False, "the turn limit without a cap was reached and the state did not pass"),
    Outcome.TIME_LIMIT: OutcomeRule(True, False, "the time limit over all segments was reached"),
    Outcome.SESSION_BROKEN: OutcomeRule(True, False, "the model's commands ended the terminal session"),
    Outcome.CONTEXT_OVERFLOW: OutcomeRule(True, False, "the conversation outgrew the context, also after compression"),
    Outcome.REFUSED: OutcomeRule(False, True, "the provider or the model's safety filter refused the request"),
    Outcome.EMPTY_RESPONSE: OutcomeRule(False, True, "the model kept returning empty replies"),
    Outcome.VERIFIER_ERROR: OutcomeRule(False, True, "the verifier hung, or wrote no reward that can be read"),
    Outcome.INFRASTRUCTURE_ERROR: OutcomeRule(False, True, "the container, the network or the provider failed"),
}

_OUTAGES = (
    "APIConnectionError", "APIError", "BadGatewayError", "CallerCredentialRateLimitError", "InternalServerError",
    "PaymentRequiredError", "RateLimitError", "ServiceUnavailableError",
)  # fmt: skip


def is_outage(outcome: str, error: str | None) -> bool:
    """Whether a run failed because the provider did not serve the model, which says nothing about the task and will pass.

    A reply that takes too long (Timeout) or a request that is refused as wrong (BadRequestError) may be the task's own.
    """
    return outcome == Outcome.INFRASTRUCTURE_ERROR and (error or "").partition(":")[0] in _OUTAGES


EARLY_SUBMIT = "early_submit"
EARLY_SUBMIT_TURNS = 3


def is_early_submit(outcome: Outcome, *, turns: int, looked: bool) -> bool:
    """The label of a failed run that submitted within three turns without looking at what its commands did (Figure 14).

    Args:
        turns: turns of the run, over all segments.
        looked: whether some turn, after the first with commands and before the submission, read their output.
    """
    return outcome is Outcome.FAILED_CHECKS and turns <= EARLY_SUBMIT_TURNS and not looked
