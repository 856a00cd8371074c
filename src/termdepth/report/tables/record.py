"""How the numbers were made: one row a task, and the runs with their outcomes, cost and time."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from termdepth.report.context import ReportContext
from termdepth.report.frames import Frames, true
from termdepth.report.table import Col, Row, TableResult, cap_text, interval_text
from termdepth.report.tables.audit import NOTHING, present

NO_RUNS = "No run has been made yet."
PHASES = ("uncapped", "probe", "second", "merged", "evaluation")
PHASE_LABELS = {
    "uncapped": "without a cap",
    "probe": "under a cap",
    "second": "second model, under a cap",
    "merged": "merged, under a cap",
    "evaluation": "evaluation",
}

DEPTH = (
    Col("dataset", "Dataset", "text"),
    Col("task", "Task", "text"),
    Col("depth", "Depth in", "text"),
    Col("d", "D", "depth"),
    Col("d_first", "D, first model", "depth"),
    Col("n", "N"),
    Col("r", "R", digits=2),
    Col("w_lines", "W (lines)"),
    Col("n_segments", "Segments"),
    Col("plan_depth", "Known depth"),
    Col("difficulty", "Label", "text"),
    Col("runs", "Runs"),
    Col("minutes", "Minutes", digits=1),
    Col("cost_usd", "USD", digits=4),
)


def depth(frames: Frames, context: ReportContext) -> TableResult | str:
    """One row a task: the interval that its depth lies in, D, N, R, W. Unsolved tasks have none of them but R and W."""
    tasks = frames["depth"]
    if tasks.empty:
        return NOTHING
    rows: list[Row] = []
    for info in present(tasks, context):
        for task in tasks[tasks["dataset"] == info.name].sort_values("task").to_dict("records"):
            row = {c.name: _plain(task[c.name]) for c in DEPTH if c.name in task}
            rows.append(
                {
                    **row,
                    "dataset": info.label,
                    "depth": interval_text(task["d_lower"], task["d_rank"], context.above)
                    or ("not measured" if pd.isna(task["solved"]) else "not solved"),
                    "d": cap_text(task["d_rank"], context.above) or None,
                    "d_first": cap_text(task["d_first_rank"], context.above) or None,
                }
            )
    return TableResult(_without_empty(DEPTH, rows), rows, context.above)


RUNS_USED = (
    Col("phase", "Runs", "text"),
    Col("model", "Model", "text"),
    Col("tasks", "Tasks"),
    Col("runs", "Runs"),
    Col("passed", "Passed"),
    Col("invalid", "Invalid"),
    Col("invalid_by_outcome", "of these", "text"),
    Col("turns", "Turns"),
    Col("minutes", "Minutes", digits=1),
    Col("input_tokens", "Tokens in"),
    Col("cached_tokens", "cached"),
    Col("output_tokens", "Tokens out"),
    Col("cost_usd", "USD", digits=2),
    Col("cost_unknown", "Price unknown"),
)


def runs_used(frames: Frames, context: ReportContext) -> TableResult | str:
    """What was run: runs, invalid ones by outcome, turns, minutes, tokens and cost, by phase and model, and in all."""
    runs = frames["runs"]
    if runs.empty:
        return NO_RUNS
    phases = [p for p in PHASES if (runs["phase"] == p).any()]
    phases += [p for p in runs["phase"].drop_duplicates() if p not in PHASES]
    rows = []
    for phase in phases:
        of_phase = runs[runs["phase"] == phase]
        for model in model_order(of_phase["model"], context):
            rows.append(
                {
                    "phase": PHASE_LABELS.get(phase, phase),
                    "model": context.model_label(model),
                    **_used(of_phase[of_phase["model"] == model]),
                }
            )
    if len(rows) > 1:
        rows.append({"phase": "all", "model": "", **_used(runs)})
    return TableResult(_without_empty(RUNS_USED, rows), rows, context.above)


def model_order(ids: pd.Series, context: ReportContext) -> list[str]:
    """Models of a column in the context's order, then those it does not know."""
    here = list(ids.dropna().drop_duplicates())
    known = [m.id for m in context.models if m.id in here]
    return [*known, *(i for i in here if i not in known)]


def _used(runs: pd.DataFrame) -> Row:
    invalid = runs[~true(runs["valid"])]
    by_outcome = invalid["outcome"].value_counts()
    sums = ("input_tokens", "cached_tokens", "output_tokens", "cost_usd")
    return {
        "tasks": len(runs[["dataset", "task"]].drop_duplicates()),
        "runs": len(runs),
        "passed": int(true(runs["passed"]).sum()),
        "invalid": len(invalid),
        "invalid_by_outcome": ", ".join(f"{n} {str(o).replace('_', ' ')}" for o, n in by_outcome.items()),
        "turns": int(runs["turns"].sum()),
        "minutes": float(runs["minutes"].sum()),
        # Nothing reported is not zero.
        **{c: _plain(runs[c].sum(min_count=1)) for c in sums},
        "cost_unknown": int(runs["cost_usd"].isna().sum()) or None,
    }


def _plain(value: object) -> object:
    """A number without a fraction as int, nan and NA as None."""
    if value is None or value is pd.NA:
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (float, np.floating)):
        return None if np.isnan(value) else int(value) if float(value).is_integer() else float(value)
    return value


def _without_empty(columns: Iterable[Col], rows: list[Row]) -> list[Col]:
    """Columns in which some row has a value."""
    return [c for c in columns if any(r.get(c.name) not in (None, "") for r in rows)]
