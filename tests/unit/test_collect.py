"""From runs to rows of `depth`: W of tasks that release no solution (App. D)."""

from __future__ import annotations

from typing import Any

import pytest

from termdepth.pipeline.collect import lines_sent


def run(phase: str, cap: int | None, turns: int, lines: int, passed: bool = True, valid: bool = True) -> dict[str, Any]:
    return {"phase": phase, "cap": cap, "turns": turns, "command_lines": lines, "passed": passed, "valid": valid}


@pytest.mark.parametrize(
    ("runs", "lines"),
    [
        ([], None),
        ([run("uncapped", None, 9, 40, passed=False)], None),
        ([run("uncapped", None, 9, 40), run("uncapped", None, 6, 50)], 50),  # no cap below N passes: the run of N turns
        ([run("uncapped", None, 6, 50), run("probe", 3, 3, 30), run("probe", 5, 4, 20)], 30),  # the smallest cap
        ([run("uncapped", None, 6, 50), run("probe", 1, 1, 30, passed=False), run("probe", 2, 2, 31)], 31),
        ([run("uncapped", None, 6, 50), run("second", 1, 1, 12)], 50),  # the second model's runs are not the paper's
        ([run("uncapped", None, 6, 50, valid=False), run("uncapped", None, 8, 51)], 51),
    ],
)
def test_work_of_a_task_without_a_solution(runs: list[dict[str, Any]], lines: int | None) -> None:
    assert lines_sent(runs) == lines
