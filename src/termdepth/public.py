"""Published results as input: pass rates by task from a CSV of trials. Pure but for reading the two files."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from termdepth.errors import UserError


def pass_rates(trials_csv: Path, tasks_csv: Path | None, dataset: str, source: str) -> list[dict[str, Any]]:
    """Rows of PUBLIC_PASS_RATES, one a task, in the order of their names.

    Args:
        trials_csv: one row a trial: task, model, reward (at least 1 is a pass; empty is a run without a verdict, which
            counts as not passed), turns (optional, observed turns). Other columns are not read.
        tasks_csv: one row a task: task, and any of author_difficulty, category, expert_minutes, solution_lines. Tasks
            without a trial are left out. None: nothing is known of the tasks.
        dataset, source: what the rows say of where they come from.

    Raises:
        UserError: a file that cannot be read, a column that is missing, a value that is no number, a task named twice;
            names file, line and column.
    """
    described = {} if tasks_csv is None else _described(tasks_csv)
    trials: dict[str, list[tuple[str, bool, float | None]]] = {}
    for line, row in _rows(trials_csv, ("task", "model", "reward")):
        reward = _number(row["reward"], trials_csv, line, "reward")
        turns = _number(row.get("turns", ""), trials_csv, line, "turns", least=0)
        task = _text(row, "task", trials_csv, line)
        trials.setdefault(task, []).append((row["model"], reward is not None and reward >= 1, turns))
    rows = []
    for task, runs in sorted(trials.items()):
        turns_seen = [turns for _, _, turns in runs if turns is not None]
        rows.append(
            {
                "dataset": dataset,
                "task": task,
                "source": source,
                "runs": len(runs),
                "models": len({model for model, _, _ in runs}),
                "rate": sum(passed for _, passed, _ in runs) / len(runs),
                "turns": sum(turns_seen) / len(turns_seen) if turns_seen else None,
                **described.get(task, _NOTHING),
            }
        )
    return rows


def public_columns(trials_csv: Path) -> dict[str, dict[str, Any]]:
    """What published trials say of each task, as columns to sample by (App. C, rules 1 and 2).

    `public.passes`, `public.runs` and `public.fewest_turns` (of a passing run, None where none passed or turns are not
    published) over all models, and the same of each model as `public.MODEL.passes`, ….

    Raises:
        UserError: as `pass_rates` does.
    """
    trials: dict[str, dict[str, list[tuple[bool, float | None]]]] = {}
    models: dict[str, None] = {}
    for line, row in _rows(trials_csv, ("task", "model", "reward")):
        reward = _number(row["reward"], trials_csv, line, "reward")
        turns = _number(row.get("turns", ""), trials_csv, line, "turns", least=0)
        models[row["model"]] = None
        run = (reward is not None and reward >= 1, turns)
        trials.setdefault(_text(row, "task", trials_csv, line), {}).setdefault(row["model"], []).append(run)
    found = {}
    for task, by_model in trials.items():
        columns = _counts("public", [run for runs in by_model.values() for run in runs])
        for model in models:
            columns |= _counts(f"public.{model}", by_model.get(model, []))
        found[task] = columns
    return found


def _counts(prefix: str, runs: Sequence[tuple[bool, float | None]]) -> dict[str, Any]:
    turns = [turns for passed, turns in runs if passed and turns is not None]
    return {
        f"{prefix}.passes": sum(passed for passed, _ in runs),
        f"{prefix}.runs": len(runs),
        f"{prefix}.fewest_turns": min(turns, default=None),
    }


_NOTHING: dict[str, Any] = dict.fromkeys(("author_rating", "category", "expert_minutes", "w_naive_lines"))


def _described(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for line, row in _rows(path, ("task",)):
        task = _text(row, "task", path, line)
        if task in found:
            raise UserError(f"task {task!r} is there twice", where=f"{path}:{line}", hint="one row a task")
        lines = _number(row.get("solution_lines", ""), path, line, "solution_lines", least=0)
        if lines is not None and not lines.is_integer():
            raise UserError(f"column solution_lines: {lines:g} is not a whole number", where=f"{path}:{line}")
        found[task] = {
            "author_rating": row.get("author_difficulty") or None,
            "category": row.get("category") or None,
            "expert_minutes": _number(row.get("expert_minutes", ""), path, line, "expert_minutes", least=0),
            "w_naive_lines": None if lines is None else int(lines),
        }
    return found


def _rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line numbers and rows of a CSV file, spaces at the ends of values removed."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            names = [name.strip() for name in reader.fieldnames or []]
            reader.fieldnames = names
            absent = [name for name in needed if name not in names]
            if absent:
                raise UserError(
                    f"no column {', '.join(absent)}",
                    where=f"{path}:1",
                    hint=f"the header has {', '.join(names) or 'nothing'}; columns are separated by commas",
                )
            for row in reader:
                # DictReader puts values without a column under None, and None for columns without a value.
                if None in row or None in row.values():
                    raise UserError(f"not {len(names)} values as in the header", where=f"{path}:{reader.line_num}")
                yield reader.line_num, {name: value.strip() for name, value in row.items()}
    except OSError as error:
        raise UserError(f"cannot read the file: {error.strerror}", where=path) from error
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8 text: {error.reason} at byte {error.start}", where=path) from error
    except csv.Error as error:
        # The reader has not counted the line that it failed on.
        raise UserError(f"not CSV: {error}", where=f"{path}:{reader.line_num + 1}") from error


def _text(row: dict[str, str], column: str, path: Path, line: int) -> str:
    if not row[column]:
        raise UserError(f"column {column} is empty", where=f"{path}:{line}")
    return row[column]


def _number(text: str, path: Path, line: int, column: str, least: float = -math.inf) -> float | None:
    """A finite number, None for an empty cell."""
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < least:
        hint = f"a number{f' of at least {least:g}' if math.isfinite(least) else ''}, or nothing where it is not known"
        raise UserError(
            f"column {column}: {text!r} is not a number that it can have", where=f"{path}:{line}", hint=hint
        )
    return value
