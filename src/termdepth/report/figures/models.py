"""Evaluated models: runs segment by segment (Figure 6) and how runs end (Figure 14)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from termdepth.report import style
from termdepth.report.context import ReportContext
from termdepth.report.figures.parts import row_labels, spread
from termdepth.report.frames import Frames, true
from termdepth.report.tables.evaluation import CLASSES, NOTHING, plain, run_class
from termdepth.report.tables.record import model_order
from termdepth.stats import category_shares, segment_pass_rates


def figure6(frames: Frames, context: ReportContext) -> Figure | str:
    """Figure 6. Left: share of runs that pass segment i, of those on tasks with at least i segments. Right: per-segment
    pass rate (geometric mean of the conditional rates, with its 95% interval) and share of runs that pass all segments of
    the longest tasks."""
    runs = frames["runs"]
    runs = runs[(runs["phase"] == "evaluation") & (runs["n_segments"] > 1)]
    if runs.empty:
        return f"No evaluation runs on tasks with several segments. {NOTHING}"
    if not true(runs["valid"]).any():
        return "No evaluation run on a task with several segments is valid; the table of runs says why."
    rates = segment_pass_rates(plain(runs), n_boot=context.n_boot, seed=context.seed)
    summary: dict[Any, dict[Any, float]] = rates.summary.set_index("model").to_dict("index")
    models = sorted(model_order(runs["model"], context), key=lambda m: -_known(summary[m]["share_all"]))
    colours = style.model_colours(context, models)
    figure = style.new_figure(style.PAGE, max(2.65, 1.25 + 0.26 * len(models)))
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1.0])
    last = int(rates.segments["segment"].max())
    ends = []
    for model in models:
        lines = rates.segments[(rates.segments["model"] == model) & (rates.segments["on"] > 0)]
        left.plot(lines["segment"], lines["share"], "-o", ms=3.5, mew=0.4, mec="white", color=colours[model])
        ends.append(_known(lines["share"].iloc[-1]) if len(lines) else 0.0)
    left.set_xlim(0.8, last + 0.2)
    lengths = runs.drop_duplicates(["dataset", "task"])["n_segments"]
    on = [int((lengths >= i).sum()) for i in range(1, last + 1)]
    left.set_xticks(range(1, last + 1), [f"{i}\n{n}" for i, n in enumerate(on, 1)])
    left.set_xlabel("segment, number of tasks that have it")
    style.share_axis(left, "y", "share of runs that pass it")
    left.set_title("Segment by segment")
    # Labels stand where lines end; 0.075 of the axis is a line of text at this height.
    for model, end, place in zip(models, ends, spread(ends, 0.19 / figure.get_figheight(), 0.02, 0.98), strict=True):
        left.annotate(
            context.model_label(model),
            (last, end),
            (last + 0.28, place),
            fontsize=style.SMALL,
            va="center",
            color=style.dark(colours[model]),
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "lw": 0.4,
                "color": colours[model],
                "shrinkA": 0,
                "shrinkB": 2,
                "relpos": (0, 0.5),
            },
        )
    for y, model in enumerate(models):
        per, every = summary[model]["per_segment"], summary[model]["share_all"]
        if math.isnan(per):
            right.text(0.02, y, "no valid run", va="center", fontsize=style.SMALL)
            continue
        low, high = summary[model]["ci_low"], summary[model]["ci_high"]
        right.plot([every, per], [y, y], color=style.light(colours[model], 0.5), lw=1.2, zorder=1)
        right.plot([low, high], [y, y], color=colours[model], lw=2.4, solid_capstyle="butt", zorder=2)
        right.plot(per, y, "o", ms=5, color=colours[model], mec="white", mew=0.5, zorder=3)
        right.plot(every, y, "s", ms=4.5, color=colours[model], mfc="white", mew=1.1, zorder=3)
        sides = (
            ("center", "center") if abs(per - every) > 0.12 else ("left", "right") if per > every else ("right", "left")
        )
        same = f"{per:.2f}" == f"{every:.2f}"
        labelled = [(per, "center")] if same else list(zip((per, every), sides, strict=True))
        for value, side in labelled:
            side = "left" if value < 0.06 and side == "center" else side  # not over the axis
            right.text(value, y - 0.36, f"{value:.2f}", ha=side, va="center", fontsize=style.SMALL - 0.5)
    row_labels(right, [context.model_label(m) for m in models], [colours[m] for m in models])
    right.set_ylim(len(models) - 0.5, -0.7)
    style.share_axis(right, "x", "rate")
    right.plot([], [], "s", ms=4.5, color=style.GREY, mfc="white", mew=1.1, ls="none", label=f"all {last} segments")
    right.legend(loc="lower left", bbox_to_anchor=(-0.04, 0.995), ncols=2, borderaxespad=0.1, handletextpad=0.2,
                 columnspacing=1.0)  # fmt: skip
    return figure


def _known(value: float) -> float:
    return 0.0 if math.isnan(value) else float(value)


_CLASS_COLOURS = {
    "passed": "#0072B2",
    "failed_checks": "#F0B99A",
    "early_submit": "#D55E00",
    "limits": "#E69F00",
    "turn_cap": "#F0D58C",
    "session_broken": "#882255",
    "context_overflow": "#CC79A7",
    "invalid": "#D0D0D0",
}
_WHITE_ON = ("passed", "early_submit", "session_broken")


def figure14(frames: Frames, context: ReportContext) -> Figure | str:
    """Figure 14: how the evaluation runs of each model end, as shares, one panel a dataset."""
    runs = frames["runs"]
    runs = runs[runs["phase"] == "evaluation"]
    if runs.empty:
        return NOTHING
    runs = runs.assign(run_class=run_class(runs))
    here = list(dict.fromkeys([*[d.name for d in context.datasets], *runs["dataset"]]))
    datasets = [d for d in here if (runs["dataset"] == d).any()]
    sizes = [runs.loc[runs["dataset"] == d, "model"].nunique() for d in datasets]
    figure = style.new_figure(style.PAGE, 0.75 + sum(0.24 * s + 0.42 for s in sizes))
    axes = figure.subplots(len(datasets), 1, squeeze=False, height_ratios=[s + 0.6 for s in sizes]).ravel()
    for ax, dataset in zip(axes, datasets, strict=True):
        _ends(ax, runs[runs["dataset"] == dataset], context)
        ax.set_title(context.dataset_label(dataset))
    axes[-1].set_xlabel("share of runs")
    shown = [key for key in CLASSES if (runs["run_class"] == key).any()]
    handles = [axes[0].plot([], [], "s", ms=6, color=_CLASS_COLOURS[k], label=CLASSES[k])[0] for k in shown]
    figure.legend(handles=handles, loc="outside upper left", ncols=4, handletextpad=0.2, columnspacing=1.2)
    return figure


def _ends(ax: Axes, runs: pd.DataFrame, context: ReportContext) -> None:
    table = category_shares(runs, "run_class", order=list(CLASSES))
    shares = {(m, c): float(v) for m, c, v in zip(table["model"], table["run_class"], table["share"], strict=True)}
    models = sorted(model_order(runs["model"], context), key=lambda m: -shares[m, "passed"])
    for y, model in enumerate(models):
        left = 0.0
        for key in CLASSES:
            share = shares[model, key]
            if not share:
                continue
            ax.barh(y, share, left=left, height=0.78, color=_CLASS_COLOURS[key], edgecolor="white", linewidth=0.5)
            if share >= 0.04:
                ax.text(left + share / 2, y, f"{100 * share:.0f}", ha="center", va="center",
                        fontsize=style.SMALL - 0.5, color="white" if key in _WHITE_ON else style.INK)  # fmt: skip
            left += share
        ax.text(1.01, y, f"{(runs['model'] == model).sum():,}", va="center", fontsize=style.SMALL)
    row_labels(ax, [context.model_label(m) for m in models])
    ax.set_xlim(0, 1)
    ax.set_xticks(np.linspace(0, 1, 5), ["0%", "25%", "50%", "75%", "100%"])
    ax.text(1.01, -0.75, "runs", fontsize=style.SMALL, va="center")
