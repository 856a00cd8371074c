"""Depth against difficulty: Figures 4, 11 and 12."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from termdepth.report import style
from termdepth.report.context import ReportContext
from termdepth.report.difficulty import Test, failed_run_tests, main_tests, model_set_tests, samples
from termdepth.report.figures.parts import count_grid, row_labels, zero_line
from termdepth.report.frames import Frames, solved
from termdepth.report.levels import level_order
from termdepth.report.tables.audit import KIND_LABELS, KINDS
from termdepth.report.tables.difficulty import NOTHING

FILLED, OPEN = style.BLUE, style.VERMILLION


def _interval(ax: Axes, y: float, test: Test, colour: str, *, filled: bool) -> None:
    """One correlation with its interval; a correlation that is undefined says so."""
    result = test.result
    if math.isnan(result.rho):
        ax.text(0.03, y, f"undefined: {result.n} tasks", va="center", fontsize=style.SMALL - 1, color=colour)
        return
    if not math.isnan(result.ci_low):
        ax.plot([result.ci_low, result.ci_high], [y, y], color=colour, lw=1.1, solid_capstyle="butt")
    ax.plot(result.rho, y, "o", ms=5, color=colour, mfc=colour if filled else "white", mew=1.1)


def _rho_axis(ax: Axes, label: str = "rank partial correlation ρ") -> None:
    ax.set_xlim(-1.02, 1.02)
    ax.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "−0.5", "0", "0.5", "1"])
    ax.set_xlabel(label)
    zero_line(ax)


def _key(ax: Axes, entries: Sequence[tuple[str, str, bool]]) -> None:
    """What the markers mean, above the panel, in their colours."""
    for label, colour, filled in entries:
        ax.plot([], [], "o-", ms=5, color=colour, mfc=colour if filled else "white", mew=1.1, label=label)
    ax.legend(loc="lower left", bbox_to_anchor=(-0.02, 0.995), ncols=len(entries), borderaxespad=0.1, handlelength=1.5,
              columnspacing=1.2)  # fmt: skip


def _rows_with_n(ax: Axes, names: Sequence[str], sizes: Sequence[int]) -> None:
    row_labels(ax, [f"{name} ({n})" for name, n in zip(names, sizes, strict=True)], width=22)


def figure4(frames: Frames, context: ReportContext) -> Figure | str:
    """Figure 4. Left: rank partial correlation of the pass rate with D given W, and with N given D, with 95% intervals.
    Right: D of the sampled tasks by the rating of their authors."""
    tests = [t for t in main_tests(samples(frames, context, second=True), context) if t.pooling == "ranks"]
    if not tests:
        return NOTHING
    names = list(dict.fromkeys(t.sample for t in tests))
    grid = _rating_counts(frames, context)
    figure = style.new_figure(style.PAGE, max(2.4, 1.2 + 0.42 * len(names)))
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1.0])
    for test in (t for t in tests if t.y == "pass rate"):
        is_d = test.x == "D"
        offset = -0.14 if is_d else 0.14
        _interval(left, names.index(test.sample) + offset, test, FILLED if is_d else OPEN, filled=is_d)
    sizes = [next(t.result.n for t in tests if t.sample == n and t.x == "D") for n in names]
    _rows_with_n(left, names, sizes)
    _rho_axis(left, "ρ with the pass rate")
    _key(left, [("D given W", FILLED, True), ("N given D", OPEN, False)])
    if grid is None:
        right.set_title("D by author rating")
        style.sentence_panel(right, "No measured dataset has ratings by the authors of its tasks.")
        return figure
    name, order, counts, colour = grid
    caps = style.CapAxis.of(context)
    places = [*range(len(context.caps)), caps.above, caps.above + 1.2]
    count_grid(right, counts, places, range(len(order)), colour, by_row=True)
    caps.apply(right, "x", "D (turns)")
    right.set_xticks(places, [*map(str, context.caps), context.above, "none"])
    right.tick_params(axis="x", labelsize=style.SMALL - 1)
    right.set_xlim(-0.6, places[-1] + 0.6)
    row_labels(right, order)
    right.set_title(f"{name}: tasks by D and author rating", fontsize=style.SMALL + 0.5)
    return figure


def _rating_counts(frames: Frames, context: ReportContext) -> tuple[str, list[str], style.Floats, str] | None:
    """The measured dataset with the most rated tasks: its name, ratings, tasks by rating and D, its colour.

    Columns of the counts are the caps, above the largest cap, and not solved.
    """
    rates = frames["public_pass_rates"].dropna(subset=["author_rating"])
    tasks = frames["depth"].merge(rates[["dataset", "task", "author_rating"]].drop_duplicates(["dataset", "task"]))
    if tasks.empty:
        return None
    dataset = str(tasks["dataset"].value_counts().index[0])
    tasks = tasks[(tasks["dataset"] == dataset) & tasks["solved"].notna()]
    order = level_order(tasks["author_rating"])
    ladder = [*map(float, context.caps), np.inf]
    counts = np.zeros((len(order), len(ladder) + 1))
    for rating, d in zip(tasks["author_rating"], tasks["d_rank"], strict=True):
        counts[order.index(rating), ladder.index(d) if d in ladder else len(ladder)] += 1
    return context.dataset_label(dataset), order, counts, style.dataset_colours(context, [dataset])[dataset]


def figure11(frames: Frames, context: ReportContext) -> Figure | str:
    """Figure 11: the tests of depth against difficulty with D of both models (filled) and of the first alone (open)."""
    if not context.second_model:
        return "There is no second model, so D of both models and of the first alone are the same."
    tests = model_set_tests(samples(frames, context, second=False), context)
    if not tests:
        return NOTHING
    keys = list(dict.fromkeys((t.y, t.x, t.given, t.sample) for t in tests))
    keys.sort(key=lambda k: [("pass rate", "D"), ("pass rate", "N"), ("author rating", "D")].index(k[:2]))
    figure = style.new_figure(4.9, 0.9 + 0.33 * len(keys))
    ax = figure.subplots()
    names, ys = [], []
    y, last = -1.0, None
    for key in keys:
        y += 1.0 if last in (None, key[:2]) else 1.9
        if last != key[:2]:
            ax.text(-1.0, y - 0.62, f"{key[0]} with {key[1]} given {key[2]}", fontsize=style.SMALL, fontstyle="italic",
                    va="center")  # fmt: skip
        last = key[:2]
        mine = [t for t in tests if (t.y, t.x, t.given, t.sample) == key]
        for test in mine:
            both = test.model_set == "both"
            _interval(ax, y + (-0.15 if both else 0.15), test, FILLED if both else OPEN, filled=both)
        names.append(f"{textwrap.shorten(key[3], 26, placeholder='…')} ({mine[0].result.n})")
        ys.append(y)
    ax.set_yticks(ys, names)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(y + 0.6, -1.1)
    _rho_axis(ax)
    _key(ax, [("D of both models", FILLED, True), ("of the first alone", OPEN, False)])
    return figure


def figure12(frames: Frames, context: ReportContext) -> Figure | str:
    """Figure 12: over all solved tasks (filled) and those whose runs without a cap all pass, R = 1 (open). Left: rank
    partial correlation of the pass rate with D given W. Right: distribution of D by kind of dataset."""
    depth = solved(frames["depth"])
    depth = depth[depth["kind"] != "calibration"]
    if depth.empty:
        return "No solved task outside the calibration tasks has been measured yet."
    tests = failed_run_tests(samples(frames, context, second=True), context)
    names = list(dict.fromkeys(t.sample for t in tests))
    kinds = [k for k in KINDS if (depth["kind"] == k).any()]
    figure = style.new_figure(style.PAGE, max(2.4, 1.2 + 0.42 * max(len(names), len(kinds))))
    left, right = figure.subplots(1, 2, width_ratios=[1.0, 1.15])
    if tests:
        for test in tests:
            every = test.tasks == "solved"
            _interval(left, names.index(test.sample) + (-0.14 if every else 0.14), test, FILLED if every else OPEN,
                      filled=every)  # fmt: skip
        sizes = [tuple(t.result.n for t in tests if t.sample == name) for name in names]
        row_labels(left, [f"{n} ({a},\u00a0{b})" for n, (a, b) in zip(names, sizes, strict=True)], width=22)
        _rho_axis(left, "ρ of the pass rate with D given W")
        _key(left, [("all solved", FILLED, True), ("R = 1", OPEN, False)])
    else:
        left.set_title("D against the pass rate")
        style.sentence_panel(left, NOTHING)
    _depth_shares(right, depth, kinds, context)
    return figure


def _depth_shares(ax: Axes, depth: pd.DataFrame, kinds: Sequence[str], context: ReportContext) -> None:
    """Two stacked bars a kind: shares of solved tasks by D, over all of them and over those with R = 1."""
    bands = _bands(context.caps)
    labels, y = [], 0.0
    ticks = []
    for kind in kinds:
        for name, tasks in (
            ("all", depth[depth["kind"] == kind]),
            ("R = 1", depth[(depth["kind"] == kind) & (depth["r"] == 1)]),
        ):
            left = 0.0
            for _, low, high, colour in bands:
                share = float(((tasks["d_rank"] > low) & (tasks["d_rank"] <= high)).mean()) if len(tasks) else 0.0
                if share:
                    ax.barh(y, share, left=left, height=0.8, color=colour, edgecolor="white", linewidth=0.5)
                    if share >= 0.09:
                        dark = colour in _DARK
                        ax.text(left + share / 2, y, f"{100 * share:.0f}%", ha="center", va="center",
                                fontsize=style.SMALL - 0.5, color="white" if dark else style.INK)  # fmt: skip
                left += share
            if not len(tasks):
                ax.text(0.02, y, "no task", va="center", fontsize=style.SMALL)
            labels.append(f"{KIND_LABELS.get(kind, kind)}, {name} ({len(tasks)})")
            ticks.append(y)
            y += 0.95
        y += 0.45
    ax.set_yticks(ticks, labels)
    ax.set_ylim(y - 0.8, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.5, 1], ["0%", "50%", "100%"])
    ax.set_xlabel("share of solved tasks")
    for label, _, _, colour in bands:
        ax.plot([], [], "s", ms=6, color=colour, label=f"D {label}")
    ax.legend(loc="lower left", bbox_to_anchor=(-0.25, 0.995), ncols=len(bands), borderaxespad=0.1, handlelength=0.8,
              columnspacing=0.9, handletextpad=0.3)  # fmt: skip


_SHADES = ("#DCE9F3", "#9CC4E0", "#3F8FC4", "#0A5A94", "#06304F")
_DARK = _SHADES[2:]


def _bands(caps: Sequence[int]) -> list[tuple[str, float, float, str]]:
    """Ranges of D to colour: the paper's cuts at 1, 3 and 20 where the caps have them, and above."""
    cuts = [c for c in (1, 3, 20) if c < caps[-1]]
    edges = [0.0, *map(float, cuts), np.inf]
    bands = []
    for i, (low, high) in enumerate(pairwise(edges)):
        inside = [c for c in caps if low < c <= high]
        first = inside[0] if inside else low
        if math.isinf(high):
            label = f"≥ {first:g}"
        elif not inside or inside[0] == inside[-1]:
            label = f"{first:g}"
        else:
            label = f"{inside[0]}–{inside[-1]}"
        bands.append((label, low, high, _SHADES[min(i + (i > 0), len(_SHADES) - 1)]))
    return bands
