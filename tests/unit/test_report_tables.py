"""Numbers of the report's tables, on frames small enough to compute by hand."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from termdepth.report.context import DatasetInfo, ModelInfo, ReportContext
from termdepth.report.difficulty import samples
from termdepth.report.frames import prepare
from termdepth.report.registry import ITEMS
from termdepth.report.stages import stages
from termdepth.report.table import Col, TableResult, compared

CONTEXT = ReportContext(
    datasets=(DatasetInfo("tb", "TB2", "human", "TB2"), DatasetInfo("ours", "Ours", "ours", "Ours")),
    models=(ModelInfo("a", "GPT-6 Luna", ("first", "evaluated")), ModelInfo("b", "B", ("second", "evaluated"))),
    first_model="a",
    second_model="b",
    n_boot=50,
)


def build(name: str, context: ReportContext = CONTEXT, **frames: list[dict[str, Any]]) -> TableResult:
    item = ITEMS[name]
    made = {k: pd.DataFrame(v) for k, v in frames.items()}
    table = item.builder()(prepare(made, item.inputs), context)
    assert isinstance(table, TableResult), table
    return table


def read(table: TableResult) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.to_csv())))


def task(name: str, d: int | None, n: int | None, w: int | None, **more: Any) -> dict[str, Any]:
    solved = n is not None
    above = solved and d is None
    row = {
        "dataset": "tb", "task": name, "kind": "human", "n_segments": 1, "solved": solved, "d": d, "d_above": above,
        "d_lower": (80 if above else {1: 0, 2: 1, 3: 2, 5: 3, 10: 5, 80: 40}[d or 1]) if solved else None,
        "d_first": d, "d_first_above": above, "second_ran": False, "n": n, "r": 1.0 if solved else 0.0,
        "minutes": 2.0 * n if n else None, "context_tokens": 1000 * n if n else None, "all_turns": 10.0,
        "all_minutes": 4.0, "all_tokens": 9000.0, "runs": 3, "w_lines": w,
    }  # fmt: skip
    return row | more


FOUR = [
    task("w", 1, 2, 10),
    task("x", 3, 4, 30),
    task("y", 5, 6, None),
    task("z", None, 100, 50),
    task("u", None, None, 7),
]


def test_table1_summarises_solved_tasks_and_stands_beside_the_paper() -> None:
    mine, paper, difference = read(build("table1", depth=FOUR))
    assert (mine["dataset"], mine["source"], mine["sampled"], mine["solved"]) == ("TB2", "measured", "5", "4")
    assert (mine["share_d_le_3"], mine["share_d_ge_5"]) == ("0.5", "0.5")
    # D is 1, 3, 5, >80: the lower of the middle two. N is 2, 4, 6, 100. W is 10, 30, 50.
    assert (mine["median_d"], mine["median_n"], mine["median_w"], mine["mean_n"]) == ("3", "5", "30", "28")
    assert (mine["median_minutes"], mine["mean_tokens_k"]) == ("10", "28")
    assert (paper["source"], paper["sampled"], paper["median_w"], paper["share_d_ge_5"]) == (
        "paper",
        "39",
        "44",
        "0.11",
    )
    assert (difference["sampled"], difference["median_w"], difference["share_d_le_3"]) == ("-34", "-14", "-0.39")


def test_a_median_above_the_largest_cap_is_printed_as_such_and_has_no_difference() -> None:
    mine, _, difference = read(
        build("table1", depth=[task("a", 1, 1, 1), task("b", None, 99, 1), task("c", None, 99, 1)])
    )
    assert mine["median_d"] == ">80"
    assert difference["median_d"] == ""


def test_other_caps_change_how_above_is_printed() -> None:
    other = replace(CONTEXT, caps=(1, 2, 4))
    (row,) = read(build("depth", other, depth=[task("z", None, 9, 5, d_lower=4)]))
    assert (row["depth"], row["d"]) == (">4", ">4")


def test_the_depth_table_gives_the_interval_of_each_task() -> None:
    rows = {r["task"]: r for r in read(build("depth", depth=FOUR))}
    assert [rows[t]["depth"] for t in "wxyzu"] == ["(0, 1]", "(2, 3]", "(3, 5]", ">80", "not solved"]
    assert (rows["u"]["d"], rows["u"]["n"], rows["u"]["r"]) == ("", "", "0")


def test_table6_is_over_solved_and_over_all_tasks() -> None:
    mine, paper, _ = read(build("table6", depth=FOUR))
    assert (mine["solved_mean_n"], mine["solved_median_minutes"], mine["solved_mean_tokens_k"]) == ("28", "10", "28")
    assert (mine["all_mean_turns"], mine["all_median_minutes"], mine["all_mean_tokens_k"]) == ("10", "4", "9")
    assert paper["all_mean_turns"] == "13.4"


def test_several_datasets_of_a_kind_get_a_row_over_all() -> None:
    table = build("table1", depth=[*FOUR, task("v", 1, 1, 20, dataset="other")])
    rows = [(r["dataset"], r["source"]) for r in read(table)]
    assert ("all human-curated", "measured") in rows
    assert ("all human-curated", "paper") not in rows  # the paper's row is about other datasets
    everything = next(r for r in read(table) if r["dataset"] == "all human-curated")
    assert (everything["sampled"], everything["solved"], everything["share_d_le_3"]) == ("6", "5", "0.6")


def test_depth_counts_count_every_solved_task_once() -> None:
    (row,) = read(build("depth_counts", depth=FOUR))
    assert [row[f"d_{c}"] for c in (1, 2, 3, 5, 10, 20, 40, 80)] == ["1", "0", "1", "1", "0", "0", "0", "0"]
    assert (row["d_above"], row["unsolved"]) == ("1", "1")


def test_the_second_model_is_compared_in_caps() -> None:
    depth = [
        task("a", 2, 9, 1, d_first=5, second_ran=True),
        task("b", 3, 9, 1, d_first=5, second_ran=True),
        task("c", 80, 99, 1, d_first=None, d_first_above=True, second_ran=True),
        task("d", 1, 1, 1),
    ]
    row = read(build("second_model", depth=depth))[0]
    assert (row["ran"], row["lowered"], row["by_one"], row["below_5"]) == ("3", "3", "2", "2")
    assert (row["le_3_first"], row["le_3_both"]) == ("0.25", "0.75")


def run(
    task_: str, model: str, *, outcome: str = "passed", segments: int = 2, done: int | None = None, **more: Any
) -> dict:
    passed = outcome == "passed"
    row = {
        "dataset": "ours", "task": task_, "model": model, "phase": "evaluation", "cap": None, "attempt": 1,
        "outcome": outcome, "label": None, "valid": outcome not in ("refused", "verifier_error"), "passed": passed,
        "segments_passed": segments if passed else done or 0, "n_segments": segments, "turns": 10, "minutes": 1.5,
        "input_tokens": 100, "output_tokens": 10, "cached_tokens": None, "context_tokens": 2000, "cost_usd": 0.25,
        "command_lines": 12,
    }  # fmt: skip
    return row | more


RUNS = [
    run("s", "a"), run("s", "a", outcome="failed_checks", done=1, attempt=2, label="early_submit", turns=2),
    run("t", "a", outcome="time_limit", turns=30), run("t", "a", outcome="refused", attempt=2),
    run("v", "a", outcome="verifier_error"),
    run("s", "b", outcome="session_broken", cost_usd=None), run("t", "b", phase="second", cap=3),
]  # fmt: skip


def test_table2_leaves_invalid_runs_and_their_tasks_out() -> None:
    rows = read(build("table2", runs=RUNS))
    mine = next(r for r in rows if r["model"] == "GPT-6 Luna" and r["source"] == "measured")
    # Task s: 1 of 2; task t: 0 of 1; task v has no valid run.
    assert (mine["pass_at_1"], mine["tasks"], mine["tasks_left_out"], mine["runs"]) == ("0.25", "2", "1", "3")
    # Segments: s (1 + 0.5) / 2, t 0. Turns: s 6, t 30.
    assert (mine["segments"], mine["turns"], mine["passing_turns"]) == ("0.375", "18", "10")
    paper = next(r for r in rows if r["source"] == "paper")
    assert (paper["model"], paper["pass_at_1"], paper["turns"]) == ("GPT-6 Luna", "0.2", "35")
    assert [r["source"] for r in rows if r["model"] == "B"] == ["measured"]


def test_outcomes_are_classed_and_counted() -> None:
    rows = read(build("outcomes", runs=RUNS))
    mine = {r["class"]: r for r in rows if r["model"] == "GPT-6 Luna"}
    assert {k: r["count"] for k, r in mine.items()} == {
        "passed": "1", "submits early, unverified": "1", "time or turn limit": "1", "no valid result": "2",
    }  # fmt: skip
    early = mine["submits early, unverified"]
    assert (early["total"], early["share"], early["paper_share"], early["difference"]) == ("5", "0.2", "0.18", "0.02")
    assert mine["no valid result"]["outcomes"] in ("1 refused, 1 verifier_error", "1 verifier_error, 1 refused")


def test_runs_used_adds_up() -> None:
    rows = read(build("runs_used", runs=RUNS))
    assert [(r["phase"], r["model"], r["runs"]) for r in rows] == [
        ("second model, under a cap", "B", "1"), ("evaluation", "GPT-6 Luna", "5"), ("evaluation", "B", "1"), ("all", "", "7"),
    ]  # fmt: skip
    total = rows[-1]
    assert (total["tasks"], total["invalid"], total["cost_usd"], total["cost_unknown"]) == ("3", "2", "1.5", "1")
    assert (total["turns"], total["minutes"], total["input_tokens"]) == ("82", "10.5", "700")


def test_table5_reweights_to_all_tasks_of_the_dataset() -> None:
    depth = [
        task("a", 5, 9, 1, difficulty="hard"),
        task("b", 1, 9, 1, difficulty="easy"),
        task("c", 1, 9, 1, difficulty="hard"),
    ]
    labels = ["easy"] * 3 + ["hard"] * 5 + ["medium"] * 2
    tasks = [{"dataset": "tb", "task": str(i), "kind": "human", "difficulty": label} for i, label in enumerate(labels)]
    mine, paper, _ = read(build("table5", depth=depth, tasks=tasks))
    # hard 1/2 with weight 5, easy 0 with weight 3; medium is not covered.
    assert (mine["share_d_ge_5_sample"], mine["share_d_ge_5_reweighted"], mine["label_coverage"]) == (
        "0.3333",
        "0.3125",
        "0.8",
    )
    assert mine["labels"] == "easy 1 of 3, medium 0 of 2, hard 2 of 5"
    assert paper["share_d_ge_5_reweighted"] == "0.119"


def test_table8_counts_no_crash_as_a_report() -> None:
    def replay(segment: int, holds: bool | None, crashed: bool = False) -> dict[str, Any]:
        return {"dataset": "ours", "task": "t", "segment": segment, "change": "key_step_removed", "event": None,
                "holds": holds, "crashed": crashed}  # fmt: skip

    rows = read(build("table8", replays=[replay(1, True), replay(2, True, True), replay(3, None), replay(4, False)]))
    mine = next(r for r in rows if r["change"] == "key step of segment s removed" and r["source"] == "measured")
    assert (mine["holds"], mine["total"], mine["left_out"]) == ("1", "3", "1")
    paper = next(r for r in rows if r["change"] == "key step of segment s removed" and r["source"] == "paper")
    assert (paper["holds"], paper["total"], paper["share"]) == ("598", "604", "0.99")


def test_cap_effect_is_a_ratio_of_the_first_models_passing_runs() -> None:
    runs = [
        run("s", "a", phase="uncapped", command_lines=10, output_tokens=100, turns=5),
        run("s", "a", phase="uncapped", attempt=2, command_lines=99, output_tokens=900, turns=9),
        run("s", "a", phase="probe", cap=1, command_lines=20, output_tokens=300, turns=1),
        run("t", "a", phase="uncapped", command_lines=10, turns=5),
        run("t", "a", phase="probe", cap=1, outcome="turn_cap", command_lines=1),
        run("t", "a", phase="probe", cap=2, command_lines=10),
        run("t", "b", phase="second", cap=1, command_lines=500),
    ]
    depth = [task("s", 1, 5, 1, dataset="ours", kind="ours"), task("t", 1, 5, 1, dataset="ours", kind="ours")]
    (row,) = read(build("cap_effect", runs=runs, depth=depth))
    assert (row["tasks"], row["command_lines"], row["tasks_d1"], row["output_tokens"]) == ("2", "1.5", "1", "3")


def test_pass_rates_of_evaluated_models_leave_the_first_out_and_take_its_d_where_the_second_is_in() -> None:
    depth = [task(str(i), 5, 9, 10 + i, dataset="ours", kind="ours", d_first=10) for i in range(4)]
    runs = [
        run(str(i), m, outcome="passed" if (m == "b") == (i > 1) else "failed_checks") for i in range(4) for m in "ab"
    ]
    frames = prepare({"depth": pd.DataFrame(depth), "runs": pd.DataFrame(runs)}, ("depth", "runs", "public_pass_rates"))
    (sample,) = samples(frames, CONTEXT, second=True)
    assert sample.tasks["rate"].tolist() == [0, 0, 1, 1]
    assert (sample.d_from, set(sample.tasks["d_main"]), set(sample.tasks["d_both"])) == ("first model", {10}, {5})
    assert samples(frames, CONTEXT, second=False) == []  # only the second was left to average


def test_markdown_is_aligned_escaped_and_signed() -> None:
    rows = compared({"name": "a|b"}, {"share": 0.5, "n": 10.0, "d": float("inf")}, {"share": 0.53, "n": 9.6, "d": 40.0})
    columns = [Col("name", "Name", "text"), Col("source", "", "text"), Col("share", "Share", "percent"), Col("n", "N"),
               Col("d", "D", "depth"), Col("p", "p", "p_value", 3)]  # fmt: skip
    rows[0]["p"] = 0.0002
    text = TableResult(columns, rows).to_markdown("Title")
    lines = text.splitlines()
    assert len({len(line) for line in lines[2:]}) == 1
    assert [c.strip() for c in lines[4].split(" | ")] == ["| a\\|b", "measured", "50%", "10", ">80", "<0.001 |"]
    assert [c.strip() for c in lines[6].split(" | ")] == ["| a\\|b", "difference", "−3 pp", "0", "–", "– |"]


@pytest.mark.parametrize("name", [n for n, item in ITEMS.items() if item.kind == "table"])
def test_a_table_without_data_says_so_in_its_place(name: str) -> None:
    item = ITEMS[name]
    built = item.builder()(prepare({}, item.inputs), ReportContext())
    assert isinstance(built, str)
    assert built.endswith(".")


def test_levels_are_ordered_by_meaning() -> None:
    from termdepth.report.levels import level_order

    assert level_order(["hard", "easy", "medium", None, "easy"]) == ["easy", "medium", "hard"]
    assert level_order([">10", "<=3", ">3, <=10", "(none)"]) == ["<=3", ">3, <=10", ">10", "(none)"]
    assert level_order(["2 / >5", "1", "2 / <=5", "10"]) == ["1", "2 / <=5", "2 / >5", "10"]


def test_table9_is_over_the_segments_and_tasks_that_were_admitted() -> None:
    def made(name: str, n: int, lines: list[int] | None, names: list[int] | None) -> dict[str, Any]:
        return {
            "dataset": "ours", "task": name, "n_segments": n, "segment_lines": lines, "segment_words": [100] * n,
            "segment_names": names,
        }  # fmt: skip

    tasks = [
        made("a", 3, [10, 20, 60], [1, 2, 3]),
        made("b", 3, [30, 30, 30], None),
        made("c", 2, None, [5, 5]),
        made("refused", 3, [999, 999, 999], [99, 99, 99]),
        made("single", 1, [999], [99]),
    ]
    admission = [{"dataset": "ours", "task": t["task"], "admitted": t["task"] != "refused"} for t in tasks]
    table = build("table9", tasks=tasks, admission=admission)
    rows = {(r["statistic"], r["source"]): r for r in read(table)}
    lines = rows["lines of the reference solution", "measured"]
    assert (lines["per_segment_median"], lines["per_task_median"], lines["tasks"]) == ("30", "90", "2")
    assert (float(lines["per_segment_p10"]), float(lines["per_segment_p90"])) == (15.0, 45.0)
    words = rows["words of the instruction", "measured"]
    assert (words["per_segment_median"], words["per_task_median"], words["tasks"]) == ("100", "300", "3")
    names = rows["names stated in the instruction", "measured"]
    assert (names["per_segment_median"], names["per_task_median"], names["tasks"]) == ("3", "8", "2")
    assert rows["lines of the reference solution", "paper"]["per_segment_median"] == "52"


def test_a_task_without_a_valid_run_is_neither_solved_nor_unsolved() -> None:
    depth = [*FOUR, task("lost", None, None, 5, solved=None, r=None)]
    assert {r["task"]: r["depth"] for r in read(build("depth", depth=depth))}["lost"] == "not measured"
    counts = read(build("depth_counts", depth=depth))[0]
    assert (counts["unsolved"], counts["unmeasured"]) == ("1", "1")
    table = build("table1", depth=depth)
    assert [note for note in table.notes if "1 of 6 sampled tasks has no valid run" in note and "lost" in note]
    assert "unmeasured" not in read(build("depth_counts", depth=FOUR))[0]


def test_lists_of_some_tasks_only_as_parquet_gives_them(tmp_path: Path) -> None:
    """A list comes back as an array, whose truth is not one value; a task without tags has none."""
    rows: list[dict[str, Any]] = [
        {"dataset": "tb", "task": "a", "tags": ["x", "y"], "segment_words": [1, 2]},
        {"dataset": "tb", "task": "b", "tags": None, "segment_words": None},
        {"dataset": "tb", "task": "c", "tags": [], "segment_words": [3]},
    ]
    pd.DataFrame(rows).to_parquet(tmp_path / "tasks.parquet")
    frame = prepare({"tasks": pd.read_parquet(tmp_path / "tasks.parquet")}, ["tasks"])["tasks"]
    assert [None if v is None else list(v) for v in frame["tags"]] == [["x", "y"], None, []]
    assert [None if v is None else list(v) for v in frame["segment_words"]] == [[1, 2], None, [3]]


def test_tasks_that_are_not_measured_are_listed_with_the_reason_and_others_counted() -> None:
    def made(name: str, reason: str | None, log: str | None = None) -> dict[str, Any]:
        return {"dataset": "tb", "task": name, "admitted": reason is None, "reason": reason, "log": log}

    rows = [
        made("a", None),
        made("b", "oracle failed: not full marks: FAIL port: closed", "results/validation/tb/b/x.txt"),
        made("c", "no build: x"),
        *(made(f"d{i}", "name not asked for") for i in range(3)),
        made("e", "spare"),
    ]
    table = build("admission", admission=rows)
    assert [(r["task"], r["log"]) for r in read(table)] == [("b", "results/validation/tb/b/x.txt"), ("c", "")]
    assert table.notes == [
        "TB2: 1 of 7 tasks found are admitted; not listed here: 3 not asked for by name, "
        "1 spare, since the sample was complete."
    ]


def test_each_rule_of_the_sampling_has_its_own_stage() -> None:
    out = ["name not asked for"] * 3 + ["no reference solution", "no evidence of a pass", "not light: gpu", None]
    tasks = pd.DataFrame({"left_out": out, "problem": None})
    admission = pd.DataFrame(
        {"order": [0], "reason": [None], "light": [True], "image": ["x"], "oracle_passed": [True], "seconds": [1.0],
         "noop_reward": [0.0], "admitted": [True]}
    )  # fmt: skip
    assert stages(tasks, admission) == [
        ("found", 7), ("name asked for", 4), ("has a reference solution", 3), ("passed by a model", 2),
        ("light dependencies", 1), ("image built, and light", 1), ("reference solution passes", 1),
        ("doing nothing fails", 1), ("sampled", 1),
    ]  # fmt: skip


def test_a_median_between_whole_numbers_is_not_rounded_to_even() -> None:
    table = TableResult((Col("n", "N"),), [{"n": 2.5}, {"n": 3.5}, {"n": 2.4}, {"n": -0.2}])
    assert [line.strip("| ") for line in table.to_markdown("x").splitlines()[4:8]] == ["2.5", "3.5", "2", "0"]
