"""Published results as input: trials from a CSV, from folders of Harbor jobs or from terminal-bench runs; rates from trials."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from termdepth.public.rates import counts_of, rates_of
from termdepth.public.reading import read_trials
from termdepth.public.tables import described_tasks
from termdepth.public.trial import Trial

__all__ = ["Trial", "pass_rates", "public_columns", "read_trials"]


def pass_rates(
    trials: Path, tasks: Path | None, dataset: str, source: str, note: Callable[[str], None] | None = None
) -> list[dict[str, Any]]:
    """Rows of PUBLIC_PASS_RATES, one a task, in the order of their names.

    Args:
        trials: what `read_trials` reads.
        tasks: CSV, one row a task: task, and any of author_difficulty, category, expert_minutes, solution_lines. Tasks
            without a trial are left out. None: nothing is known of the tasks.
        dataset, source: what the rows say of where they come from.
        note: told in a line how many trials were read.

    Raises:
        UserError: a file that cannot be read, a column that is missing, a value that is none of those it can have, a task
            described twice; names the file, and the line and column or key.
    """
    return rates_of(read_trials(trials, note), described_tasks(tasks) if tasks else {}, dataset, source)


def public_columns(trials: Path) -> dict[str, dict[str, Any]]:
    """What published trials say of each task, as columns to sample by (App. C, rules 1 and 2).

    `public.passes`, `public.runs` and `public.fewest_turns` (of a passing run, None where none passed or turns are not
    published) over all models, and the same of each model as `public.MODEL.passes`, ….

    Raises:
        UserError: as `pass_rates` does.
    """
    return counts_of(read_trials(trials))
