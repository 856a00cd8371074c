"""The table of other measures of work, on numbers worked out by hand."""

from __future__ import annotations

import pandas as pd

from termdepth.report.context import DatasetInfo, ReportContext
from termdepth.report.frames import prepare
from termdepth.report.table import TableResult
from termdepth.report.tables.work import work_measures


def test_medians_and_correlations_over_tasks_with_a_solution() -> None:
    depth = pd.DataFrame(
        {
            "dataset": ["a", "a", "a", "a", "a"],
            "task": list("vwxyz"),
            "solved": [True, False, True, True, True],
            "w_lines": [10.0, 20.0, 30.0, 40.0, None],
            "w_tokens": [100.0, 200.0, 300.0, 400.0, None],
            "w_chars": [400.0, 300.0, 200.0, 100.0, None],
        }
    )
    context = ReportContext(datasets=(DatasetInfo("a", "A", "human"),))
    table = work_measures(prepare({"depth": depth}, ["depth"]), context)
    assert isinstance(table, TableResult)
    ours, published = table.rows
    assert (ours["tasks"], ours["w_lines"], ours["w_tokens"], ours["w_chars"]) == (4, 25, 250, 250)
    assert (ours["rho_tokens"], ours["rho_chars"]) == (1.0, -1.0)
    assert (published["tasks"], published["rho_tokens"], published["rho_chars"]) == (739, 0.98, 0.97)
