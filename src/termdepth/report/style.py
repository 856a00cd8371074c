"""The one look of all figures: sizes, fonts, colours, the axis of caps. Nothing here knows a figure.

Colours are Okabe & Ito's (2008), told apart with every common form of colour blindness, less the yellow that vanishes on
white. A dataset keeps its colour and marker in every figure, and a model keeps its colour.
"""

from __future__ import annotations

import hashlib
import io
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from numpy.typing import NDArray

from termdepth.report.context import ReportContext

Floats = NDArray[np.float64]

# Widths of a column and of a page of print, inches. Figures are laid out at these, and shown larger on a screen, where
# 8 points are too small to read: a page is then 1,000 pixels of CSS wide.
COLUMN, PAGE = 3.4, 6.9
SCREEN = 1.5
DPI = 200
FONT = 8.0
SMALL = 7.0

BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, ORANGE, GREY, WINE = "#56B4E9", "#E69F00", "#5A5A5A", "#882255"
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, WINE, GREY)  # grey last: it looks like no colour
INK, FAINT, LINE = "#1A1A1A", "#E4E4E4", "#8C8C8C"

_OF_PAPER = {
    "TMax": ORANGE, "FACET": SKY, "SETA": GREEN, "RST": PURPLE, "TB2": BLUE, "TW": GREY, "Ours": VERMILLION,
    "Claude Sonnet 5.5": ORANGE, "GPT-6.1 Sol": GREEN, "GPT-6 Luna": SKY,
    "DeepSeek-V4.1-Flash": BLUE, "MiMo-V2.6-Flash": VERMILLION, "GLM-5.3-Flash": PURPLE,
}  # fmt: skip
_MARKERS = {"synthetic": "o", "human": "s", "ours": "D", "calibration": "^"}

_RC: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": FONT,
    "axes.titlesize": FONT,
    "axes.labelsize": FONT,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlepad": 5.0,
    "axes.edgecolor": LINE,
    "axes.linewidth": 0.6,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.0,
    "patch.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "figure.dpi": DPI,
    "savefig.dpi": DPI,
    "figure.constrained_layout.use": True,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "termdepth",
}


@contextmanager
def applied() -> Iterator[None]:
    """The style, for what is drawn and saved inside; other users of matplotlib keep theirs."""
    with mpl.rc_context(_RC):  # type: ignore[arg-type]
        yield


def new_figure(width: float = PAGE, height: float = 2.8) -> Figure:
    """An empty figure of a print size in inches, drawn by Agg whatever the machine has."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: str, suffix: str) -> None:
    """Write the figure; the same figure gives the same bytes (no date inside).

    suffix: ".png" or ".svg" at screen size, ".print.png" or ".print.pdf" at print size; rasters have 200 dots an inch.
    """
    scale = 1.0 if suffix.startswith(".print") else SCREEN
    match suffix.rpartition(".")[2]:
        case "png":
            metadata: dict[str, Any] = {"metadata": {"Software": None}, "pil_kwargs": {"dpi": (DPI, DPI)}}
            figure.savefig(path, format="png", dpi=DPI * scale, facecolor="white", **metadata)
        case "pdf":
            figure.savefig(path, format="pdf", metadata={"CreationDate": None}, facecolor="white")
        case _:
            text = io.StringIO()
            figure.savefig(text, format="svg", metadata={"Date": None}, facecolor="white")
            Path(path).write_text(_scaled(text.getvalue(), scale), encoding="utf-8")


def _scaled(svg: str, scale: float) -> str:
    """An SVG shown larger: its outer size changes, its own coordinates do not."""
    head, tag, rest = svg.partition(">\n <metadata>")
    size = re.compile(r'\b(width|height)="([0-9.]+)pt"')
    return size.sub(lambda m: f'{m[1]}="{float(m[2]) * scale:g}pt"', head) + tag + rest


def sentence_figure(sentence: str) -> Figure:
    """A figure that says why there is nothing to show."""
    figure = new_figure(PAGE, 1.0)
    figure.text(0.5, 0.5, textwrap.fill(sentence, 90), ha="center", va="center", color=INK)
    return figure


def sentence_panel(ax: Axes, sentence: str, width: int = 36) -> None:
    """The same in the place of one panel; the panel's title stays."""
    ax.set_axis_off()
    ax.text(0.5, 0.5, textwrap.fill(sentence, width), ha="center", va="center", transform=ax.transAxes, fontsize=SMALL)


def dark(colour: str, factor: float = 0.72) -> str:
    """A darker shade for text, readable on white."""
    red, green, blue = to_rgb(colour)
    return to_hex((factor * red, factor * green, factor * blue))


def light(colour: str, share: float = 0.35) -> str:
    """A pale shade for areas."""
    red, green, blue = to_rgb(colour)
    return to_hex((1 - share * (1 - red), 1 - share * (1 - green), 1 - share * (1 - blue)))


def _colours(named: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """A colour for each name: the paper's names have fixed ones, others the first free one from a place their name gives.

    A name keeps its colour when others are added after it.
    """
    colours: dict[str, str] = {}
    named = list(named)
    for name, paper in named:
        if paper in _OF_PAPER or name in _OF_PAPER:
            colours[name] = _OF_PAPER[paper if paper in _OF_PAPER else name]
    for name, _ in named:
        if name in colours:
            continue
        *hues, last = PALETTE
        start = int(hashlib.sha256(name.encode()).hexdigest(), 16) % len(hues)
        order = [*hues[start:], *hues[:start], last]
        used = set(colours.values())
        colours[name] = next((c for c in order if c not in used), order[0])
    return colours


def dataset_colours(context: ReportContext, names: Iterable[str] = ()) -> dict[str, str]:
    """Colour by dataset name, for those of the context and any others."""
    known = [(d.name, d.paper_row) for d in context.datasets]
    return _colours([*known, *((n, None) for n in names if n not in {k for k, _ in known})])


def model_colours(context: ReportContext, ids: Iterable[str] = ()) -> dict[str, str]:
    """Colour by model id, for those of the context and any others."""
    known = [(m.id, m.label) for m in context.models]
    return _colours([*known, *((i, None) for i in ids if i not in {k for k, _ in known})])


def kind_marker(kind: str) -> str:
    """The marker of a kind of dataset."""
    return _MARKERS.get(kind, "o")


def marker_size(kind: str, size: float) -> float:
    """The size at which the markers of all kinds look alike."""
    return size * {"s": 0.92, "D": 0.92, "^": 1.15}.get(kind_marker(kind), 1.0)


def share_axis(ax: Axes, which: str, label: str) -> None:
    """Shares from 0 to 1, with ticks at the quarters and room for markers at the ends."""
    (ax.set_xlim if which == "x" else ax.set_ylim)(-0.04, 1.04)
    (ax.xaxis if which == "x" else ax.yaxis).set_ticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    (ax.set_xlabel if which == "x" else ax.set_ylabel)(label)


@dataclass(frozen=True)
class CapAxis:
    """D on an axis: the caps at equal steps, in order, and 'above the largest cap' apart behind a line.

    Steps are equal because D is known only up to the next cap: distances between caps mean nothing.
    """

    caps: Sequence[int]

    @classmethod
    def of(cls, context: ReportContext) -> CapAxis:
        return cls(context.caps)

    @property
    def above(self) -> float:
        """Position of '>80'."""
        return len(self.caps) + 0.4

    def positions(self, d: Any) -> Floats:
        """Positions of D (caps; inf is above the largest cap; nan stays nan), shape (n,). A D between caps lies between."""
        values = np.asarray(d, dtype=np.float64)
        between = np.interp(values, self.caps, np.arange(len(self.caps), dtype=np.float64))
        return np.where(np.isnan(values), np.nan, np.where(np.isinf(values), self.above, between))

    def apply(self, ax: Axes, which: str = "x", label: str = "D (smallest cap passed, turns)") -> None:
        """Ticks, limits, label and the line before '>80'."""
        axis = ax.xaxis if which == "x" else ax.yaxis
        axis.set_ticks([*range(len(self.caps)), self.above], [*map(str, self.caps), f">{self.caps[-1]}"])
        (ax.set_xlim if which == "x" else ax.set_ylim)(-0.6, self.above + 0.6)
        (ax.axvline if which == "x" else ax.axhline)(len(self.caps) - 0.3, color=LINE, lw=0.5, ls=(0, (1, 2)), zorder=0)
        (ax.set_xlabel if which == "x" else ax.set_ylabel)(label)


def log_axis(ax: Axes, which: str, low: float, high: float, label: str, *, most: int = 8) -> None:
    """A log axis from low to high (both > 0) with at most about `most` plain numbers, at steps of 1, 2, 5 where they fit."""
    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    axis = ax.xaxis if which == "x" else ax.yaxis
    decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = np.array([s * 10**d for d in decades for s in steps if low <= s * 10**d <= high])
        if len(ticks) <= most:
            break
    axis.set_ticks(list(ticks), [f"{v:,.0f}" if v >= 1 else f"{v:g}" for v in ticks])
    axis.set_minor_locator(NullLocator())
    (ax.set_xlim if which == "x" else ax.set_ylim)(low, high)
    (ax.set_xlabel if which == "x" else ax.set_ylabel)(label)


def swarm(positions: Floats, heights: Floats, *, bins: float, width: float = 0.38) -> Floats:
    """Horizontal places for points, so that points of one column at about the same height stand side by side.

    Args:
        positions: centre of each point's column. heights: place on the other axis. Both shape (n,).
        bins: height of a row of points, in units of `heights`. width: half the room of a column.
    """
    out = positions.astype(np.float64).copy()
    rows = np.floor(heights / bins)
    for key in {(p, r) for p, r in zip(positions, rows, strict=True) if p == p and r == r}:
        index = np.flatnonzero((positions == key[0]) & (rows == key[1]))
        index = index[np.argsort(heights[index], kind="stable")]
        step = min(0.11, 2 * width / max(len(index) - 1, 1))
        out[index] = key[0] + step * (np.arange(len(index)) - (len(index) - 1) / 2)
    return out
