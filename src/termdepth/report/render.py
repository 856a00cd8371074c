"""Write one item of the registry to its files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from termdepth.data.io import write_atomically, write_text
from termdepth.report.context import ReportContext
from termdepth.report.frames import prepare
from termdepth.report.registry import Item
from termdepth.report.table import TableResult, missing

if TYPE_CHECKING:
    import pandas as pd


def render(item: Item, frames: Mapping[str, pd.DataFrame], context: ReportContext, stem: Path) -> None:
    """Write <stem>.html, .csv and .md for a table; for a figure <stem>.png and .svg for screens, .print.png and .print.pdf
    for print. Each file is written whole or not at all.

    Args:
        frames: tables of record by name; one that is not there, or is empty, is data that is missing.
        stem: path without suffix; its folder is made.

    Where an item has no data it says so in its place: a one-row table, or a figure with the sentence.

    Raises:
        UserError: a file cannot be written.
    """
    if item.kind == "table":
        built = item.builder()(prepare(frames, item.inputs), context)
        table = missing(built) if isinstance(built, str) else built
        assert isinstance(table, TableResult)
        write_text(table.to_csv(), stem.with_name(stem.name + ".csv"))
        write_text(table.to_markdown(item.title), stem.with_name(stem.name + ".md"))
        write_text(table.to_html(item.title), stem.with_name(stem.name + ".html"))
        return
    from termdepth.report import style  # matplotlib costs half a second: only where a figure is drawn

    with style.applied():
        built = item.builder()(prepare(frames, item.inputs), context)
        figure = style.sentence_figure(built) if isinstance(built, str) else built
        for suffix in item.files:
            write_atomically(stem.with_name(stem.name + suffix), partial(style.save, figure, suffix=suffix))
