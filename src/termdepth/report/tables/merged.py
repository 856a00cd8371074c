"""Segments merged into one instruction (App. H): Figure 5 in numbers, and every merged task."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from termdepth.report import paper
from termdepth.report.context import ReportContext
from termdepth.report.frames import Frames, true
from termdepth.report.table import Col, Row, TableResult, compared
from termdepth.stats import Share, cap_steps, share_of_counts

NO_MERGED = (
    "No task has been merged into one instruction; merging takes solved tasks of several segments, D within the caps."
)

_OUTCOMES: tuple[tuple[str, Callable[[np.ndarray], np.ndarray]], ...] = (
    ("passes at the original cap", lambda steps: steps == 0),
    ("not solved within the original cap", np.isnan),
    ("drops by one cap", lambda steps: steps == 1),
    ("drops by two caps", lambda steps: steps == 2),
    ("drops by more than two caps", lambda steps: steps > 2),
)
OUTCOMES = (
    Col("outcome", "In one instruction", "text"),
    Col("source", "", "text"),
    Col("tasks", "Tasks"),
    Col("share", "Share", "percent"),
    Col("ci_low", "from", "percent"),
    Col("ci_high", "to", "percent"),
)
TASKS = (
    Col("dataset", "Dataset", "text"),
    Col("task", "Task", "text"),
    Col("n_segments", "Segments"),
    Col("d_original", "D, first model", "depth"),
    Col("d_merged", "D in one instruction", "depth"),
    Col("plan_depth", "Known depth"),
    Col("checks_total", "Checks"),
    Col("dropped", "Dropped"),
    Col("runs", "Runs"),
    Col("reason", "Why not measured", "text"),
)


def outcomes(frames: Frames, context: ReportContext) -> TableResult | str:
    """Figure 5 in numbers: what becomes of D. Not solved within the original cap counts as no drop, as in the paper."""
    merged = frames["merged"]
    measured = merged[merged["solved"].notna()]
    if measured.empty:
        return NO_MERGED
    after = measured["d_merged"].where(true(measured["solved"]))
    steps = cap_steps(measured["d_original"], after, context.caps)
    ours = {d.name for d in context.datasets if d.paper_row == "Ours"}
    comparable = set(measured["dataset"]) <= ours
    rows: list[Row] = []
    total = len(measured)
    for outcome, is_it in _OUTCOMES:
        found = share_of_counts(int(is_it(steps).sum()), total)
        theirs = paper.row(context, "figure5_merge", outcome=outcome) if comparable else None
        rows += compared({"outcome": outcome}, _counts(found), {"tasks": theirs["tasks"]} if theirs else None)
    kept = share_of_counts(int((np.isnan(steps) | (steps <= 0)).sum()), total)
    rows += compared({"outcome": "D does not drop"}, _counts(kept), None)
    columns = [c for c in OUTCOMES if c.name != "source" or any(r["source"] != "measured" for r in rows)]
    left = len(merged) - total
    notes = [f"{left} of {len(merged)} sampled tasks were not measured: see the table of merged tasks."] if left else []
    return TableResult(columns, rows, context.above, notes)


def _counts(found: Share) -> Row:
    return {"tasks": found.count, "share": found.share, "ci_low": found.ci_low, "ci_high": found.ci_high}


def tasks(frames: Frames, context: ReportContext) -> TableResult | str:
    """One row a sampled task. D in one instruction is empty where it is not solved within the original cap."""
    merged = frames["merged"]
    if merged.empty:
        return NO_MERGED
    rows: list[Row] = []
    for task in merged.sort_values(["dataset", "task"]).to_dict("records"):
        dropped = task["checks_dropped"]
        row = {c.name: task.get(c.name) for c in TASKS} | {"dataset": context.dataset_label(task["dataset"])}
        row["dropped"] = len(dropped) if dropped is not None else None
        if task["reason"] is None and pd.isna(task["solved"]):
            row["reason"] = "no valid run"
        rows.append(row)
    return TableResult(TASKS, rows, context.above)
