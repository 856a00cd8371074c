"""Other measures of work, in numbers (App. D, Figure 9)."""

from __future__ import annotations

from termdepth.report import paper
from termdepth.report.context import ReportContext
from termdepth.report.frames import Frames
from termdepth.report.table import Col, Row, TableResult
from termdepth.report.tables.audit import present
from termdepth.stats import quantiles, spearman

MEASURES = (("w_lines", "Lines"), ("w_tokens", "BPE tokens"), ("w_chars", "Characters"))
COLUMNS = (
    Col("dataset", "Dataset", "text"),
    Col("tasks", "Tasks"),
    *(Col(name, f"{title}: median") for name, title in MEASURES),
    Col("rho_tokens", "ρ lines, tokens", digits=2),
    Col("rho_chars", "ρ lines, characters", digits=2),
)


def work_measures(frames: Frames, context: ReportContext) -> TableResult | str:
    """Medians of W in lines, tokens and characters, and Spearman of lines with the other two, over all sampled tasks that
    have a reference solution, solved or not: each dataset, then all together with the paper's values below."""
    tasks = frames["depth"]
    tasks = tasks[tasks["w_lines"].notna()]
    infos = present(tasks, context)
    if not infos:
        return "No sampled task has a reference solution, so there is no work to count."
    groups = [(info.label, tasks[tasks["dataset"] == info.name]) for info in infos]
    rows: list[Row] = []
    for label, group in [*groups, *([("all", tasks)] if len(groups) > 1 else [])]:
        rows.append(
            {
                "dataset": label,
                "tasks": len(group),
                **{name: float(quantiles(group[name], 0.5)) for name, _ in MEASURES},
                "rho_tokens": spearman(group["w_lines"], group["w_tokens"], n_boot=0).rho,
                "rho_chars": spearman(group["w_lines"], group["w_chars"], n_boot=0).rho,
            }
        )
    published = {
        "dataset": "the paper, all but TMax",
        "tasks": paper.count(context, "tasks counted in other measures of work"),
        "rho_tokens": paper.count(context, "Spearman of W in lines with tokens"),
        "rho_chars": paper.count(context, "Spearman of W in lines with characters"),
    }
    return TableResult(COLUMNS, [*rows, published], context.above)
