"""Every table and figure of the report: what it is called, what it needs, which function makes it.

Adding one is one function, one line here and one caption in workflow/report/<name>.rst. Importing this module is light:
builders are named, not imported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

Kind = Literal["table", "figure"]

AUDIT, PUBLIC, DIFFICULTY, OURS, MODELS, ROBUST, RECORD = (
    "1 Depth of the datasets",
    "2 Published results",
    "3 Depth and difficulty",
    "4 Segmented tasks",
    "5 Models",
    "6 Robustness of D",
    "7 How the numbers were made",
)


@dataclass(frozen=True)
class Item:
    """One table or figure.

    name: file name and caption name. title: for people. category: where Snakemake's report lists it. inputs: tables of
    record (or derived frames, see `termdepth.report.frames`) it reads. build: 'module:function' of
    (frames, context) -> TableResult or Figure, or a sentence that says why there is none.
    """

    name: str
    kind: Kind
    title: str
    category: str
    inputs: tuple[str, ...]
    build: str

    @property
    def files(self) -> tuple[str, str]:
        """Suffixes of the two files that are written."""
        return (".csv", ".md") if self.kind == "table" else (".png", ".svg")

    def builder(self) -> Callable[..., Any]:
        """The function that makes it; imports its module."""
        module, function = self.build.split(":")
        built: Callable[..., Any] = getattr(import_module(module), function)
        return built


def _table(name: str, title: str, category: str, inputs: str, build: str) -> Item:
    return Item(name, "table", title, category, tuple(inputs.split()), f"termdepth.report.tables.{build}")


def _figure(name: str, title: str, category: str, inputs: str, build: str) -> Item:
    return Item(name, "figure", title, category, tuple(inputs.split()), f"termdepth.report.figures.{build}")


_ALL = (
    _table("table1", "Audit of the datasets (Table 1)", AUDIT, "depth", "audit:table1"),
    _figure("figure3", "Depth and work (Figure 3)", AUDIT, "depth", "plane:figure3"),
    _figure("truth", "Measured depth against the known depth", AUDIT, "depth", "truth:truth"),
    _figure("n_against_d", "Turns without a cap against depth", AUDIT, "depth", "plane:n_against_d"),
    _table("table6", "Runs without a cap (Table 6)", AUDIT, "depth", "audit:table6"),
    _table("depth", "Every task", AUDIT, "depth", "record:depth"),
    _figure(
        "admission_funnel", "From candidates to sampled tasks", AUDIT, "tasks admission", "sampling:admission_funnel"
    ),
    _figure("figure8", "Pass rate by difficulty rating (Figure 8)", PUBLIC, "public_pass_rates", "public:figure8"),
    _figure(
        "pass_rate_against_lines",
        "Published pass rate against solution length",
        PUBLIC,
        "public_pass_rates",
        "public:pass_rate_against_lines",
    ),
    _table("runs_used", "Runs, cost and time", RECORD, "runs", "record:runs_used"),
)

ITEMS: dict[str, Item] = {item.name: item for item in _ALL}
