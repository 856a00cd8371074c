"""How D and W depend on how they are measured: other measures of work (Figure 9), the second model (Figure 10)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from termdepth.report import style
from termdepth.report.context import ReportContext
from termdepth.report.figures.parts import row_labels
from termdepth.report.frames import Frames, solved, true
from termdepth.report.tables.audit import NOTHING, present
from termdepth.stats import quantiles, share_between, spearman

MEASURES = (("w_lines", "lines"), ("w_tokens", "BPE tokens"), ("w_chars", "characters"))


def figure9(frames: Frames, context: ReportContext) -> Figure | str:
    """Figure 9: median work of all sampled tasks of each dataset, counted in lines, BPE tokens and characters of the
    reference solution, with the rank correlation of the other two with lines over all these tasks."""
    tasks = frames["depth"]
    if tasks.empty:
        return NOTHING
    tasks = tasks[tasks["w_lines"].notna()]
    infos = present(tasks, context)
    if not infos:
        return "No sampled task has a reference solution, so there is no work to count."
    colours = style.dataset_colours(context, [d.name for d in infos])
    figure = style.new_figure(style.PAGE, 0.95 + 0.24 * len(infos))
    axes = figure.subplots(1, 3)
    for ax, (column, label) in zip(axes, MEASURES, strict=True):
        medians = [float(quantiles(tasks.loc[tasks["dataset"] == d.name, column], 0.5)) for d in infos]
        known = [m for m in medians if m > 0]
        if not known:
            style.sentence_panel(ax, f"{label} were not counted")
            continue
        low, high = min(known) / 2.5, max(known) * 4
        for y, (info, median) in enumerate(zip(infos, medians, strict=True)):
            if math.isnan(median):
                continue
            ax.plot([low, median], [y, y], color=style.light(colours[info.name], 0.5), lw=1.6)
            ax.plot(
                median, y, style.kind_marker(info.kind), ms=style.marker_size(info.kind, 5.0), color=colours[info.name]
            )
            ax.annotate(
                f"{median:,.0f}", (median, y), (5, 0), textcoords="offset points", va="center", fontsize=style.SMALL
            )
        row_labels(ax, [d.label for d in infos] if ax is axes[0] else [""] * len(infos),
                   [colours[d.name] for d in infos])  # fmt: skip
        style.log_axis(ax, "x", low, high, f"median {label}", most=4)
        rho = spearman(tasks["w_lines"], tasks[column], n_boot=0)
        correlated = "" if column == "w_lines" else f": ρ with lines {rho.rho:.2f}" if not math.isnan(rho.rho) else ""
        ax.set_title(f"{label}{correlated}".capitalize() if column != "w_tokens" else f"{label}{correlated}")
    return figure


def figure10(frames: Frames, context: ReportContext) -> Figure | str:
    """Figure 10: share of solved tasks with D >= 5 by the first model alone (open) and by both (filled), with the solved
    tasks on which the second model was run and those whose D it lowers."""
    if not context.second_model:
        return "There is no second model: D comes from one model alone."
    tasks = solved(frames["depth"])
    if tasks.empty:
        return "No solved task has been measured yet."
    infos = present(tasks, context)
    colours = style.dataset_colours(context, [d.name for d in infos])
    figure = style.new_figure(5.6, 0.95 + 0.26 * len(infos))
    ax, numbers = figure.subplots(1, 2, width_ratios=[2.6, 1.0], sharey=True)
    numbers.set_axis_off()
    numbers.set_xlim(0, 3)
    for x, text in ((0.9, "run on"), (2.1, "lowered"), (2.9, "ρ")):
        numbers.text(x, -0.85, text, va="center", ha="right", fontsize=style.SMALL)
    for y, info in enumerate(infos):
        mine = tasks[tasks["dataset"] == info.name]
        both = share_between(mine["d_rank"], low=5).share
        first = share_between(mine["d_first_rank"], low=5).share
        ax.plot([both, first], [y, y], color=style.light(colours[info.name], 0.6), lw=1.6, zorder=1)
        ax.plot(first, y, "o", ms=8.0, color=colours[info.name], mfc="white", mew=1.1, zorder=2)
        ax.plot(both, y, "o", ms=4.2, color=colours[info.name], zorder=3)
        lowered = int(((mine["d_rank"] < mine["d_first_rank"]) & true(mine["second_ran"])).sum())
        ran = int(true(mine["second_ran"]).sum())
        for x, text in ((0.9, f"{ran}"), (2.1, f"{lowered}"), (2.9, _agreement(mine))):
            numbers.text(x, y, text, va="center", ha="right", fontsize=style.SMALL)
    row_labels(ax, [d.label for d in infos], [colours[d.name] for d in infos])
    ax.set_xlim(-0.03, 1.03)
    ax.set_xticks(np.linspace(0, 1, 5), ["0%", "25%", "50%", "75%", "100%"])
    ax.set_xlabel("share of solved tasks with D ≥ 5")
    ax.plot([], [], "o", ms=8.0, color=style.GREY, mfc="white", mew=1.1, ls="none",
            label=f"{context.model_label(context.first_model or '')} alone")  # fmt: skip
    ax.plot([], [], "o", ms=4.2, color=style.GREY, ls="none",
            label=f"with {context.model_label(context.second_model)}")  # fmt: skip
    ax.legend(loc="lower left", bbox_to_anchor=(-0.02, 0.995), ncols=2, borderaxespad=0.1, handletextpad=0.2)
    return figure


def _agreement(tasks: pd.DataFrame) -> str:
    """Rank correlation of D with the first model's estimate."""
    rho = spearman(tasks["d_rank"], tasks["d_first_rank"], n_boot=0).rho
    return "–" if math.isnan(rho) else f"{rho:.2f}"
