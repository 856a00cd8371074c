"""Trials that somebody else ran, whatever they were published as."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path

from termdepth.errors import UserError
from termdepth.public.files import RESULT_FILES, TB_RUN, ResultFiles, find_results
from termdepth.public.harbor import harbor_trials
from termdepth.public.tables import csv_trials
from termdepth.public.terminal_bench import terminal_bench_trials
from termdepth.public.trial import Trial


def read_trials(path: Path, note: Callable[[str], None] | None = None) -> list[Trial]:
    """The trials published in `path`, each once: a CSV file, or a folder (or one file) with results of Harbor's or
    terminal-bench's in it. Which of them it is, what is there says.

    Args:
        note: told in a line how many trials were read, and how many were left out.

    Raises:
        UserError: nothing can be read from there, or something in it is not as it should be.
    """
    if path.is_dir():
        files = find_results(path)
    elif path.name in RESULT_FILES:
        run = path.with_name(TB_RUN)
        files = ResultFiles(path.parent, [path, *([run] if run.is_file() else [])], 0)
    else:
        return list(csv_trials(path))
    told: dict[str, Trial | None] = {}
    for trial_id, trial in chain(harbor_trials(files), terminal_bench_trials(files)):
        told.setdefault(trial_id, trial)
    found = [trial for trial in told.values() if trial is not None]
    left_out = files.unfinished + len(told) - len(found)
    others = f"{left_out} left out, without a result or a model" if left_out else ""
    if not found:
        raise UserError(
            "no result of a trial" + (f" ({others})" if others else ""),
            where=path,
            hint="looked for result.json of Harbor and results.json of terminal-bench, here and in the folders below; "
            "a CSV file will do too",
        )
    if note:
        note(f"{path}: {len(found)} trials" + (f", {others}" if others else ""))
    return found
