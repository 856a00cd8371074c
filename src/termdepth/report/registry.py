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
    record it reads. build: 'module:function' of
    (frames, context) -> TableResult or Figure, or a sentence that says why there is none.
    """

    name: str
    kind: Kind
    title: str
    category: str
    inputs: tuple[str, ...]
    build: str

    @property
    def files(self) -> tuple[str, ...]:
        """Suffixes of the files that are written; the first is the one to show in a report."""
        return (".html", ".csv", ".md") if self.kind == "table" else (".png", ".svg", ".print.png", ".print.pdf")

    def builder(self) -> Callable[..., Any]:
        """The function that makes it; imports its module."""
        module, function = self.build.split(":")
        built: Callable[..., Any] = getattr(import_module(module), function)
        return built


def _table(name: str, title: str, category: str, inputs: str, build: str) -> Item:
    return Item(name, "table", title, category, tuple(inputs.split()), f"termdepth.report.tables.{build}")


def _figure(name: str, title: str, category: str, inputs: str, build: str) -> Item:
    return Item(name, "figure", title, category, tuple(inputs.split()), f"termdepth.report.figures.{build}")


_DIFFICULTY = "depth public_pass_rates runs"

# In the order in which the report shows them.
_ALL = (
    _table("table1", "Audit of the datasets (Table 1)", AUDIT, "depth", "audit:table1"),
    _figure("figure3", "Depth and work (Figure 3)", AUDIT, "depth", "plane:figure3"),
    _figure("truth", "Measured depth against the known depth", AUDIT, "depth", "truth:truth"),
    _figure("n_against_d", "Turns without a cap against depth", AUDIT, "depth", "plane:n_against_d"),
    _table("table6", "Runs without a cap (Table 6)", AUDIT, "depth", "audit:table6"),
    _table("depth_counts", "Tasks by depth", AUDIT, "depth", "protocol:depth_counts"),
    _table("cap_effect", "What stating a cap changes", AUDIT, "depth runs", "protocol:cap_effect"),
    _table("depth", "Every task", AUDIT, "depth", "record:depth"),
    _figure("figure8", "Pass rate by difficulty rating (Figure 8)", PUBLIC, "public_pass_rates", "public:figure8"),
    _figure(
        "pass_rate_against_lines",
        "Published pass rate against solution length",
        PUBLIC,
        "public_pass_rates",
        "public:pass_rate_against_lines",
    ),
    _table("ratings", "Pass rate by difficulty rating, in numbers", PUBLIC, "public_pass_rates", "difficulty:ratings"),
    _table(
        "public_correlations",
        "What published pass rates go with",
        PUBLIC,
        "public_pass_rates",
        "difficulty:public_correlations",
    ),
    _figure("figure4", "Depth against difficulty (Figure 4)", DIFFICULTY, _DIFFICULTY, "difficulty:figure4"),
    _table("correlations", "Depth against difficulty, in numbers", DIFFICULTY, _DIFFICULTY, "difficulty:correlations"),
    _table("quadrants", "Large in work, in depth, in both", DIFFICULTY, _DIFFICULTY, "difficulty:quadrants"),
    _table("power", "What a sample of this size can show", DIFFICULTY, _DIFFICULTY, "difficulty:power"),
    _figure("figure5", "Segments merged into one instruction (Figure 5)", OURS, "depth runs", "segmented:figure5"),
    _table("merged_outcomes", "What merging the segments changes", OURS, "merged", "merged:outcomes"),
    _table("merged_tasks", "Every merged task", OURS, "merged", "merged:tasks"),
    _table("table8", "Replays with a part removed (Table 8)", OURS, "replays", "segmented:table8"),
    _table("table9", "Statistics of the tasks (Table 9)", OURS, "tasks admission", "segmented:table9"),
    _figure("figure13", "Ours against the original tasks (Figure 13)", OURS, "depth tasks", "segmented:figure13"),
    _table("table2", "Evaluated models (Table 2)", MODELS, "runs", "evaluation:table2"),
    _figure("figure6", "Runs segment by segment (Figure 6)", MODELS, "runs", "models:figure6"),
    _figure("figure14", "How runs end (Figure 14)", MODELS, "runs", "models:figure14"),
    _table("outcomes", "How runs end, in numbers", MODELS, "runs", "evaluation:outcomes"),
    _table("work_measures", "Other measures of work, in numbers", ROBUST, "depth", "work:work_measures"),
    _figure("figure9", "Other measures of work (Figure 9)", ROBUST, "depth", "robust:figure9"),
    _figure("figure10", "Effect of the second model (Figure 10)", ROBUST, "depth", "robust:figure10"),
    _table("second_model", "Effect of the second model, in numbers", ROBUST, "depth", "protocol:second_model"),
    _figure("figure11", "Difficulty, with each set of models (Figure 11)", ROBUST, _DIFFICULTY, "difficulty:figure11"),
    _figure("figure12", "Tasks whose runs never fail (Figure 12)", ROBUST, _DIFFICULTY, "difficulty:figure12"),
    _table("runs_used", "Runs, cost and time", RECORD, "runs", "record:runs_used"),
    _figure(
        "admission_funnel", "From candidates to sampled tasks", RECORD, "tasks admission", "sampling:admission_funnel"
    ),
    _table("admission", "Tasks that are not measured, and why", RECORD, "admission", "admission:admission"),
    _table("table3", "Settings of the harness (Table 3)", RECORD, "tasks", "sampling:table3"),
    _table("table4", "Groups to sample by (Table 4)", RECORD, "tasks admission", "sampling:table4"),
    _table("table5", "Sample against the whole dataset (Table 5)", RECORD, "depth tasks", "sampling:table5"),
)

CATEGORIES: dict[str, str] = {
    "audit": AUDIT,
    "published": PUBLIC,
    "difficulty": DIFFICULTY,
    "segmented": OURS,
    "models": MODELS,
    "robustness": ROBUST,
    "record": RECORD,
}
"""Categories by short name: the items of one are drawn by one job, because imports cost more than most figures."""

ITEMS: dict[str, Item] = {item.name: item for item in _ALL}
