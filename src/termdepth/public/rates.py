"""What trials say of each task. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from termdepth.public.trial import Trial

DESCRIPTION = ("author_rating", "category", "expert_minutes", "w_naive_lines")
"""Columns of PUBLIC_PASS_RATES that no trial tells."""


def rates_of(
    trials: Iterable[Trial], described: Mapping[str, Mapping[str, Any]], dataset: str, source: str
) -> list[dict[str, Any]]:
    """Rows of PUBLIC_PASS_RATES, one a task that has a trial, in the order of their names."""
    rows = []
    for task, runs in sorted(_by_task(trials).items()):
        turns = [run.turns for run in runs if run.turns is not None]
        rows.append(
            {
                "dataset": dataset,
                "task": task,
                "source": source,
                "runs": len(runs),
                "models": len({run.model for run in runs}),
                "rate": sum(run.passed for run in runs) / len(runs),
                "turns": sum(turns) / len(turns) if turns else None,
                **dict.fromkeys(DESCRIPTION),
                **described.get(task, {}),
            }
        )
    return rows


def counts_of(trials: Sequence[Trial]) -> dict[str, dict[str, Any]]:
    """By task, the columns of `termdepth.public.public_columns`: each task has those of every model."""
    models = dict.fromkeys(trial.model for trial in trials)
    found = {}
    for task, runs in _by_task(trials).items():
        found[task] = _counts("public", runs)
        for model in models:
            found[task] |= _counts(f"public.{model}", [run for run in runs if run.model == model])
    return found


def _by_task(trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.task, []).append(trial)
    return found


def _counts(prefix: str, runs: Sequence[Trial]) -> dict[str, Any]:
    return {
        f"{prefix}.passes": sum(run.passed for run in runs),
        f"{prefix}.runs": len(runs),
        f"{prefix}.fewest_turns": min(
            (run.turns for run in runs if run.passed and run.turns is not None), default=None
        ),
    }
