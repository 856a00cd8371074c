"""D against what is known: the depth of the plan that solves a calibration task."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from termdepth.report import style
from termdepth.report.context import ReportContext
from termdepth.report.frames import Frames
from termdepth.report.tables.audit import present

NOTHING = "No measured task has a plan, so no depth is known to compare D with."
MOST_ROWS = 40


def truth(frames: Frames, context: ReportContext) -> Figure | str:
    """One row a task with a plan: the cap that its known depth rounds up to (ring) and the measured D (dot)."""
    tasks = frames["depth"].dropna(subset=["plan_depth"])
    if tasks.empty:
        return NOTHING
    tasks = tasks.assign(expected=[_rounded_up(p, context.caps) for p in tasks["plan_depth"]])
    if len(tasks) > MOST_ROWS:
        return _grouped(tasks, context)
    infos = present(tasks, context)
    order = {info.name: i for i, info in enumerate(infos)}
    tasks = tasks.assign(place=tasks["dataset"].map(order)).sort_values(["place", "plan_depth", "task"])
    colours = style.dataset_colours(context, [d.name for d in infos])
    caps = style.CapAxis.of(context)
    figure = style.new_figure(4.9, 0.9 + 0.19 * len(tasks) + 0.1 * len(infos))
    ax = figure.subplots()
    ticks, names = [], []
    y, last = 0.0, None
    for task in tasks.to_dict("records"):
        y += 0.6 if last not in (None, task["dataset"]) else 0.0
        last = task["dataset"]
        colour = colours[task["dataset"]]
        expected = caps.positions([task["expected"]])[0]
        ax.axhline(y, color=style.FAINT, lw=0.5, zorder=0)
        ax.plot(expected, y, "o", ms=8.5, mfc="none", mec=style.INK, mew=0.8)
        if np.isnan(task["d_rank"]):
            ax.text(expected + 0.35, y, "not solved", va="center", fontsize=style.SMALL)
        else:
            found = caps.positions([task["d_rank"]])[0]
            if found != expected:
                ax.plot([expected, found], [y, y], color=style.INK, lw=0.8)
            ax.plot(found, y, "o", ms=5, color=colour, mec="none")
        ticks.append(y)
        names.append(f"{task['task']} ({task['plan_depth']:g})")
        y += 1.0
    ax.plot(
        [], [], "o", ms=8.5, mfc="none", mec=style.INK, mew=0.8, ls="none", label="known depth, rounded up to the caps"
    )
    ax.plot([], [], "o", ms=5, color=style.GREY, ls="none", label="measured D")
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False, borderpad=0.0, handletextpad=0.3)
    ax.set_yticks(ticks, names)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(y - 0.4, -0.6)
    caps.apply(ax, "x")
    agree = int((tasks["d_rank"] == tasks["expected"]).sum())
    figure.suptitle(
        f"D agrees with the known depth in {agree} of {len(tasks)} tasks",
        x=0.02,
        ha="left",
        fontsize="medium",
        fontweight="bold",
    )
    ax.set_ylabel("task (known depth)")
    return figure


def _grouped(tasks: pd.DataFrame, context: ReportContext) -> Figure:
    """The same for many tasks: how many have which known depth and which D."""
    caps = style.CapAxis.of(context)
    figure = style.new_figure(style.COLUMN + 0.6, 3.4)
    ax = figure.subplots()
    known = tasks.dropna(subset=["d_rank"])
    cells = known.groupby(["expected", "d_rank"]).size().reset_index(name="tasks")
    for expected, d, number in zip(cells["expected"], cells["d_rank"], cells["tasks"], strict=True):
        x, y = caps.positions([expected, d])
        colour = style.BLUE if expected == d else style.VERMILLION
        ax.plot(x, y, "o", ms=13, color=style.light(colour), mec=colour, mew=0.8)
        ax.text(x, y, str(number), ha="center", va="center", fontsize=style.SMALL)
    ax.plot([-0.6, caps.above + 0.6], [-0.6, caps.above + 0.6], color=style.LINE, lw=0.7, ls=(0, (4, 3)), zorder=0)
    caps.apply(ax, "x", "known depth, rounded up to the caps")
    caps.apply(ax, "y", "D (turns)")
    agree = int((known["d_rank"] == known["expected"]).sum())
    ax.set_title(f"D agrees in {agree} of {len(tasks)} tasks")
    return figure


def _rounded_up(depth: float, caps: tuple[int, ...]) -> float:
    return next((float(c) for c in caps if c >= depth), np.inf)
