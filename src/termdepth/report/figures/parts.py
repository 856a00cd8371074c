"""Pieces that several figures are made of."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from termdepth.report import style


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places for labels near their values, at least `gap` apart and within [low, high] where that is possible."""
    order = np.argsort(places, kind="stable")
    wanted = np.asarray(places, dtype=float)[order]
    n = len(wanted)
    gap = min(gap, (high - low) / max(n - 1, 1))
    # Least movement from the wanted places with a fixed gap: pool neighbours that collide around their mean.
    offsets = wanted - gap * np.arange(n)
    blocks: list[list[float]] = []
    for value in offsets:
        blocks.append([value, 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, m), (b, k) = blocks[-2:]
            blocks[-2:] = [[(a * m + b * k) / (m + k), m + k]]
    placed = np.repeat([b[0] for b in blocks], [int(b[1]) for b in blocks])
    placed = np.clip(placed, low, high - gap * (n - 1)) + gap * np.arange(n)
    out = np.empty(n)
    out[order] = placed
    return [float(v) for v in out]


def row_labels(ax: Axes, labels: Sequence[str], colours: Sequence[str] | None = None, *, width: int = 24) -> None:
    """Rows 0, 1, … from top to bottom, named at the left; long names are broken into lines."""
    ax.set_yticks(range(len(labels)), [textwrap.fill(label, width) for label in labels])
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    if colours is not None:
        for text, colour in zip(ax.get_yticklabels(), colours, strict=True):
            text.set_color(style.dark(colour))
            text.set_fontweight("bold")


def count_grid(
    ax: Axes, counts: style.Floats, x: Sequence[float], y: Sequence[float], colour: str, *, by_row: bool = False
) -> None:
    """Cells with their number of tasks, the darker the more; empty cells stay empty.

    Args:
        counts: shape (len(y), len(x)). by_row: shade by the share within the row, else by the largest cell.
    """
    top = counts.max(axis=1, keepdims=True) if by_row else np.full((len(y), 1), counts.max(initial=0))
    for j, i in zip(*np.nonzero(counts), strict=True):
        share = float(counts[j, i] / top[j, 0])
        face = style.light(colour, 0.15 + 0.75 * share)
        ax.add_patch(Rectangle((x[i] - 0.46, y[j] - 0.42), 0.92, 0.84, facecolor=face, edgecolor="none", zorder=1))
        ax.text(
            x[i],
            y[j],
            f"{int(counts[j, i])}",
            ha="center",
            va="center",
            fontsize=style.SMALL,
            color="white" if share > 0.6 else style.INK,
            zorder=2,
        )


def zero_line(ax: Axes) -> None:
    ax.axvline(0, color=style.LINE, lw=0.6, zorder=0)
