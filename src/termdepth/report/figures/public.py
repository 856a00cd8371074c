"""Published pass rates: by difficulty rating (Figure 8) and against the length of the solution."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from termdepth.report import style
from termdepth.report.context import ReportContext
from termdepth.report.frames import Frames
from termdepth.report.levels import level_order
from termdepth.stats import mean_by_level, spearman

NOTHING = "No published pass rates are given (config: public_results)."
NO_RATING = "The published tasks carry no difficulty ratings."
_RATING_COLOURS = (style.SKY, style.BLUE, style.WINE, style.VERMILLION, style.INK)


def _sources(rates: pd.DataFrame, context: ReportContext) -> list[tuple[str, pd.DataFrame]]:
    """Title and rows of each dataset and source."""
    found = []
    for (dataset, source), rows in rates.groupby(["dataset", "source"], sort=False):
        dataset = str(dataset)
        several = rates.loc[rates["dataset"] == dataset, "source"].nunique() > 1
        found.append((context.dataset_label(dataset) + (f", {source}" if several else ""), rows))
    return found


def _rho(text: str, x: object, y: object, seed: int, n_boot: int) -> str:
    result = spearman(x, y, n_boot=n_boot, seed=seed)
    if math.isnan(result.rho):
        return f"{text} undefined ({result.note})"
    interval = "" if math.isnan(result.ci_low) else f" [{_signed(result.ci_low)}, {_signed(result.ci_high)}]"
    return f"{text} = {_signed(result.rho)}{interval}"


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def figure8(frames: Frames, context: ReportContext) -> Figure | str:
    """Figure 8: mean pass rate at each rating, easiest first, with the number of tasks and the rank correlation, one panel
    a dataset and source."""
    rates = frames["public_pass_rates"].dropna(subset=["rate"])
    if rates.empty:
        return NOTHING
    panels = [(title, rows) for title, rows in _sources(rates, context) if rows["author_rating"].notna().any()]
    if not panels:
        return NO_RATING
    columns = min(3, len(panels))
    grid = math.ceil(len(panels) / columns)
    figure = style.new_figure(0.5 + 2.15 * columns if columns > 1 else style.COLUMN, 2.6 * grid)
    axes = figure.subplots(grid, columns, squeeze=False).ravel()
    colours = style.dataset_colours(context, rates["dataset"].drop_duplicates())
    for ax, (title, rows) in zip(axes, panels, strict=False):
        order = level_order(rows["author_rating"])
        levels = mean_by_level(rows["rate"], rows["author_rating"], list(order))
        x, means = np.arange(len(order)), levels["mean"].to_numpy(float)
        colour = colours[rows["dataset"].iloc[0]]
        ax.plot(x, means, "-o", color=colour, ms=5, mec="white", mew=0.6)
        for xi, mean_ in zip(x, means, strict=True):
            ax.annotate(
                f"{mean_:.2f}", (xi, mean_), (0, 6), textcoords="offset points", ha="center", fontsize=style.SMALL
            )
        ax.set_xticks(x, [f"{level}\n{n}" for level, n in zip(order, levels["n"], strict=True)])
        ax.set_xlim(-0.45, len(order) - 1 + 0.45)
        ax.set_ylim(0, 1.08)
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
        ax.set_ylabel("mean pass rate")
        ax.set_xlabel("rating, number of tasks")
        position = rows["author_rating"].map({label: i for i, label in enumerate(order)}).astype(float)
        ax.set_title(title, color=style.dark(colour), pad=16)
        ax.annotate(_rho("ρ", position, rows["rate"], context.seed, context.n_boot), (0, 1), (0, 4),
                    xycoords="axes fraction", textcoords="offset points", fontsize=style.SMALL)  # fmt: skip
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    return figure


def pass_rate_against_lines(frames: Frames, context: ReportContext) -> Figure | str:
    """Published pass rate of each task against the lines of its reference solution, one panel a dataset and source."""
    rates = frames["public_pass_rates"].dropna(subset=["rate", "w_naive_lines"])
    rates = rates[rates["w_naive_lines"] > 0]
    if rates.empty:
        return NOTHING
    panels = _sources(rates, context)
    columns = min(2, len(panels))
    grid = math.ceil(len(panels) / columns)
    figure = style.new_figure(style.PAGE if columns > 1 else 4.4, 2.6 * grid)
    axes = figure.subplots(grid, columns, squeeze=False).ravel()
    for ax, (title, rows) in zip(axes, panels, strict=False):
        lines, rate = rows["w_naive_lines"].to_numpy(float), rows["rate"].to_numpy(float)
        order = level_order(rows["author_rating"])
        colours = {label: _RATING_COLOURS[min(i, len(_RATING_COLOURS) - 1)] for i, label in enumerate(order)}
        for label in [*order, None]:
            chosen = (rows["author_rating"].isna() if label is None else rows["author_rating"] == label).to_numpy()
            if chosen.any():
                ax.plot(lines[chosen], rate[chosen], "o", ms=3.6, mew=0.4, mec="white", ls="none",
                        color=colours.get(str(label), style.GREY),
                        label=f"{label or 'no rating'} ({chosen.sum()})")  # fmt: skip
        style.log_axis(ax, "x", lines.min() / 1.4, lines.max() * 1.4, "lines of the reference solution")
        style.share_axis(ax, "y", "published pass rate")
        rho = _rho("ρ", lines, rate, context.seed, context.n_boot)
        ax.set_title(f"{title}: {rho}", pad=16 if order else None)
        if order:
            ax.legend(
                loc="lower left",
                bbox_to_anchor=(-0.02, 0.995),
                ncols=len(order) + 1,
                handletextpad=0.1,
                columnspacing=1.0,
                borderaxespad=0.1,
            )
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    return figure
