"""Tables 1 and 6: what the audit says of each dataset, beside the paper's row where the paper has the dataset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from termdepth.report import paper
from termdepth.report.context import DatasetInfo, ReportContext
from termdepth.report.frames import Frames, solved, unmeasured
from termdepth.report.table import Col, Row, TableResult, compared
from termdepth.stats import quantiles, share_between

NOTHING = "No task has been measured yet."
KINDS = ("synthetic", "human", "ours", "calibration")
KIND_LABELS = {"synthetic": "synthetic", "human": "human-curated", "ours": "ours", "calibration": "calibration"}


@dataclass(frozen=True)
class Group:
    """Tasks that share a row: a dataset, or all datasets of a kind. info: None for a kind."""

    label: str
    kind: str
    tasks: pd.DataFrame
    info: DatasetInfo | None


def present(frame: pd.DataFrame, context: ReportContext) -> list[DatasetInfo]:
    """The datasets of a frame: by kind, then in the context's order, then any the context does not know."""
    kinds = dict(zip(frame["dataset"], frame["kind"], strict=True)) if "kind" in frame else {}
    known = [d for d in context.datasets if (frame["dataset"] == d.name).any()]
    names = {d.name for d in known}
    extra = [DatasetInfo(n, n, str(kinds.get(n, ""))) for n in frame["dataset"].drop_duplicates() if n not in names]
    return sorted([*known, *extra], key=lambda d: KINDS.index(d.kind) if d.kind in KINDS else len(KINDS))


def groups(depth: pd.DataFrame, context: ReportContext) -> Iterator[Group]:
    """Each dataset, and below the datasets of the two audited kinds a row over all of them where there are several."""
    infos = present(depth, context)
    for kind in dict.fromkeys(d.kind for d in infos):
        of_kind = [d for d in infos if d.kind == kind]
        for info in of_kind:
            yield Group(info.label, kind, depth[depth["dataset"] == info.name], info)
        if kind in ("synthetic", "human") and len(of_kind) > 1:
            tasks = depth[depth["dataset"].isin([d.name for d in of_kind])]
            yield Group(f"all {KIND_LABELS[kind]}", kind, tasks, None)


def mean(values: pd.Series) -> float | None:
    """Mean of what is there; None if nothing is."""
    known = values.dropna()
    return float(known.mean()) if len(known) else None


def median(values: Any, *, ordinal: bool = False) -> float | None:
    """Median of what is there; None if nothing is. ordinal: the lower of two middle values, so that a median of D is a cap."""
    value = float(quantiles(values, 0.5, "lower" if ordinal else "linear"))
    return None if np.isnan(value) else value


def thousands(value: float | None) -> float | None:
    return None if value is None else value / 1000


TABLE1 = (
    Col("dataset", "Dataset", "text"),
    Col("kind", "Kind", "text"),
    Col("source", "", "text"),
    Col("sampled", "Sampled"),
    Col("solved", "Solved"),
    Col("reported_mean_turns", "Reported", digits=1),
    Col("share_d_le_3", "D ≤ 3", "percent"),
    Col("share_d_ge_5", "D ≥ 5", "percent"),
    Col("median_d", "D", "depth"),
    Col("median_n", "N"),
    Col("median_w", "W (lines)"),
    Col("mean_n", "Mean N", digits=1),
    Col("median_minutes", "Minutes", digits=1),
    Col("mean_tokens_k", "Tokens (K)", digits=1),
)


def _audit(tasks: pd.DataFrame) -> Row:
    passed = solved(tasks)
    some = len(passed) > 0
    return {
        "sampled": len(tasks),
        "solved": len(passed),
        "share_d_le_3": share_between(passed["d_rank"], high=3).share if some else None,
        "share_d_ge_5": share_between(passed["d_rank"], low=5).share if some else None,
        "median_d": median(passed["d_rank"], ordinal=True),
        "median_n": median(passed["n"]),
        "median_w": median(passed["w_lines"]),
        "mean_n": mean(passed["n"]),
        "median_minutes": median(passed["minutes"]),
        "mean_tokens_k": thousands(mean(passed["context_tokens"])),
    }


def _paper_of_kind(kind: str, group: Group, context: ReportContext) -> dict[str, Any] | None:
    """What the paper's text says over all datasets of a kind, if these are the datasets here."""
    of_paper = {r["dataset"] for r in paper.rows(context, "table1_audit") if r["kind"] == kind}
    here = {d.paper_row for d in context.datasets if d.name in set(group.tasks["dataset"])}
    if not of_paper or here != of_paper:
        return None
    name = {"synthetic": "synthetic", "human": "human-curated"}[kind]
    total = paper.count(context, f"solved {name} tasks")
    shallow = paper.count(context, "solved synthetic tasks with D<=3") if kind == "synthetic" else None
    deep = paper.count(context, "solved human-curated tasks with D>=5") if kind == "human" else None
    return {
        "solved": total,
        "share_d_le_3": shallow / total if shallow is not None and total else None,
        "share_d_ge_5": deep / total if deep is not None and total else None,
        "median_w": paper.count(context, f"median W of solved {name} tasks"),
    }


def table1(frames: Frames, context: ReportContext) -> TableResult | str:
    """Table 1: sampled, solved, shares at D <= 3 and D >= 5, medians of D, N, W, mean N, and minutes and tokens of the run
    that gives N. All but `sampled` over solved tasks; median D is the lower of two middle caps."""
    if frames["depth"].empty:
        return NOTHING
    rows = []
    for group in groups(frames["depth"], context):
        if group.info is None:
            theirs = _paper_of_kind(group.kind, group, context)
        else:
            found = paper.row(context, "table1_audit", dataset=group.info.paper_row)
            theirs = {k: v for k, v in found.items() if k not in ("dataset", "kind")} if found else None
        keys = {"dataset": group.label, "kind": KIND_LABELS.get(group.kind, group.kind)}
        rows += compared(keys, _audit(group.tasks), theirs)
    columns = [c for c in TABLE1 if c.name != "reported_mean_turns" or any(r.get(c.name) is not None for r in rows)]
    if all(r["source"] == "measured" for r in rows):
        columns = [c for c in columns if c.name != "source"]
    return TableResult(columns, rows, context.above, notes=not_measured(frames["depth"], context))


def not_measured(depth: pd.DataFrame, context: ReportContext) -> list[str]:
    """A note for each dataset with tasks whose runs without a cap were all invalid."""
    notes = []
    for info in present(depth, context):
        mine = depth[depth["dataset"] == info.name]
        names = list(unmeasured(mine)["task"])
        if names:
            some = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
            notes.append(
                f"{info.label}: {len(names)} of {len(mine)} sampled tasks {'has' if len(names) == 1 else 'have'} no valid run "
                f"without a cap, so neither solved nor not is known of {some}; see the table of how runs end."
            )
    return notes


TABLE6 = (
    Col("dataset", "Dataset", "text"),
    Col("kind", "Kind", "text"),
    Col("source", "", "text"),
    Col("solved", "Solved"),
    Col("solved_mean_n", "Solved: mean N", digits=1),
    Col("solved_median_minutes", "Minutes", digits=1),
    Col("solved_mean_tokens_k", "Tokens (K)", digits=1),
    Col("sampled", "Sampled"),
    Col("all_mean_turns", "All: mean turns", digits=1),
    Col("all_median_minutes", "Minutes", digits=1),
    Col("all_mean_tokens_k", "Tokens (K)", digits=1),
)


def table6(frames: Frames, context: ReportContext) -> TableResult | str:
    """Table 6: runs of the first model without a cap; over solved tasks the run that gives N, over all sampled tasks the
    mean of each task's runs, passing or not."""
    if frames["depth"].empty:
        return NOTHING
    rows = []
    for group in groups(frames["depth"], context):
        if group.info is None:
            continue
        passed = solved(group.tasks)
        measured = {
            "solved": len(passed),
            "solved_mean_n": mean(passed["n"]),
            "solved_median_minutes": median(passed["minutes"]),
            "solved_mean_tokens_k": thousands(mean(passed["context_tokens"])),
            "sampled": len(group.tasks),
            "all_mean_turns": mean(group.tasks["all_turns"]),
            "all_median_minutes": median(group.tasks["all_minutes"]),
            "all_mean_tokens_k": thousands(mean(group.tasks["all_tokens"])),
        }
        theirs = paper.row(context, "table6_uncapped", dataset=group.info.paper_row)
        audit = paper.row(context, "table1_audit", dataset=group.info.paper_row) or {}
        if theirs:
            theirs = {**{k: audit.get(k) for k in ("solved", "sampled")}, **theirs}
            del theirs["dataset"]
        keys = {"dataset": group.label, "kind": KIND_LABELS.get(group.kind, group.kind)}
        rows += compared(keys, measured, theirs)
    columns = [c for c in TABLE6 if c.name != "source" or any(r["source"] != "measured" for r in rows)]
    return TableResult(columns, rows, context.above)
