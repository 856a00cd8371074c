"""The numbers behind Figures 4, 8, 11 and 12, and what a sample of this size can show."""

from __future__ import annotations

import math
from typing import Any

from termdepth.report import paper
from termdepth.report.context import ReportContext
from termdepth.report.difficulty import Test, failed_run_tests, main_tests, model_set_tests, paper_value, samples
from termdepth.report.frames import Frames
from termdepth.report.levels import level_order
from termdepth.report.table import Col, Row, TableResult
from termdepth.stats import Correlation, expected_interval, percentile_by_quadrant, rank_partial_correlation, spearman

NOTHING = (
    "No dataset has both a measured D and pass rates of other models: "
    "give published ones (config: public_results) or evaluate models on it."
)
NO_PUBLIC = "No published pass rates are given (config: public_results)."

_RESULT = (
    Col("n", "Tasks"),
    Col("rho", "ρ", digits=2),
    Col("ci_low", "from", digits=2),
    Col("ci_high", "to", digits=2),
    Col("p_value", "p", "p_value", 4),
)
CORRELATIONS = (
    Col("sample", "Sample", "text"),
    Col("y", "Of", "text"),
    Col("x", "with", "text"),
    Col("given", "given", "text"),
    Col("d_from", "D from", "text"),
    Col("tasks", "Tasks used", "text"),
    Col("ranks", "Ranks", "text"),
    *_RESULT,
    Col("paper_rho", "Paper ρ", digits=2),
    Col("paper_ci_low", "from", digits=2),
    Col("paper_ci_high", "to", digits=2),
    Col("paper_n", "Tasks"),
    Col("difference", "Difference", digits=2, signed=True),
    Col("note", "Note", "text"),
)


def _result(result: Correlation) -> Row:
    return {
        "n": result.n,
        "rho": result.rho,
        "ci_low": result.ci_low,
        "ci_high": result.ci_high,
        "p_value": result.p_value,
        "note": result.note,
    }


def _row(test: Test, context: ReportContext) -> Row:
    theirs = paper_value(test, context) or {}
    rho = theirs.get("rho")
    return {
        "sample": test.sample,
        "y": test.y + (" (second model left out)" if test.without_second else ""),
        "x": test.x,
        "given": test.given,
        "d_from": test.d_from,
        "tasks": test.tasks,
        "ranks": "all together" if test.pooling == "ranks" else "within dataset",
        **_result(test.result),
        **{f"paper_{k}": theirs.get(k) for k in ("rho", "ci_low", "ci_high", "n")},
        "difference": test.result.rho - rho if isinstance(rho, float) else None,
    }


def correlations(frames: Frames, context: ReportContext) -> TableResult | str:
    """Every rank partial correlation of depth with difficulty, with intervals, beside the paper's."""
    chosen = samples(frames, context, second=True)
    tests = main_tests(chosen, context)
    if not tests:
        return NOTHING
    tests += failed_run_tests(chosen, context)
    tests += model_set_tests(samples(frames, context, second=False), context)
    # The figures share some tests.
    distinct: dict[tuple[object, ...], Test] = {}
    for t in tests:
        key = (t.sample, t.y, t.x, t.given, t.d_from, t.tasks, t.pooling, t.without_second)
        distinct.setdefault(key, t)
    rows = [_row(test, context) for test in distinct.values()]
    columns = [
        c
        for c in CORRELATIONS
        if not c.name.startswith(("paper_", "difference", "note")) or any(r[c.name] not in (None, "") for r in rows)
    ]
    return TableResult(columns, rows)


PUBLIC = (
    Col("dataset", "Dataset", "text"),
    Col("source", "Source", "text"),
    Col("y", "Of", "text"),
    Col("x", "with", "text"),
    Col("given", "given", "text"),
    *_RESULT,
    Col("paper_rho", "Paper ρ", digits=2),
    Col("difference", "Difference", digits=2, signed=True),
    Col("note", "Note", "text"),
)


def public_correlations(frames: Frames, context: ReportContext) -> TableResult | str:
    """Published pass rate with the author's rating, and with lines of the solution given observed turns and the reverse."""
    rates = frames["public_pass_rates"].dropna(subset=["rate"])
    if rates.empty:
        return NO_PUBLIC
    rows: list[Row] = []
    paper_rows = {d.name: d.paper_row for d in context.datasets}
    settings: dict[str, Any] = {"n_boot": context.n_boot, "seed": context.seed}
    for (dataset, source), tasks in rates.groupby(["dataset", "source"], sort=False):
        order = {label: i for i, label in enumerate(level_order(tasks["author_rating"]))}
        rating = tasks["author_rating"].map(order).astype(float)
        rate, lines, turns = tasks["rate"], tasks["w_naive_lines"], tasks["turns"]
        for x, given, result in (
            ("author rating", "", spearman(rate, rating, **settings)),
            ("W", "", spearman(rate, lines, **settings)),
            ("observed turns", "", spearman(rate, turns, **settings)),
            ("W", "observed turns", rank_partial_correlation(rate, lines, [turns], **settings)),
            ("observed turns", "W", rank_partial_correlation(rate, turns, [lines], **settings)),
        ):
            stated = x == "author rating" and (dataset == "TB2" or paper_rows.get(str(dataset)) == "TB2")
            theirs = paper.count(context, "rank correlation of TB2 author ratings with pass rates") if stated else None
            rows.append(
                {
                    "dataset": context.dataset_label(str(dataset)),
                    "source": source,
                    "y": "pass rate",
                    "x": x,
                    "given": given,
                    **_result(result),
                    "paper_rho": theirs,
                    "difference": result.rho - theirs if theirs is not None else None,
                }
            )
    columns = [c for c in PUBLIC if any(r[c.name] not in (None, "") for r in rows)]
    return TableResult(columns, rows)


RATINGS = (
    Col("dataset", "Dataset", "text"),
    Col("source", "Source", "text"),
    Col("rating", "Rating", "text"),
    Col("tasks", "Tasks"),
    Col("mean_rate", "Mean pass rate", digits=3),
    Col("median_lines", "Median lines"),
    Col("median_turns", "Median turns", digits=1),
)


def ratings(frames: Frames, context: ReportContext) -> TableResult | str:
    """The numbers of Figure 8: tasks and mean published pass rate at each rating, easiest first."""
    rates = frames["public_pass_rates"].dropna(subset=["rate"])
    if rates.empty:
        return NO_PUBLIC
    rows: list[Row] = []
    for (dataset, source), tasks in rates.groupby(["dataset", "source"], sort=False):
        for rating in [*level_order(tasks["author_rating"]), None]:
            chosen = tasks[tasks["author_rating"].isna() if rating is None else tasks["author_rating"] == rating]
            if chosen.empty:
                continue
            rows.append(
                {
                    "dataset": context.dataset_label(str(dataset)),
                    "source": source,
                    "rating": rating or "none given",
                    "tasks": len(chosen),
                    "mean_rate": float(chosen["rate"].mean()),
                    "median_lines": float(chosen["w_naive_lines"].median()),
                    "median_turns": float(chosen["turns"].median()),
                }
            )
    return TableResult(RATINGS, rows)


QUADRANT = (
    Col("sample", "Sample", "text"),
    Col("d_from", "D from", "text"),
    Col("deep", "D", "text"),
    Col("large", "W", "text"),
    Col("n", "Tasks"),
    Col("mean_percentile", "Mean percentile of the pass rate", digits=2),
    Col("paper", "Paper", "text"),
)


def quadrants(frames: Frames, context: ReportContext) -> TableResult | str:
    """Section 4.3, last paragraph: tasks split at D = 2 and at the median W, and the mean percentile of their pass rate
    within their dataset (lower is harder), with D of both models and of the first alone."""
    chosen = [s for s in samples(frames, context, second=True) if len(s.tasks)]
    if not chosen:
        return NOTHING
    rows: list[Row] = []
    for sample in chosen:
        for model_set in ("both", "first only"):
            d = "d_both" if model_set == "both" else "d_first"
            found = percentile_by_quadrant(sample.tasks, rate="rate", d=d, w="w", group="dataset")
            for cell in found.to_dict("records"):
                both = cell["deep"] and cell["large"]
                first = model_set == "first only"
                theirs = ("0.34" if both else "0.54 to 0.57") if first else ("0.29" if both else "0.53 to 0.59")
                rows.append(
                    {
                        "sample": sample.label,
                        "d_from": "both models" if model_set == "both" else "first model",
                        "deep": "at least 2" if cell["deep"] else "1",
                        "large": "above the median" if cell["large"] else "at most the median",
                        "n": cell["n"],
                        "mean_percentile": cell["mean_percentile"],
                        "paper": theirs if sample.paper == "TB2+TW" else None,
                    }
                )
    columns = [c for c in QUADRANT if c.name != "paper" or any(r["paper"] for r in rows)]
    return TableResult(columns, rows)


POWER = (
    Col("sample", "Sample", "text"),
    Col("n", "Tasks"),
    Col("if_rho", "If ρ is", digits=2),
    Col("ci_low", "from", digits=2),
    Col("ci_high", "to", digits=2),
    Col("excludes_zero", "Excludes 0", "text"),
)


def power(frames: Frames, context: ReportContext) -> TableResult | str:
    """How wide the intervals of Figure 4 are to be expected at the number of tasks at hand, for some true values of rho."""
    used = ["rate", "d_main", "w"]
    sizes = {s.label: len(s.tasks.dropna(subset=used)) for s in samples(frames, context, second=True)}
    rates = frames["public_pass_rates"].dropna(subset=["rate"])
    for dataset, tasks in rates.groupby("dataset", sort=False):
        sizes.setdefault(f"{context.dataset_label(str(dataset))}, if all its published tasks were solved", len(tasks))
    if not sizes:
        return NOTHING
    rows: list[Row] = []
    for sample, n in sizes.items():
        for rho in (-0.2, -0.3, -0.4, -0.5):
            low, high = expected_interval(rho, n, n_covariates=1)
            rows.append(
                {
                    "sample": sample,
                    "n": n,
                    "if_rho": rho,
                    "ci_low": low,
                    "ci_high": high,
                    "excludes_zero": "" if math.isnan(high) else "yes" if high < 0 else "no",
                }
            )
    return TableResult(POWER, rows)
