"""Harness settings (Table 3), sampling groups (Table 4) and what reweighting to the original dataset changes (Table 5)."""

from __future__ import annotations

import pandas as pd

from termdepth.report import paper
from termdepth.report.context import ReportContext
from termdepth.report.frames import Frames, solved, true
from termdepth.report.levels import level_order
from termdepth.report.table import Col, Row, TableResult, compared
from termdepth.report.tables.audit import NOTHING, mean, present
from termdepth.stats import reweighted_share

NO_TASKS = "No task folder has been read yet."
NO_CANDIDATES = "No candidate task has been validated yet."

TABLE3 = (
    Col("dataset", "Dataset", "text"),
    Col("source", "", "text"),
    Col("harness", "Harness", "text"),
    Col("time_limit", "Time limit", "text"),
    Col("output_limit", "Output", "text"),
    Col("wait_per_command", "Wait per command", "text"),
    Col("turn_limit", "Turns", "text"),
)


def _minutes(minutes: float | None) -> str | None:
    if minutes is None:
        return None
    return f"{minutes / 60:.3g} h" if minutes >= 120 else f"{minutes:.3g} min"


def table3(frames: Frames, context: ReportContext) -> TableResult | str:
    """Table 3: settings of the harness here, and in the papers of the audited datasets."""
    tasks = frames["tasks"]
    if tasks.empty:
        return NO_TASKS
    rows: list[Row] = []
    for info in present(tasks, context):
        released = mean(tasks.loc[tasks["dataset"] == info.name, "timeout_sec"])
        rows.append(
            {
                "dataset": info.label,
                "source": "here",
                "harness": "terminus-2",
                "time_limit": _minutes(info.time_limit_minutes),
                "output_limit": f"{context.output_bytes:,} bytes" if context.output_bytes else None,
                "wait_per_command": f"up to {context.max_wait_sec:g} s, not blocking" if context.max_wait_sec else None,
                "turn_limit": str(context.turn_limit) if context.turn_limit else None,
            }
        )
        if released is not None:
            rows.append(
                {"dataset": info.label, "source": "its task files, mean", "time_limit": _minutes(released / 60)}
            )
        theirs = paper.row(context, "table3_harness", dataset=info.paper_row)
        if theirs:
            limit = theirs["turn_limit"]
            turns = f"{limit:g}" if isinstance(limit, float) else limit
            rows.append({**theirs, "dataset": info.label, "source": "paper", "turn_limit": turns})
    return TableResult(TABLE3, rows)


TABLE4 = (
    Col("dataset", "Dataset", "text"),
    Col("group", "Group", "text"),
    Col("found", "Tasks"),
    Col("listed", "Candidates"),
    Col("sampled", "Sampled"),
    Col("paper_sampled", "Paper"),
    Col("difference", "Difference", signed=True),
    Col("groups", "Groups", "text"),
    Col("evidence", "Evidence of a pass", "text"),
    Col("paper_groups", "Groups in the paper", "text"),
    Col("paper_evidence", "Evidence of a pass, in the paper", "text"),
)


def table4(frames: Frames, context: ReportContext) -> TableResult | str:
    """Table 4: the groups that each dataset is sampled by, as configured, with the tasks of each: those found, the candidates
    (with evidence of a pass and, by their text, light dependencies), and those sampled."""
    admission, tasks = frames["admission"], frames["tasks"]
    if admission.empty:
        return NO_CANDIDATES
    rows: list[Row] = []
    for info in present(admission, context):
        mine = admission[admission["dataset"] == info.name]
        found = tasks[tasks["dataset"] == info.name]
        theirs = paper.row(context, "table4_sampling", dataset=info.paper_row) or {}
        sampled = theirs.get("sampled")
        total = _group("all", found, mine) | {
            "dataset": info.label,
            "paper_sampled": sampled,
            "difference": int(true(mine["admitted"]).sum()) - sampled if isinstance(sampled, float) else None,
            "groups": info.groups,
            "evidence": info.evidence,
            "paper_groups": theirs.get("groups"),
            "paper_evidence": theirs.get("evidence_of_a_pass"),
        }
        rows.append(total)
        groups = level_order(found["group"])
        for group in groups if len(groups) > 1 else ():
            part = _group(group, found[found["group"] == group], mine[mine["group"] == group])
            rows.append(part | {"dataset": info.label})
    columns = [c for c in TABLE4 if any(r.get(c.name) is not None for r in rows)]
    return TableResult(columns, rows)


def _group(name: str, tasks: pd.DataFrame, admission: pd.DataFrame) -> Row:
    return {
        "group": name,
        "found": len(tasks),
        "listed": int(tasks["order"].notna().sum()),
        "sampled": int(true(admission["admitted"]).sum()),
    }


TABLE5 = (
    Col("dataset", "Dataset", "text"),
    Col("source", "", "text"),
    Col("labels", "Labels: sampled of all tasks", "text"),
    Col("share_d_ge_5_sample", "D ≥ 5, sample", "percent", 1),
    Col("share_d_ge_5_reweighted", "D ≥ 5, reweighted", "percent", 1),
    Col("label_coverage", "Covered", "percent"),
    Col("solved", "Solved"),
)


def table5(frames: Frames, context: ReportContext) -> TableResult | str:
    """Table 5: share of solved tasks with D >= 5 in the sample, and with the labels at their proportions among all tasks
    of the dataset; the covered part are the tasks whose label occurs among the solved ones."""
    depth, tasks = frames["depth"], frames["tasks"]
    if depth.empty:
        return NOTHING
    rows = []
    for info in present(depth, context):
        mine = depth[depth["dataset"] == info.name]
        passed = solved(mine)
        deep = passed["d_rank"] >= 5
        everything = tasks.loc[tasks["dataset"] == info.name, "difficulty"].dropna().value_counts()
        measured: Row = {"solved": len(passed), "share_d_ge_5_sample": float(deep.mean()) if len(passed) else None}
        measured["labels"] = "none"
        if len(everything):
            sampled = mine["difficulty"].value_counts()
            measured["labels"] = ", ".join(
                f"{k} {sampled.get(k, 0)} of {everything[k]}" for k in level_order(everything.index)
            )
        if len(everything) > 1 and len(passed):
            found = reweighted_share(deep, passed["difficulty"], everything.to_dict())
            measured |= {"share_d_ge_5_reweighted": found.share, "label_coverage": found.coverage}
        theirs = paper.row(context, "table5_reweighting", dataset=info.paper_row)
        if theirs:
            theirs = {k: v for k, v in theirs.items() if k != "dataset"}
        rows += compared({"dataset": info.label}, measured, theirs)
    columns = [c for c in TABLE5 if any(r.get(c.name) not in (None, "measured") for r in rows)]
    return TableResult(columns, rows)
