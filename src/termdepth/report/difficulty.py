"""The tests of depth against difficulty (Section 4.3, Appendix E), computed once for Figures 4, 11, 12 and their table.

Pass rates of a dataset are published ones where there are any, else the mean of the evaluated models. Because a model that
measures D should not also be what D predicts, the first model is never in that mean; where the second is, D is taken from
the first model alone, or the second is left out of the mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Literal

import pandas as pd

from termdepth.report import paper
from termdepth.report.context import DatasetInfo, ReportContext
from termdepth.report.frames import Frames, solved
from termdepth.report.levels import level_order
from termdepth.report.tables.audit import present
from termdepth.stats import Correlation, mean_pass_rate, rank_partial_correlation, task_rates

ModelSet = Literal["main", "both", "first only"]
Variable = Literal["pass rate", "author rating", "D", "N", "W"]

# A model that has valid runs on fewer tasks than this share is left out of the mean, or it would shrink the sample for all.
COVERED = 0.9
BOTH, FIRST = "both models", "first model"


@dataclass(frozen=True)
class Sample:
    """Solved tasks of one or several datasets that have a pass rate.

    tasks: columns dataset, task, rate, rating (position, easiest 0), d_both, d_first, d_main (inf above the largest cap),
    n, w, r. d_main is the D that the main text uses: of both models, or of the first alone where the rate is partly the
    second's. paper: the paper's name of the sample, None if it has none. evaluated: rates come from evaluated models.
    d_from: what d_main is.
    """

    label: str
    paper: str | None
    tasks: pd.DataFrame
    evaluated: bool
    d_from: str


@dataclass(frozen=True)
class Test:
    """One rank partial correlation and what it is about. tasks: 'solved', or 'R = 1' for those that never failed.
    without_second: the rate is a mean of evaluated models without the second."""

    sample: str
    paper: str | None
    y: Variable
    x: Variable
    given: Variable
    model_set: ModelSet
    d_from: str
    tasks: Literal["solved", "R = 1"]
    pooling: Literal["ranks", "within"]
    without_second: bool
    result: Correlation


def evaluated(runs: pd.DataFrame, dataset: str, context: ReportContext, *, second: bool) -> list[str]:
    """The models whose mean pass rate stands for the difficulty of a dataset's tasks: evaluated, not the first, with valid
    runs on nearly all tasks; without the second unless asked for."""
    mine = runs[(runs["dataset"] == dataset) & (runs["phase"] == "evaluation")]
    if mine.empty:
        return []
    covered = task_rates(mine).groupby("model").size() / mine["task"].nunique()
    left_out = {context.first_model, *(() if second else (context.second_model,))}
    return [m for m in covered.index[covered >= COVERED] if m not in left_out]


def samples(frames: Frames, context: ReportContext, *, second: bool) -> list[Sample]:
    """Samples in the paper's order: human-curated sets pooled and each, other sets each, all pooled.

    second: whether the second model may be in a mean of evaluated models.
    """
    depth, rates, runs = solved(frames["depth"]), frames["public_pass_rates"], frames["runs"]
    single: list[tuple[DatasetInfo, Sample]] = []
    for info in present(depth, context):
        if info.kind == "calibration":
            continue
        published = rates[rates["dataset"] == info.name]
        models: list[str] = []
        if len(published):
            by_task = (
                published.groupby("task").agg(rate=("rate", "mean"), rating=("author_rating", "first")).reset_index()
            )
        else:
            models = evaluated(runs, info.name, context, second=second)
            if not models:
                continue
            mine = runs[(runs["dataset"] == info.name) & (runs["phase"] == "evaluation")]
            by_task = mean_pass_rate(mine, models)[["task", "rate"]].assign(rating=None)
        tasks = depth[depth["dataset"] == info.name].merge(by_task, on="task")
        order = {label: i for i, label in enumerate(level_order(tasks["rating"]))}
        tasks = pd.DataFrame(
            {
                "dataset": tasks["dataset"],
                "task": tasks["task"],
                "rate": tasks["rate"].astype(float),
                "rating": tasks["rating"].map(order).astype(float),
                "d_both": tasks["d_rank"],
                "d_first": tasks["d_first_rank"],
                "d_main": tasks["d_first_rank" if context.second_model in models else "d_rank"],
                "n": tasks["n"],
                "w": tasks["w_lines"],
                "r": tasks["r"],
            }
        )
        d_from = FIRST if context.second_model in models else BOTH
        single.append((info, Sample(info.label, info.paper_row, tasks, bool(models), d_from)))
    human = [(i, s) for i, s in single if i.kind == "human"]
    ours = [(i, s) for i, s in single if i.kind == "ours"]
    found = [*([_pooled(human)] if len(human) > 1 else []), *(s for _, s in human)]
    found += [s for i, s in single if i.kind != "human"]
    if human and ours:
        found.append(_pooled([*human, *ours]))
    return found


def _pooled(parts: list[tuple[DatasetInfo, Sample]]) -> Sample:
    names = [s.paper for _, s in parts]
    return Sample(
        " + ".join(s.label for _, s in parts),
        "+".join(str(n) for n in names) if None not in names else None,
        pd.concat([s.tasks for _, s in parts], ignore_index=True),
        any(s.evaluated for _, s in parts),
        parts[0][1].d_from if len({s.d_from for _, s in parts}) == 1 else "as for each dataset",
    )


def run_test(
    sample: Sample,
    y: Variable,
    x: Variable,
    given: Variable,
    model_set: ModelSet,
    context: ReportContext,
    *,
    tasks: Literal["solved", "R = 1"] = "solved",
    pooling: Literal["ranks", "within"] = "ranks",
    without_second: bool = False,
) -> Test:
    """One test on one sample."""
    rows = sample.tasks if tasks == "solved" else sample.tasks[sample.tasks["r"] == 1]
    columns = {
        "pass rate": "rate",
        "author rating": "rating",
        "D": {"main": "d_main", "both": "d_both", "first only": "d_first"}[model_set],
        "N": "n",
        "W": "w",
    }
    result = rank_partial_correlation(
        rows[columns[y]],
        rows[columns[x]],
        [rows[columns[given]]],
        groups=rows["dataset"],
        pooling=pooling,
        n_boot=context.n_boot,
        seed=context.seed,
    )
    d_from = {"main": sample.d_from, "both": BOTH, "first only": FIRST}[model_set]
    without = without_second and sample.evaluated and y == "pass rate"
    return Test(sample.label, sample.paper, y, x, given, model_set, d_from, tasks, pooling, without, result)


def _has_rating(sample: Sample) -> bool:
    return bool(sample.tasks["rating"].nunique() > 1)


def main_tests(chosen: list[Sample], context: ReportContext) -> list[Test]:
    """Section 4.3: pass rate with D given W, and with N given D, on every sample; ratings with D, W and N."""
    tests = []
    for sample in chosen:
        tests.append(run_test(sample, "pass rate", "D", "W", "main", context))
        tests.append(run_test(sample, "pass rate", "N", "D", "main", context))
        if sample.tasks["dataset"].nunique() > 1:
            tests.append(run_test(sample, "pass rate", "D", "W", "main", context, pooling="within"))
        if _has_rating(sample) and sample.tasks["dataset"].nunique() == 1:
            pairs: Iterable[tuple[Variable, Variable]] = (("D", "W"), ("W", "D"), ("N", "D"))
            tests += [run_test(sample, "author rating", x, given, "both", context) for x, given in pairs]
    return tests


def model_set_tests(chosen: list[Sample], context: ReportContext) -> list[Test]:
    """Appendix E.1: the same with D of both models and of the first alone, on samples without the second in a mean rate."""
    tests = []
    sets: tuple[ModelSet, ...] = ("both", "first only")
    for sample, mine in product(chosen, sets):
        tests.append(run_test(sample, "pass rate", "D", "W", mine, context, without_second=True))
        tests.append(run_test(sample, "pass rate", "N", "D", mine, context, without_second=True))
        if _has_rating(sample) and sample.tasks["dataset"].nunique() == 1:
            tests.append(run_test(sample, "author rating", "D", "W", mine, context, without_second=True))
    return tests


def failed_run_tests(chosen: list[Sample], context: ReportContext) -> list[Test]:
    """Appendix E.2: pass rate with D given W, over all solved tasks and over those with R = 1."""
    tests = []
    for sample in chosen:
        tests.append(run_test(sample, "pass rate", "D", "W", "main", context))
        tests.append(run_test(sample, "pass rate", "D", "W", "main", context, tasks="R = 1"))
    return tests


_NAMES = {"pass rate": "pass_rate", "author rating": "author_rating"}


def paper_value(test: Test, context: ReportContext) -> dict[str, paper.Value] | None:
    """rho, ci_low, ci_high and n of the same test in the paper; None where it does not state it."""
    if test.paper is None or test.pooling != "ranks":
        return None
    if test.tasks == "R = 1":
        found = paper.row(
            context, "robustness", analysis="rank partial correlation on tasks with R=1", sample=test.paper
        )
        return {"rho": found["value"], "n": found["n"]} if found else None
    if test.model_set != "first only" and not test.without_second:
        return paper.row(
            context,
            "figure4_correlations",
            sample=test.paper,
            y=_NAMES[test.y],
            x=test.x,
            controlling=test.given,
        )
    suffix = " (second model left out of the rate)" if test.without_second else ""
    analysis = f"rank partial correlation of {test.y} with {test.x} controlling {test.given}{suffix}"
    found = paper.row(context, "robustness", analysis=analysis, sample=test.paper, model_set=test.model_set)
    return {"rho": found["value"], "n": found["n"]} if found else None
