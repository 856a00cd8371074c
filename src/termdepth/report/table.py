"""A table of the report: rows for machines (CSV) and for people (Markdown), with the paper's values beside ours."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Style = Literal["text", "number", "percent", "depth", "p_value"]
Row = dict[str, Any]

MEASURED, PAPER, DIFFERENCE = "measured", "paper", "difference"


@dataclass(frozen=True)
class Col:
    """A column. name: in the CSV. title: in the Markdown, with the unit. digits: decimals of a number in the Markdown.

    style "depth" is a D: a cap, or inf for above the largest cap; "percent" is a share in [0, 1]. signed: a difference.
    """

    name: str
    title: str
    style: Style = "number"
    digits: int = 0
    signed: bool = False


@dataclass
class TableResult:
    """Rows in order, their columns, and notes printed below. `above` is how a D above the largest cap is printed."""

    columns: Sequence[Col]
    rows: list[Row]
    above: str = ">80"
    notes: list[str] = field(default_factory=list)

    def to_csv(self) -> str:
        """UTF-8 text with a header of column names; empty cells where there is no value; numbers to four decimals."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([c.name for c in self.columns])
        for row in self.rows:
            writer.writerow([_cell(row.get(c.name), c, self.above) for c in self.columns])
        return out.getvalue()

    def to_markdown(self, title: str) -> str:
        """A heading, the table, and the notes. Numbers are right-aligned; – is a value that does not exist."""
        texts = [[_shown(row, c, self.above) for c in self.columns] for row in self.rows]
        heads = [c.title for c in self.columns]
        widths = [max(len(t) for t in column) for column in zip(heads, *texts, strict=True)]
        left = [c.style == "text" for c in self.columns]

        def line(cells: Iterable[str]) -> str:
            padded = (c.ljust(w) if is_left else c.rjust(w) for c, w, is_left in zip(cells, widths, left, strict=True))
            return f"| {' | '.join(padded)} |"

        rule = "|".join(
            "-" * (w + 2) if is_left else "-" * (w + 1) + ":" for w, is_left in zip(widths, left, strict=True)
        )
        body = [line(heads), f"|{rule}|", *(line(row) for row in texts)]
        notes = [f"- {note}" for note in self.notes]
        return "\n".join([f"# {title}", "", *body, *(["", *notes] if notes else [])]) + "\n"

    def to_html(self, title: str) -> str:
        """The same as a page of its own whose columns sort on a click; fetches nothing. Every text is escaped."""
        from jinja2 import Environment, PackageLoader

        page = Environment(loader=PackageLoader("termdepth.report", "."), autoescape=True).get_template("page.html.j2")
        rows = [
            {
                "source": row.get("source", ""),
                "cells": [
                    {
                        "style": c.style,
                        "key": _key(row.get(c.name)),
                        "text": _shown(row, c, self.above).replace("\\|", "|"),
                    }
                    for c in self.columns
                ],
            }
            for row in self.rows
        ]
        return page.render(title=title, columns=self.columns, rows=rows, notes=self.notes)


def missing(sentence: str) -> TableResult:
    """A one-row table that says why there is nothing to show."""
    return TableResult([Col("note", "note", "text")], [{"note": sentence}])


def cap_text(d: Any, above: str) -> str:
    """A D as text: the cap, `above` for inf, empty where unsolved."""
    if d is None or _nan(d):
        return ""
    return above if math.isinf(float(d)) else f"{float(d):g}"


def interval_text(lower: Any, d: Any, above: str) -> str:
    """The interval that the depth lies in: '(5, 10]', or '>80'; empty where unsolved."""
    text = cap_text(d, above)
    return f"({float(lower):g}, {text}]" if text and text != above else text


def compared(
    keys: Row,
    measured: Mapping[str, Any],
    paper: Mapping[str, Any] | None,
    *,
    labels: Callable[[str], Row] = lambda source: {"source": source},
) -> list[Row]:
    """The measured row and, where the paper has one, the paper's row and the difference (measured less paper).

    A difference is given where both are finite numbers.
    """
    rows = [{**keys, **labels(MEASURED), **measured}]
    if paper is None:
        return rows
    both = {k: float(measured[k]) - float(paper[k]) for k in measured if _finite(measured[k]) and _finite(paper.get(k))}
    return [*rows, {**keys, **labels(PAPER), **paper}, {**keys, **labels(DIFFERENCE), **both}]


def _finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _nan(value: Any) -> bool:
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA
        return True


def _key(value: Any) -> str:
    """What a column is sorted by: the full number, or the text; empty where there is no value."""
    if value is None or _nan(value):
        return ""
    return "Infinity" if value == math.inf else str(value)


def _cell(value: Any, column: Col, above: str) -> str:
    if value is None or _nan(value):
        return ""
    if column.style == "depth" and not isinstance(value, str):
        return cap_text(value, above)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".") or "0"
    return str(value)


def _shown(row: Row, column: Col, above: str) -> str:
    value = row.get(column.name)
    if value is None or _nan(value) or value == "":
        return "" if column.style == "text" else "–"
    if isinstance(value, (str, bool)):
        return _cell(value, column, above).replace("|", "\\|").replace("\n", " ")
    signed = column.signed or row.get("source") == DIFFERENCE
    if column.style == "depth":
        text = cap_text(value, above)
        return f"+{text}" if signed and value > 0 else text.replace("-", "−")
    if column.style == "p_value":
        smallest = 10.0**-column.digits
        return f"<{smallest:.{column.digits}f}" if value < smallest else _rounded(value, column.digits)
    text = _rounded(100 * value if column.style == "percent" else value, column.digits)
    # A difference that is printed as zero has no sign.
    sign = "+" if signed and value > 0 and any(c in text for c in "123456789") else ""
    unit = "" if column.style != "percent" else " pp" if signed else "%"
    return f"{sign}{text}{unit}"


def _rounded(value: float, digits: int) -> str:
    # A median between two whole numbers is shown as it is: rounding to even would make 2 of 2.5 and 4 of 3.5.
    text = f"{value:,.{1 if digits == 0 and value % 1 == 0.5 else digits}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.lstrip("-")
