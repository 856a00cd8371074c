"""Segmented tasks: D after their segments are merged (Figure 5), and against the original tasks (Figure 13)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from termdepth.report import style
from termdepth.report.context import ReportContext
from termdepth.report.figures.parts import count_grid
from termdepth.report.frames import Frames, solved, true
from termdepth.report.tables.merged import NO_MERGED
from termdepth.stats import cap_steps, sign_test

NO_PAIRS = "No task of ours is paired with the original task of its seed environment."


def merged_depth(depth: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Each task with a valid run in one instruction: d (the first model's in segments) and merged (the smallest cap passed
    in one instruction; nan where none up to d passes, which counts as not solved within it). Appendix H."""
    valid = runs[(runs["phase"] == "merged") & true(runs["valid"])]
    keys = ["dataset", "task"]
    passed = valid[true(valid["passed"])].groupby(keys)["cap"].min().rename("merged")
    tasks = valid[keys].drop_duplicates().merge(depth[[*keys, "d_first_rank"]], on=keys)
    return tasks.rename(columns={"d_first_rank": "d"}).merge(passed, on=keys, how="left").dropna(subset=["d"])


def figure5(frames: Frames, context: ReportContext) -> Figure | str:
    """Figure 5: D of tasks in segments, and after merging the segments into one instruction, as counts of tasks."""
    tasks = merged_depth(frames["depth"], frames["runs"])
    if tasks.empty:
        return NO_MERGED
    caps = style.CapAxis.of(context)
    ladder = [*map(float, context.caps), np.inf]
    places = [*map(float, range(len(context.caps))), caps.above]
    # Only caps up to the original D are tried, so "none passed" takes the place of "above the largest cap".
    counts = np.zeros((len(ladder), len(ladder)))
    for d, merged in zip(tasks["d"], tasks["merged"], strict=True):
        counts[len(ladder) - 1 if math.isnan(merged) else ladder.index(merged), ladder.index(d)] += 1
    figure = style.new_figure(style.COLUMN + 0.5, 3.3)
    ax = figure.subplots()
    count_grid(ax, counts, places, places, style.VERMILLION)
    ax.plot(places[:-1], places[:-1], color=style.LINE, lw=0.7, ls=(0, (4, 3)), zorder=0)
    caps.apply(ax, "x", "D in segments (first model, turns)")
    caps.apply(ax, "y", "D in one instruction")
    ax.set_yticks(places, [*map(str, context.caps), "none\npassed"])
    steps = cap_steps(tasks["d"], tasks["merged"], context.caps)
    kept = int((np.isnan(steps) | (steps <= 0)).sum())
    ax.set_title(f"D does not drop for {kept} of {len(tasks)} tasks")
    return figure


def figure13(frames: Frames, context: ReportContext) -> Figure | str:
    """Figure 13: original task of each seed environment against our task from it. Left: D, as counts. Right: W, log scales.
    On the dashed lines both are equal."""
    pairs = frames["tasks"][["dataset", "task", "original_dataset", "original_task"]].dropna()
    depth = frames["depth"][["dataset", "task", "d_rank", "w_lines", "solved"]]
    ours = pairs.merge(solved(depth), on=["dataset", "task"])
    both = ours.merge(
        solved(depth),
        left_on=["original_dataset", "original_task"],
        right_on=["dataset", "task"],
        suffixes=("", "_original"),
    )
    if both.empty:
        return NO_PAIRS
    caps = style.CapAxis.of(context)
    ladder = [*map(float, context.caps), np.inf]
    places = [*map(float, range(len(context.caps))), caps.above]
    figure = style.new_figure(style.PAGE, 3.2)
    left, right = figure.subplots(1, 2)
    counts = np.zeros((len(ladder), len(ladder)))
    for original, mine in zip(both["d_rank_original"], both["d_rank"], strict=True):
        counts[ladder.index(mine), ladder.index(original)] += 1
    count_grid(left, counts, places, places, style.VERMILLION)
    left.plot([-0.6, places[-1] + 0.6], [-0.6, places[-1] + 0.6], color=style.LINE, lw=0.7, ls=(0, (4, 3)), zorder=0)
    caps.apply(left, "x", "D of the original task")
    caps.apply(left, "y", "D of our task")
    test = sign_test(both["d_rank"], both["d_rank_original"])
    p = "undefined" if math.isnan(test.p_value) else f"{test.p_value:.1e}"
    left.set_title(f"Depth: ours higher in {test.wins} of {len(both)} pairs, p = {p}", fontsize=style.SMALL + 0.5)
    work = both[(both["w_lines"] > 0) & (both["w_lines_original"] > 0)]
    right.set_title("Work")
    if work.empty:
        style.sentence_panel(right, "no pair has two reference solutions")
        return figure
    values = pd.concat([work["w_lines"], work["w_lines_original"]])
    low, high = float(values.min()) / 1.6, float(values.max()) * 1.6
    right.plot(work["w_lines_original"], work["w_lines"], "D", ms=4, mew=0.4, mec="white", color=style.VERMILLION)
    right.plot([low, high], [low, high], color=style.LINE, lw=0.7, ls=(0, (4, 3)), zorder=0)
    style.log_axis(right, "x", low, high, "W of the original task (lines)")
    style.log_axis(right, "y", low, high, "W of our task (lines)")
    larger = int((work["w_lines"] > work["w_lines_original"]).sum())
    right.set_title(f"Work: ours larger in {larger} of {len(work)} pairs", fontsize=style.SMALL + 0.5)
    return figure
