"""What the measurement of D does: D by cap, the second model (App. E.1), runs under a cap against runs without (App. D)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from termdepth.report import paper
from termdepth.report.context import ReportContext
from termdepth.report.frames import Frames, solved, true, unmeasured
from termdepth.report.table import Col, Row, TableResult, compared
from termdepth.report.tables.audit import NOTHING, median, present
from termdepth.stats import cap_steps, share_between, spearman


def depth_counts(frames: Frames, context: ReportContext) -> TableResult | str:
    """How many solved tasks of each dataset have which D."""
    depth = frames["depth"]
    if depth.empty:
        return NOTHING
    ladder = [(f"d_{cap}", str(cap), float(cap)) for cap in context.caps]
    ladder.append(("d_above", context.above, np.inf))
    columns = (
        Col("dataset", "Dataset", "text"),
        Col("source", "", "text"),
        *(Col(name, f"D = {title}" if np.isfinite(d) else f"D {title}") for name, title, d in ladder),
        Col("unsolved", "Not solved"),
        Col("unmeasured", "Not measured"),
    )
    rows = []
    for info in present(depth, context):
        mine = depth[depth["dataset"] == info.name]
        passed = solved(mine)
        measured: Row = {name: int((passed["d_rank"] == d).sum()) for name, _, d in ladder}
        measured["unmeasured"] = len(unmeasured(mine)) or None
        measured["unsolved"] = len(mine) - len(passed) - len(unmeasured(mine))
        theirs = None
        if info.paper_row == "Ours":
            theirs = {name: paper.count(context, f"ours with D={title}") for name, title, _ in ladder}
            theirs["d_above"] = paper.count(context, "ours passed only without a cap")
        rows += compared({"dataset": info.label}, measured, theirs)
    if not any(r["source"] != "measured" for r in rows):
        columns = tuple(c for c in columns if c.name != "source")
    if not any(r.get("unmeasured") for r in rows):
        columns = tuple(c for c in columns if c.name != "unmeasured")
    return TableResult(columns, rows, context.above)


SECOND = (
    Col("dataset", "Dataset", "text"),
    Col("source", "", "text"),
    Col("solved", "Solved"),
    Col("ran", "Second model run on"),
    Col("lowered", "D lowered"),
    Col("by_one", "by one cap"),
    Col("below_5", "from D ≥ 5 to below"),
    Col("le_3_first", "D ≤ 3, first", "percent"),
    Col("le_3_both", "D ≤ 3, both", "percent"),
    Col("ge_5_first", "D ≥ 5, first", "percent"),
    Col("ge_5_both", "D ≥ 5, both", "percent"),
    Col("rho", "ρ of both D", digits=2),
)


def second_model(frames: Frames, context: ReportContext) -> TableResult | str:
    """Appendix E.1: what the second model changes, over solved tasks; ρ is the rank correlation of D with the estimate of
    the first model alone."""
    if not context.second_model:
        return "There is no second model: D comes from one model alone."
    depth = solved(frames["depth"])
    if depth.empty:
        return "No solved task has been measured yet."
    infos = present(depth, context)
    existing = [d.name for d in infos if d.kind in ("synthetic", "human")]
    rows = []
    for info in infos:
        mine = depth[depth["dataset"] == info.name]
        theirs = _paper("Ours", context) if info.paper_row == "Ours" else None
        rows += compared({"dataset": info.label}, _change(mine, context), theirs)
    if len(existing) > 1:
        audited = {r["dataset"] for r in paper.rows(context, "table1_audit")} - {"Ours"}
        same = audited == {d.paper_row for d in infos if d.name in existing}
        everything = depth[depth["dataset"].isin(existing)]
        theirs = _paper("existing", context) if same else None
        rows += compared({"dataset": "all existing"}, _change(everything, context), theirs)
    columns = [c for c in SECOND if c.name != "source" or any(r["source"] != "measured" for r in rows)]
    return TableResult(columns, rows, context.above)


def _change(tasks: pd.DataFrame, context: ReportContext) -> Row:
    first, both = tasks["d_first_rank"], tasks["d_rank"]
    ran = true(tasks["second_ran"])
    steps = cap_steps(first, both, context.caps)
    rho = spearman(both, first, n_boot=0).rho
    return {
        "solved": len(tasks),
        "ran": int(ran.sum()),
        "lowered": int((steps > 0).sum()),
        "by_one": int((steps == 1).sum()),
        "below_5": int(((first >= 5) & (both < 5)).sum()),
        "le_3_first": share_between(first, high=3).share,
        "le_3_both": share_between(both, high=3).share,
        "ge_5_first": share_between(first, low=5).share,
        "ge_5_both": share_between(both, low=5).share,
        "rho": None if math.isnan(rho) else rho,
    }


def _paper(sample: str, context: ReportContext) -> Row:
    def value(analysis: str) -> paper.Value:
        found = paper.row(context, "robustness", analysis=analysis, sample=sample)
        return found["value"] if found else None

    lowered = {
        "existing": "existing tasks whose D the second model lowers",
        "Ours": "tasks of ours whose D the second model lowers",
    }
    return {
        "solved": paper.count(context, "solved existing tasks" if sample == "existing" else "ours solved"),
        "ran": value("existing tasks the second model was run on"),
        "lowered": value(lowered[sample]),
        "by_one": value("of these by one cap"),
        "below_5": value("tasks with first-model D>=5 brought below 5"),
        "rho": value("Spearman of D with the first model's estimate"),
    }


CAP_EFFECT = (
    Col("dataset", "Dataset", "text"),
    Col("tasks", "Tasks"),
    Col("command_lines", "Command lines at cap D, times without", digits=2),
    Col("tasks_d1", "Tasks with D = 1"),
    Col("output_tokens", "Output tokens at cap 1, times without", digits=2),
)


def cap_effect(frames: Frames, context: ReportContext) -> TableResult | str:
    """Appendix D, "Shallow tasks test reasoning": the first model's passing run at the smallest cap it passes against its
    passing run without a cap (the one that gives N): median over tasks of the ratio of command lines, and, where that cap
    is 1, of output tokens. Tasks whose cap was never run (N within it) are left out."""
    runs, depth = frames["runs"], solved(frames["depth"])
    passing = runs[true(runs["valid"]) & true(runs["passed"])].sort_values(["turns", "attempt"], kind="stable")
    keys = ["dataset", "task"]
    columns = [*keys, "command_lines", "output_tokens"]
    free = passing.loc[passing["phase"] == "uncapped", columns].drop_duplicates(keys)
    capped = passing.loc[passing["phase"] == "probe", [*columns, "cap"]].sort_values("cap", kind="stable")
    pairs = capped.drop_duplicates(keys).merge(free, on=keys, suffixes=("", "_free"))
    if pairs.empty:
        return "No task passed under a cap that was run, so there is nothing to set beside the runs without one."
    for column in ("command_lines", "output_tokens"):
        pairs[f"{column}_ratio"] = pairs[column] / pairs[f"{column}_free"].where(pairs[f"{column}_free"] > 0)
    rows: list[Row] = []
    infos = [d for d in present(depth, context) if (pairs["dataset"] == d.name).any()]
    groups = [(d.label, pairs[pairs["dataset"] == d.name]) for d in infos]
    existing = [d.name for d in infos if d.kind in ("synthetic", "human")]
    if len(existing) > 1:
        groups.append(("all existing", pairs[pairs["dataset"].isin(existing)]))
    for label, mine in groups:
        one = mine[mine["cap"] == 1]
        rows.append(
            {
                "dataset": label,
                "tasks": len(mine),
                "command_lines": median(mine["command_lines_ratio"]),
                "tasks_d1": len(one),
                "output_tokens": median(one["output_tokens_ratio"]),
            }
        )
    lines = paper.count(context, "command lines at cap D relative to an uncapped passing run")
    tokens = paper.count(context, "output tokens at T=1 relative to uncapped on tasks with D=1")
    notes = [f"The paper states {lines:g} and {tokens:g} times over its existing datasets."] if lines and tokens else []
    return TableResult(CAP_EFFECT, rows, notes=notes)
