"""One trial that somebody else ran."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trial:
    """One published trial.

    Attributes:
        task: the task's name in the dataset.
        model: the model's name without its provider.
        passed: the reward was at least 1. A trial without a verdict did not pass.
        turns: observed turns; None where they are not published.
    """

    task: str
    model: str
    passed: bool
    turns: float | None
