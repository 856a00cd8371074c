"""Depth and work of the solved tasks (Figure 3), and turns without a cap against depth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from termdepth.report import style
from termdepth.report.context import DatasetInfo, ReportContext
from termdepth.report.frames import Frames, solved
from termdepth.report.tables.audit import present
from termdepth.stats import quantiles

NOTHING = "No solved task has been measured yet, so there is no depth to show."
BOX = (0.10, 0.25, 0.50, 0.75, 0.90)


def figure3(frames: Frames, context: ReportContext) -> Figure | str:
    """Figure 3. Left: the solved tasks on the depth-work plane. Right: W and D by dataset; boxes span the 25th to 75th
    percentiles, whiskers the 10th to 90th, the marker is the median. Dashed: 90th percentiles over the synthetic datasets.
    """
    tasks = solved(frames["depth"])
    if tasks.empty:
        return NOTHING
    infos = present(tasks, context)
    colours = style.dataset_colours(context, [d.name for d in infos])
    caps = style.CapAxis.of(context)
    figure = style.new_figure(style.PAGE, max(2.7, 0.9 + 0.26 * len(infos)))
    plane, work, depth = figure.subplots(1, 3, width_ratios=[2.5, 1.0, 1.5])
    with_work = tasks[tasks["w_lines"] > 0]
    low, high = _log_limits(with_work["w_lines"])

    for info in infos:
        _plane_points(plane, with_work, info, caps, colours[info.name])
    caps.apply(plane, "x", "D (smallest cap passed, turns)")
    style.log_axis(plane, "y", low, high, "W (lines of the reference solution)")
    plane.set_title("Depth and work")

    rows = [str(info.label) for info in infos]
    for y, info in enumerate(infos):
        of_dataset = tasks[tasks["dataset"] == info.name]
        _box(work, of_dataset["w_lines"].dropna().to_numpy(float), y, info, colours[info.name])
        _box(depth, of_dataset["d_rank"].to_numpy(float), y, info, colours[info.name], caps)
    for ax in (work, depth):
        ax.set_ylim(len(infos) - 0.4, -0.6)
        ax.set_yticks(range(len(infos)), rows if ax is work else [])
        ax.tick_params(axis="y", length=0)
    for label, info in zip(work.get_yticklabels(), infos, strict=True):
        label.set_color(style.dark(colours[info.name]))
        label.set_fontweight("bold")
    style.log_axis(work, "x", low, high, "W (lines)", most=4)
    caps.apply(depth, "x", "D (turns)")
    depth.tick_params(axis="x", labelsize=style.SMALL - 1)
    work.set_title("Work")
    depth.set_title("Depth")
    _synthetic_percentiles(tasks, caps, plane, work, depth)
    return figure


def _plane_points(ax: Axes, tasks: pd.DataFrame, info: DatasetInfo, caps: style.CapAxis, colour: str) -> None:
    x_all = caps.positions(tasks["d_rank"])
    x = style.swarm(x_all, np.log10(tasks["w_lines"].to_numpy(float)), bins=0.055)
    of_dataset = (tasks["dataset"] == info.name).to_numpy()
    ax.plot(
        x[of_dataset],
        tasks["w_lines"].to_numpy(float)[of_dataset],
        style.kind_marker(info.kind),
        ms=style.marker_size(info.kind, 3.3),
        mew=0.4,
        mec="white",
        color=colour,
        alpha=0.9,
        ls="none",
    )


def _box(
    ax: Axes, values: style.Floats, y: int, info: DatasetInfo, colour: str, caps: style.CapAxis | None = None
) -> None:
    if not values.size:
        return
    q = quantiles(values, BOX, "lower" if caps else "linear")
    x = caps.positions(q) if caps else q
    ax.plot([x[0], x[4]], [y, y], color=colour, lw=1.0, solid_capstyle="butt")
    ax.plot([x[1], x[3]], [y, y], color=style.light(colour, 0.6), lw=6.5, solid_capstyle="butt")
    ax.plot(
        x[2],
        y,
        style.kind_marker(info.kind),
        color=style.dark(colour),
        ms=style.marker_size(info.kind, 4.5),
        mec="white",
        mew=0.5,
    )


def _synthetic_percentiles(tasks: pd.DataFrame, caps: style.CapAxis, plane: Axes, work: Axes, depth: Axes) -> None:
    synthetic = tasks[tasks["kind"] == "synthetic"]
    if len(synthetic) < 4:
        return
    line: dict[str, Any] = {"color": style.LINE, "lw": 0.7, "ls": (0, (4, 3)), "zorder": 0}
    w = float(quantiles(synthetic["w_lines"], 0.9))
    d = caps.positions([float(quantiles(synthetic["d_rank"], 0.9, "lower"))])[0]
    for ax in (plane, depth):
        # Past the points of that cap on the plane, on the cap itself on the axis of D.
        ax.axvline(d + (0.5 if ax is plane else 0), **line)
    if not math.isnan(w):
        plane.axhline(w, **line)
        work.axvline(w, **line)


def _log_limits(values: pd.Series) -> tuple[float, float]:
    if values.empty:
        return 1.0, 1000.0
    return float(values.min()) / 1.5, float(values.max()) * 1.5


def n_against_d(frames: Frames, context: ReportContext) -> Figure | str:
    """N, the fewest turns of a passing run without a cap, against D, one panel a dataset. On the line N equals D; the area
    of a marker is the number of tasks."""
    tasks = solved(frames["depth"])
    if tasks.empty:
        return NOTHING
    infos = present(tasks, context)
    colours = style.dataset_colours(context, [d.name for d in infos])
    caps = style.CapAxis.of(context)
    columns = min(4, len(infos)) if len(infos) != 5 and len(infos) != 6 else 3
    rows = math.ceil(len(infos) / columns)
    figure = style.new_figure(min(style.PAGE, 0.6 + 2.2 * columns), 0.5 + 1.75 * rows)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    low, high = 0.8, max(float(tasks["n"].max()), float(context.caps[-1])) * 1.4
    # One scale for all panels; the largest marker fills the width of a cap.
    scale = min(9.0, 130.0 / tasks.groupby(["dataset", "d_rank", "n"]).size().max())
    for ax, info in zip(axes, infos, strict=False):
        of_dataset = tasks[tasks["dataset"] == info.name]
        cells = of_dataset.groupby(["d_rank", "n"]).size().reset_index(name="tasks")
        ax.plot(range(len(caps.caps)), caps.caps, color=style.LINE, lw=0.7, ls=(0, (4, 3)), zorder=0)
        ax.scatter(
            caps.positions(cells["d_rank"]), cells["n"], s=scale * cells["tasks"], marker=style.kind_marker(info.kind),
            color=colours[info.name], edgecolors="white", linewidths=0.4,
        )  # fmt: skip
        caps.apply(ax, "x", "")
        style.log_axis(ax, "y", low, high, "")
        ax.set_title(f"{info.label} ({len(of_dataset)})", color=style.dark(colours[info.name]))
        ax.tick_params(axis="x", labelsize=style.SMALL - 1)
    axes[0].text(4, caps.caps[min(4, len(caps.caps) - 1)] * 0.62, "N = D", fontsize=style.SMALL, color=style.GREY)
    for ax in axes[len(infos) :]:
        ax.set_axis_off()
    for ax in axes[max(0, len(infos) - columns) : len(infos)]:
        ax.tick_params(axis="x", labelbottom=True)
    figure.supxlabel("D (smallest cap passed, turns)", fontsize=style.FONT)
    figure.supylabel("N (fewest turns without a cap)", fontsize=style.FONT)
    return figure
