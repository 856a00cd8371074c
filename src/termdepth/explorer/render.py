"""Pages from templates. Pure: text in, text out.

Every value that a template prints is made visible (`clean`) and then escaped; only the package's own style and script, and
what a macro made of them, are printed as they are. A page needs nothing beside itself and may load nothing (its CSP).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from termdepth.explorer.caps import role_of, state_of, strips
from termdepth.explorer.index import STATUSES, Row, Task, columns, csv_line, values
from termdepth.explorer.text import block, clean, file_name
from termdepth.explorer.timeline import Message, Timeline, Turn
from termdepth.harness.outcomes import OUTCOME_RULES
from termdepth.report.context import ReportContext
from termdepth.report.table import interval_text

# Characters: of a text on a task's page, and of all texts on it together; of a text on a run's own page.
TEXT_CHARS, PAGE_CHARS, LEAST_CHARS = 12_000, 1_500_000, 160
WHOLE_CHARS = 200_000
_BAR_WIDTH, _BAR_HEIGHT = 6, 28


@dataclass(frozen=True)
class Site:
    """What all pages share. notes: sentences for the index, about the data as a whole."""

    title: str
    notes: tuple[str, ...]
    context: ReportContext


@dataclass(frozen=True)
class Bar:
    """A turn in the small picture of a run: places in its units, model time below terminal time."""

    x: float
    model: float
    terminal: float
    starts_segment: bool
    parse_error: bool


# --- the environment


def _shown(value: Any) -> Any:
    """What is printed for a value of a template; jinja2 escapes it after this, but for Markup."""
    if value is None:
        return ""
    if isinstance(value, Markup | int | float):
        return value
    return clean(str(value))


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    if value < 0.995:
        return f"{value:.2f} s"
    if value < 9.95:
        return f"{value:.1f} s"
    if value < 99.5:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _words(value: str) -> str:
    return value.replace("_", " ")


@cache
def _environment() -> Environment:
    env = Environment(
        loader=PackageLoader("termdepth.explorer"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {"seconds": _seconds, "number": _number, "percent": _percent, "words": _words, "block": block}
    style, script = (files("termdepth.explorer").joinpath("templates", f).read_text("utf-8") for f in _ASSETS)
    env.globals |= {
        "style": Markup(style),
        "script": Markup(script),
        "csp": "; ".join(
            (
                "default-src 'none'",
                "img-src data:",  # the empty icon, which keeps a browser from asking for one
                f"style-src {_hash(style)}",
                f"script-src {_hash(script)}",
                "base-uri 'none'",
                "form-action 'none'",
            )
        ),
        "is_turn": lambda item: isinstance(item, Turn),
        "is_message": lambda item: isinstance(item, Message),
        "state_of": state_of,
        "role_of": role_of,
    }
    return env


_ASSETS = ("explorer.css", "explorer.js")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _page(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)


# --- pages


def render_index(tasks: Sequence[Task], site: Site) -> tuple[str, str]:
    """The index as (HTML, CSV of all its rows)."""
    table = columns(tasks, site.context)
    rows = []
    lines = [csv_line(c.name for c in table)]
    for task in tasks:
        cells = values(task, table, site.context)
        lines.append(csv_line(v.csv for v in cells))
        rows.append({"task": task, "cells": list(zip(table, cells, strict=True)), "csv": lines[-1]})
    counts = {s: n for s in STATUSES if (n := sum(t.status == s for t in tasks))}
    html = _page(
        "index.html.j2",
        site=site,
        base="",
        columns=table,
        rows=rows,
        csv_head=lines[0],
        datasets=list(dict.fromkeys(t.dataset for t in tasks)),
        counts=counts,
        runs=sum(len(t.runs) for t in tasks),
    )
    return html, "\n".join(lines) + "\n"


def whole_page(run: Row) -> str:
    """Name, without suffix, of the page that shows a run uncut."""
    return file_name(run["dataset"], run["task"], run["fingerprint"], run["model"])


def text_limit(timelines: Sequence[Timeline]) -> int:
    """Characters of each text of a task's page, so that the page stays within `PAGE_CHARS` or little more."""
    sizes = sorted(len(t) for line in timelines for t in line.texts() if t)
    left, limit = PAGE_CHARS, TEXT_CHARS
    for place, size in enumerate(sizes):  # the short ones leave room for the long ones
        share = left // (len(sizes) - place)
        if size > share:
            return max(LEAST_CHARS, min(limit, share))
        left -= min(size, limit)
    return limit


def render_task(task: Task, timelines: Sequence[Timeline], site: Site) -> tuple[str, dict[str, str]]:
    """A task's page, and the pages of those of its runs that do not fit on it, by name without suffix.

    Args:
        timelines: one for each of task.runs.
    """
    limit = text_limit(timelines)
    runs: list[dict[str, Any]] = []
    for place, (run, timeline) in enumerate(zip(task.runs, timelines, strict=True), start=1):
        cut = any(len(t) > limit for t in timeline.texts())
        runs.append(
            {
                "place": place,
                "row": run,
                "timeline": timeline,
                "bars": bars(timeline),
                "whole": whole_page(run) if cut else None,
                "meaning": next((r.meaning for o, r in OUTCOME_RULES.items() if o == run["outcome"]), ""),
            }
        )
    shared = {
        "site": site,
        "base": "../",
        "task": task,
        "bar_width": _BAR_WIDTH,
        "bar_height": _BAR_HEIGHT,
    }
    html = _page(
        "task.html.j2",
        **shared,
        runs=runs,
        limit=limit,
        strips=strips(task.runs, site.context.caps, task.depth),
        depth=interval_text(task.depth.get("d_lower"), task.d_rank, site.context.above),
    )
    wholes = {
        run["whole"]: _page("run.html.j2", **shared, run={**run, "whole": None}, limit=WHOLE_CHARS, page=task.page)
        for run in runs
        if run["whole"]
    }
    return html, wholes


def bars(timeline: Timeline) -> list[Bar]:
    """The small picture of a run: a bar for each turn, its height by the turn's seconds, on a square-root scale."""
    seconds = [
        (float(t.row.get("model_seconds") or 0.0), float(t.row.get("terminal_seconds") or 0.0)) for t in timeline.turns
    ]
    longest = max((m + t for m, t in seconds), default=0.0) or 1.0
    out = []
    segment = None
    for place, (turn, (model, terminal)) in enumerate(zip(timeline.turns, seconds, strict=True)):
        height = max(2.0, _BAR_HEIGHT * ((model + terminal) / longest) ** 0.5)
        share = model / (model + terminal) if model + terminal else 1.0
        now = turn.row.get("segment")
        out.append(
            Bar(
                place * _BAR_WIDTH,
                round(height * share, 1),
                round(height * (1 - share), 1),
                segment is not None and now != segment,
                bool(turn.row.get("parse_error")),
            )
        )
        segment = now
    return out
