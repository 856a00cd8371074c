"""Tasks that are not measured, and why (App. C, rule 4)."""

from __future__ import annotations

import pandas as pd

from termdepth.data.reasons import NOT_ASKED_FOR, NOT_REACHED, SPARE
from termdepth.report.context import ReportContext
from termdepth.report.frames import Frames, true
from termdepth.report.table import Col, TableResult

NOTHING = "No candidate task has been validated yet."
NOT_SHOWN = {
    NOT_ASKED_FOR: "not asked for by name",
    SPARE: "spare, since the sample was complete",
    NOT_REACHED: "not reached, since the sample was complete",
}
"""Reasons that say nothing about the task: counted, not listed."""

COLUMNS = (
    Col("dataset", "Dataset", "text"),
    Col("task", "Task", "text"),
    Col("reason", "Why it is not measured", "text"),
    Col("log", "Log", "text"),
)


def admission(frames: Frames, context: ReportContext) -> TableResult | str:
    """Each task that was found and is not admitted, with the reason and the log that shows it."""
    tasks = frames["admission"]
    if tasks.empty:
        return NOTHING
    out = tasks[~true(tasks["admitted"])]
    shown = out[~out["reason"].isin(list(NOT_SHOWN))]
    notes = []
    for name in dict.fromkeys([*[d.name for d in context.datasets], *tasks["dataset"]]):
        mine = tasks[tasks["dataset"] == name]
        if mine.empty:
            continue
        counts = mine["reason"].value_counts()
        rest = [f"{counts[reason]:,} {words}" for reason, words in NOT_SHOWN.items() if reason in counts]
        admitted = int(true(mine["admitted"]).sum())
        notes.append(
            f"{context.dataset_label(name)}: {admitted:,} of {len(mine):,} tasks found are admitted"
            f"{'; not listed here: ' + ', '.join(rest) if rest else ''}."
        )
    rows = [
        {
            "dataset": context.dataset_label(row["dataset"]),
            "task": row["task"],
            "reason": row["reason"] if pd.notna(row["reason"]) else "not admitted",
            "log": row["log"],
        }
        for row in shown.to_dict("records")
    ]
    columns = [c for c in COLUMNS if c.name != "log" or any(r["log"] for r in rows)]
    return TableResult(columns, rows, notes=notes)
