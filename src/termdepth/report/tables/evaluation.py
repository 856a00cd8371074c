"""Evaluated models (Table 2) and how runs end (the numbers of Figure 14)."""

from __future__ import annotations

import pandas as pd

from termdepth.report import paper
from termdepth.report.context import ReportContext
from termdepth.report.frames import Frames, true
from termdepth.report.table import Col, Row, TableResult, compared
from termdepth.report.tables.record import NO_RUNS, PHASE_LABELS, PHASES, model_order
from termdepth.stats import evaluation_summary, passed_by_none

NOTHING = "No evaluation runs: give a model the role `evaluated` and a dataset `evaluate: true`."

TABLE2 = (
    Col("dataset", "Dataset", "text"),
    Col("model", "Model", "text"),
    Col("effort", "Effort", "text"),
    Col("source", "", "text"),
    Col("pass_at_1", "pass@1", "percent"),
    Col("ci_low", "from", "percent"),
    Col("ci_high", "to", "percent"),
    Col("segments", "Segments", digits=2),
    Col("turns", "Turns"),
    Col("minutes", "Minutes", digits=1),
    Col("tokens_k", "Tokens (K)", digits=1),
    Col("passing_turns", "Passing: turns"),
    Col("passing_minutes", "Minutes", digits=1),
    Col("tasks", "Tasks"),
    Col("tasks_left_out", "left out"),
    Col("runs", "Runs"),
)


def table2(frames: Frames, context: ReportContext) -> TableResult | str:
    """Table 2: evaluated models, best first; a task without a valid run is left out of its model's denominator."""
    runs = frames["runs"]
    runs = runs[runs["phase"] == "evaluation"]
    if runs.empty:
        return NOTHING
    rows: list[Row] = []
    notes = []
    efforts = {m.id: m.effort for m in context.models}
    infos = {d.name: d for d in context.datasets}
    for dataset in [n for n in [*infos, *runs["dataset"].unique()] if (runs["dataset"] == n).any()]:
        if any(r["dataset"] == context.dataset_label(dataset) for r in rows):
            continue
        mine = runs[runs["dataset"] == dataset]
        summary = evaluation_summary(plain(mine), n_boot=context.n_boot, seed=context.seed)
        ours = dataset in infos and infos[dataset].paper_row == "Ours"
        for line in summary.sort_values("pass_at_1", ascending=False, na_position="last").to_dict("records"):
            label = context.model_label(line["model"])
            measured = {
                **{k: line[k] for k in ("pass_at_1", "ci_low", "ci_high", "segments", "turns", "minutes")},
                "tokens_k": line["context_tokens"] / 1000,
                **{k: line[k] for k in ("passing_turns", "passing_minutes")},
                "tasks": line["n_tasks"],
                "tasks_left_out": line["n_tasks_left_out"],
                "runs": line["n_runs"],
            }
            keys = {"dataset": context.dataset_label(dataset), "model": label, "effort": efforts.get(line["model"])}
            rows += compared(keys, measured, _paper(label, context) if ours else None)
        none = passed_by_none(plain(mine))
        if none.total:
            notes.append(
                f"{context.dataset_label(dataset)}: of {none.total} tasks with results from all models, "
                f"{none.count} are passed by none."
            )
    columns = [c for c in TABLE2 if any(r.get(c.name) not in (None, "", "measured") for r in rows)]
    return TableResult(columns, rows, notes=notes)


def _paper(label: str, context: ReportContext) -> Row | None:
    found = paper.row(context, "table2_models", model=label)
    if found is None:
        return None
    rate = found["pass_at_1_pct"]
    kept = {k: v for k, v in found.items() if k not in ("model", "weights", "pass_at_1_pct")}
    return {**kept, "pass_at_1": rate / 100 if isinstance(rate, float) else None}


def plain(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs with flags as plain booleans."""
    return runs.assign(valid=true(runs["valid"]), passed=true(runs["passed"]))


# How Figure 14 classes a run, in the order of its bars.
CLASSES = {
    "passed": "passed",
    "failed_checks": "checks fail",
    "early_submit": "submits early, unverified",
    "limits": "time or turn limit",
    "turn_cap": "stated cap reached",
    "session_broken": "terminal session broken",
    "context_overflow": "context overflow",
    "invalid": "no valid result",
}
_PAPER_CLASS = {
    "early_submit": "submits within three turns without verifying",
    "session_broken": "terminal session broken",
    "limits": "time or turn limit",
}


def run_class(runs: pd.DataFrame) -> pd.Series:
    """The class of each run: a key of CLASSES."""
    found = runs["outcome"].replace({"time_limit": "limits", "turn_limit": "limits"})
    found = found.where(~((runs["outcome"] == "failed_checks") & (runs["label"] == "early_submit")), "early_submit")
    return found.where(true(runs["valid"]), "invalid")


OUTCOMES = (
    Col("dataset", "Dataset", "text"),
    Col("phase", "Runs", "text"),
    Col("model", "Model", "text"),
    Col("class", "How runs end", "text"),
    Col("outcomes", "Outcomes", "text"),
    Col("count", "Count"),
    Col("total", "of"),
    Col("share", "Share", "percent"),
    Col("paper_share", "Paper", "percent"),
    Col("difference", "Difference", "percent", signed=True),
)


def outcomes(frames: Frames, context: ReportContext) -> TableResult | str:
    """How runs end: counts and shares of each class by dataset, purpose and model."""
    runs = frames["runs"]
    if runs.empty:
        return NO_RUNS
    runs = runs.assign(run_class=run_class(runs))
    paper_rows = {d.name: d.paper_row for d in context.datasets}
    rows: list[Row] = []
    for dataset in dict.fromkeys([*[d.name for d in context.datasets], *runs["dataset"].dropna()]):
        for phase in dict.fromkeys([*PHASES, *runs["phase"].dropna()]):
            mine = runs[(runs["dataset"] == dataset) & (runs["phase"] == phase)]
            for model in model_order(mine["model"], context):
                of_model = mine[mine["model"] == model]
                for key, label in CLASSES.items():
                    chosen = of_model[of_model["run_class"] == key]
                    if chosen.empty:
                        continue
                    share = len(chosen) / len(of_model)
                    theirs = None
                    if phase == "evaluation" and paper_rows.get(dataset) == "Ours" and key in _PAPER_CLASS:
                        found = paper.row(
                            context,
                            "figure14_failures",
                            model=context.model_label(model),
                            **{"class": _PAPER_CLASS[key]},
                        )
                        theirs = found["share"] if found else None
                    counts = chosen["outcome"].value_counts()
                    rows.append(
                        {
                            "dataset": context.dataset_label(dataset),
                            "phase": PHASE_LABELS.get(phase, phase),
                            "model": context.model_label(model),
                            "class": label,
                            "outcomes": ", ".join(f"{n} {o}" for o, n in counts.items()),
                            "count": len(chosen),
                            "total": len(of_model),
                            "share": share,
                            "paper_share": theirs,
                            "difference": share - theirs if isinstance(theirs, float) else None,
                        }
                    )
    columns = [c for c in OUTCOMES if any(r.get(c.name) is not None for r in rows)]
    return TableResult(columns, rows)
