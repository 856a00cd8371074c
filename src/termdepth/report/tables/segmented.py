"""Segmented tasks: replays with a part removed (Table 8) and statistics of the tasks (Table 9)."""

from __future__ import annotations

import pandas as pd

from termdepth.report import paper
from termdepth.report.context import ReportContext
from termdepth.report.frames import Frames, true
from termdepth.report.table import Col, Row, TableResult, compared
from termdepth.stats import quantiles, share_of_counts

NO_REPLAYS = "No replays with a part removed have been made."
NO_TASKS = "There is no segmented task."

# Change, its description, the checks that should fail, and the paper's words for it.
CHANGES = (
    (
        "checks_before_work",
        "checks of segment s run before its work",
        "V_s",
        "checks of segment s run before its work on the state before it",
    ),
    ("previous_skipped", "previous segment skipped", "V_s", "previous segment skipped"),
    ("event_removed", "one event of segment s removed", "V_s", "one event of segment s removed"),
    ("key_step_removed", "key step of segment s removed", "V_s", "key step of segment s removed"),
    (
        "key_step_removed_then_next",
        "key step of segment s removed, then segment s+1 run",
        "V_s+1",
        "key step of segment s removed then the next segment run",
    ),
)

TABLE8 = (
    Col("change", "Change", "text"),
    Col("checks", "Checks expected to fail", "text"),
    Col("source", "", "text"),
    Col("holds", "Holds"),
    Col("total", "of"),
    Col("share", "Share", "percent", 1),
    Col("ci_low", "from", "percent", 1),
    Col("ci_high", "to", "percent", 1),
    Col("left_out", "Left out"),
)


def _paper_is_comparable(datasets: pd.Series, context: ReportContext) -> bool:
    """The paper's numbers are about its own tasks only."""
    names = set(datasets.dropna())
    return (
        bool(names)
        and all(d.paper_row == "Ours" for d in context.datasets if d.name in names)
        and names <= {d.name for d in context.datasets}
    )


def table8(frames: Frames, context: ReportContext) -> TableResult | str:
    """Table 8: how often checks report a failure when a part of the reference solution is removed. A check script that
    crashes does not count as reporting; a replay without a result is left out."""
    replays = frames["replays"]
    if replays.empty:
        return NO_REPLAYS
    comparable = _paper_is_comparable(replays["dataset"], context)
    rows: list[Row] = []
    for change, label, checks, theirs in CHANGES:
        mine = replays[replays["change"] == change]
        known = mine[mine["holds"].notna()]
        found = share_of_counts(int((true(known["holds"]) & ~true(known["crashed"])).sum()), len(known))
        measured = {
            "holds": found.count,
            "total": found.total,
            "share": found.share,
            "ci_low": found.ci_low,
            "ci_high": found.ci_high,
            "left_out": len(mine) - len(known),
        }
        row = paper.row(context, "table8_replays", change=theirs) if comparable else None
        rows += compared(
            {"change": label, "checks": checks},
            measured,
            {k: row[k] for k in ("holds", "total", "share")} if row else None,
        )
    columns = [c for c in TABLE8 if any(r.get(c.name) not in (None, "measured") for r in rows)]
    return TableResult(columns, rows)


STATISTICS = {
    "segment_lines": "lines of the reference solution",
    "segment_words": "words of the instruction",
    "segment_names": "names stated in the instruction",
}
TABLE9 = (
    Col("dataset", "Dataset", "text"),
    Col("statistic", "Statistic", "text"),
    Col("source", "", "text"),
    *(
        Col(f"per_segment_{q}", f"Per segment: {t}")
        for q, t in (("median", "median"), ("p10", "10th"), ("p90", "90th"))
    ),
    *(Col(f"per_task_{q}", f"Per task: {t}") for q, t in (("median", "median"), ("p10", "10th"), ("p90", "90th"))),
    Col("tasks", "Tasks"),
)


def table9(frames: Frames, context: ReportContext) -> TableResult | str:
    """Table 9: lines, words and stated names per segment and per task, over the admitted tasks of segmented datasets:
    median with the 10th and 90th percentiles."""
    admitted = frames["admission"][true(frames["admission"]["admitted"])]
    tasks = frames["tasks"].merge(admitted[["dataset", "task"]], on=["dataset", "task"])
    several = tasks[tasks["n_segments"] > 1]
    if several.empty:
        return NO_TASKS
    rows: list[Row] = []
    notes = []
    for name in dict.fromkeys([*[d.name for d in context.datasets], *several["dataset"]]):
        mine = tasks[(tasks["dataset"] == name) & (tasks["n_segments"] > 1)]
        if mine.empty:
            continue
        info = next((d for d in context.datasets if d.name == name), None)
        for column, label in STATISTICS.items():
            counts = mine[column].dropna()
            per_task = counts.map(sum).astype(float)
            measured = {
                **_quantiles(counts.explode().astype(float), "per_segment"),
                **_quantiles(per_task, "per_task"),
                "tasks": len(per_task),
            }
            theirs = (
                paper.row(context, "table9_dataset", statistic=label) if info and info.paper_row == "Ours" else None
            )
            if theirs:
                theirs = {k: v for k, v in theirs.items() if k != "statistic"}
            rows += compared({"dataset": context.dataset_label(name), "statistic": label}, measured, theirs)
        of_segments = mine["n_segments"].value_counts().sort_index(ascending=False)
        notes.append(
            f"{context.dataset_label(name)}: "
            + ", ".join(f"{n} task{'s' if n > 1 else ''} of {int(k)} segments" for k, n in of_segments.items())
            + "."
        )
    columns = [c for c in TABLE9 if any(r.get(c.name) not in (None, "measured") for r in rows)]
    return TableResult(columns, rows, notes=notes)


def _quantiles(values: pd.Series, prefix: str) -> Row:
    found = quantiles(values, (0.5, 0.1, 0.9))
    return {f"{prefix}_{q}": None if v != v else float(v) for q, v in zip(("median", "p10", "p90"), found, strict=True)}
