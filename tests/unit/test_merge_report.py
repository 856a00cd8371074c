"""The tables of the merge ablation: the paper's way of counting."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from termdepth.data.io import to_arrow
from termdepth.data.schema import TABLES
from termdepth.report.context import DatasetInfo, ReportContext
from termdepth.report.frames import prepare
from termdepth.report.registry import ITEMS
from termdepth.report.table import TableResult

CONTEXT = ReportContext(datasets=(DatasetInfo("ours", "Ours", "ours", "Ours"),))


def merged(task: str, d: int, after: int | None, **changes: Any) -> dict[str, Any]:
    row = {
        "dataset": "ours", "task": task, "path": "p", "digest": "d", "image": "i", "n_segments": 4, "d_original": d,
        "checks_total": 9, "checks_dropped": ["1: a", "2: b"], "quality_passed": True, "reason": None,
        "solved": after is not None, "d_merged": after, "runs": 3, "plan_depth": None, "seconds": 1.0,
    }  # fmt: skip
    return row | changes


def build(name: str, rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    frame = to_arrow(rows, TABLES["merged"]).to_pandas()
    result = ITEMS[name].builder()(prepare({"merged": frame}, ("merged",)), CONTEXT)
    assert isinstance(result, TableResult)
    return list(csv.DictReader(io.StringIO(result.to_csv())))


ROWS = [
    merged("a", 20, 20),
    merged("b", 20, 10),
    merged("c", 40, 10),
    merged("d", 80, 1),
    merged("e", 10, None),
    merged("f", 10, None, quality_passed=False, reason="no-op got a reward", solved=None, runs=0),
]


def test_not_solved_within_the_cap_counts_as_no_drop() -> None:
    found = {r["outcome"]: r for r in build("merged_outcomes", ROWS) if r["source"] == "measured"}
    assert {k: int(r["tasks"]) for k, r in found.items()} == {
        "passes at the original cap": 1,
        "not solved within the original cap": 1,
        "drops by one cap": 1,
        "drops by two caps": 1,
        "drops by more than two caps": 1,
        "D does not drop": 2,
    }
    assert found["D does not drop"]["share"] == "0.4"


@pytest.mark.skipif(not Path(CONTEXT.paper, "figure5_merge.csv").is_file(), reason="the paper's figures are not here")
def test_the_papers_counts_stand_beside_ours() -> None:
    rows = build("merged_outcomes", ROWS)
    paper = {r["outcome"]: int(r["tasks"]) for r in rows if r["source"] == "paper"}
    assert paper["not solved within the original cap"] == 9 and sum(paper.values()) == 25


def test_every_sampled_task_has_a_row() -> None:
    rows = build("merged_tasks", ROWS)
    assert [r["task"] for r in rows] == list("abcdef")
    assert (rows[0]["d_merged"], rows[0]["dropped"], rows[4]["d_merged"]) == ("20", "2", "")
    assert rows[5]["reason"] == "no-op got a reward"
    unsaid = build("merged_tasks", [merged("g", 5, None, solved=None)])
    assert unsaid[0]["reason"] == "no valid run"


def test_nothing_merged() -> None:
    assert ITEMS["merged_outcomes"].builder()(prepare({"merged": pd.DataFrame()}, ("merged",)), CONTEXT) == (
        "No task has been merged into one instruction; merging takes solved tasks of several segments, D within the caps."
    )
