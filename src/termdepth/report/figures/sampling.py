"""From the tasks found to the tasks sampled (Appendix C, rules 3 and 4)."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.figure import Figure

from termdepth.report import style
from termdepth.report.context import ReportContext
from termdepth.report.frames import Frames
from termdepth.report.stages import stages
from termdepth.report.tables.audit import present

NOTHING = "No candidate task has been validated yet."


def admission_funnel(frames: Frames, context: ReportContext) -> Figure | str:
    """How many tasks each rule of the sampling leaves, one panel a dataset."""
    tasks, admission = frames["tasks"], frames["admission"]
    if admission.empty:
        return NOTHING
    infos = present(admission.assign(kind=admission["dataset"].map(_kinds(tasks))), context)
    colours = style.dataset_colours(context, [d.name for d in infos])
    columns = min(3 if len(infos) != 4 else 2, len(infos))
    grid = math.ceil(len(infos) / columns)
    figure = style.new_figure(style.PAGE if columns > 2 else 1.6 + 2.3 * columns, 0.25 + 1.35 * grid)
    axes = figure.subplots(grid, columns, squeeze=False)
    for index, info in enumerate(infos):
        ax = axes[index // columns][index % columns]
        left = stages(tasks[tasks["dataset"] == info.name], admission[admission["dataset"] == info.name])
        counts = [n for _, n in left]
        y = range(len(left))
        ax.barh(
            y,
            counts,
            height=0.72,
            color=[style.light(colours[info.name], 0.55)] * (len(left) - 1) + [colours[info.name]],
        )
        for yi, count in zip(y, counts, strict=True):
            ax.text(count + 0.02 * max(counts[0], 1), yi, f"{count:,}", va="center", fontsize=style.SMALL)
        ax.set_yticks(y, [name for name, _ in left])
        ax.set_ylim(len(left) - 0.4, -0.6)
        ax.set_xlim(0, max(counts[0], 1) * 1.18)
        ax.set_xticks([])
        ax.tick_params(axis="y", length=0)
        for side in ("bottom", "left"):
            ax.spines[side].set_visible(False)
        ax.set_title(info.label, color=style.dark(colours[info.name]))
    for index in range(len(infos), grid * columns):
        axes[index // columns][index % columns].set_axis_off()
    return figure


def _kinds(tasks: pd.DataFrame) -> dict[str, str]:
    return dict(zip(tasks["dataset"], tasks["kind"], strict=True))
