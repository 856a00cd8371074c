"""From a folder to the list that is sampled from, and from checked tasks to the sample (App. C)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_builders import TOML, single, write
from termdepth.config.models import Config
from termdepth.data import TABLES
from termdepth.data.io import to_arrow
from termdepth.errors import UserError
from termdepth.pipeline.batches import (
    admission_table,
    hopeless,
    labels,
    n_first,
    n_first_batches,
    not_checked,
    order_tasks,
    still_to_check,
)
from termdepth.pipeline.listing import list_tasks
from termdepth.tasks.sampling import Split


def study(path: Path | None, public: list[dict[str, Any]] | None = None, **dataset: Any) -> Config:
    return Config.model_validate(
        {
            "datasets": [{"name": "d", "path": path, "kind": "human", **dataset}],
            "models": [{"id": "m", "litellm": "scripted/merge", "roles": ["first"]}],
            "public_results": public or [],
        }
    )


def listed(config: Config) -> dict[str, dict[str, Any]]:
    rows = list_tasks(config, config.datasets[0])
    assert to_arrow(rows, TABLES["tasks"]).num_rows == len(rows), "rows must have the declared schema"
    return {row["task"]: row for row in rows}


def task(folder: Path, name: str, metadata: str = "", **files: str | None) -> None:
    single(folder / name, files, toml=TOML.replace('difficulty = "easy"', metadata or 'difficulty = "easy"'))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twelve tasks in four levels, two of them not usable, one not light."""
    root = tmp_path / "tasks"
    for i in range(12):
        task(root, f"t{i:02}", f"level = {i % 4 + 1}\nseed = 'seed-{i // 3}'")
    write(root / "t10", {"task.toml": "[environment\n"})
    write(root / "t11", {"environment/docker-compose.yaml": "services:\n  a: {}\n  b: {}\n"})
    return root


# --- the list


def test_every_folder_is_a_row_and_says_why_it_is_left_out(folder: Path) -> None:
    (folder / "t09/solution/solve.sh").unlink()
    rows = listed(study(folder, tasks=["t0*", "t1*"], sample=3))
    assert len(rows) == 12
    assert {t: r["left_out"].partition(":")[0] for t, r in rows.items() if r["left_out"]} == {
        "t09": "no reference solution",
        "t10": "cannot be read",
        "t11": "not light",
    }
    assert sorted(r["order"] for r in rows.values() if r["order"] is not None) == list(range(9))
    assert all((r["order"] is None) == (r["batch"] is None) == (r["left_out"] is not None) for r in rows.values())


def test_groups_of_metadata_and_quantiles_within_them(folder: Path) -> None:
    for i in range(12):
        lines = "\n".join(f"echo {n} > /app/{n}" for n in range(1, i + 2))
        write(folder / f"t{i:02}", {"solution/solve.sh": f"#!/bin/bash\n{lines}\n"})
    groups = [{"by": "metadata.level"}, {"by": "w_lines", "bins": 2, "keep_whole": ["4"]}]
    rows = listed(study(folder, groups=groups))
    by_group = Counter(r["group"] for r in rows.values())
    assert by_group["4"] == 3, "the hardest level stays whole; it has a task that is not light"
    assert by_group["1 / <=5"] == 2 and by_group["1 / >5"] == 1
    assert rows["t10"]["group"] is None and rows["t11"]["group"] == "4"


def test_only_some_groups_are_drawn_from(folder: Path) -> None:
    rows = listed(study(folder, groups=[{"by": "metadata.level", "only": ["1", "2"]}]))
    assert {r["group"] for r in rows.values()} == {"1", "2", None}
    assert rows["t02"]["left_out"] == "group not drawn from"


def test_a_csv_brings_evidence_groups_and_labels(folder: Path, tmp_path: Path) -> None:
    lines = ["name,passes,length,grade,light,digest", *(f"t{i:02},{i % 3},{i},G{i % 2},False,x" for i in range(9))]
    csv = write(tmp_path, {"own.csv": "\n".join(lines)}) / "own.csv"
    settings = {
        "csv": {"path": csv, "key": "name"},
        "evidence": {"column": "passes", "at_least": 1},
        "groups": [{"by": "length", "bins": [3, 6]}],
        "difficulty": ["grade", "metadata.level"],
    }
    rows = listed(study(folder, **settings))
    assert rows["t00"]["left_out"] == rows["t09"]["left_out"] == "no evidence of a pass"
    assert {t: r["group"] for t, r in rows.items() if r["group"]} == {
        "t01": "<=3", "t02": "<=3", "t04": ">3, <=6", "t05": ">3, <=6", "t07": ">6", "t08": ">6",
    }  # fmt: skip
    assert rows["t01"]["difficulty"] == "G1 / 2" and rows["t09"]["difficulty"] is None
    assert rows["t01"]["light"] is True and rows["t01"]["digest"] != "x", (
        "a table cannot say what only the task decides"
    )


def test_evidence_of_a_lineage(folder: Path, tmp_path: Path) -> None:
    """Results released for the seed of a task count for every task of the seed (Table 4: RST)."""
    csv = write(tmp_path, {"own.csv": "seed,passes\nseed-0,2\nseed-1,0\n"}) / "own.csv"
    rows = listed(
        study(
            folder,
            csv={"path": csv, "key": "seed", "on": "metadata.seed"},
            evidence={"column": "passes", "lineage": "metadata.seed"},
        )
    )
    assert [t for t, r in rows.items() if r["order"] is not None] == ["t00", "t01", "t02"]


def test_tasks_without_released_results_can_be_exempt(folder: Path, tmp_path: Path) -> None:
    csv = write(tmp_path, {"own.csv": "task,passes\nt00,8\n"}) / "own.csv"
    evidence = {"column": "passes", "at_least": 2, "exempt": {"column": "metadata.level", "value": "2"}}
    rows = listed(study(folder, csv={"path": csv}, evidence=evidence))
    assert [t for t, r in rows.items() if r["order"] is not None] == ["t00", "t01", "t05", "t09"]


def test_public_results_are_columns(folder: Path, tmp_path: Path) -> None:
    trials = "task,model,reward,turns\nt00,a,1,9\nt00,a,1,4\nt00,b,0,2\nt01,a,0,5\nt02,b,1,\n"
    path = write(tmp_path, {"trials.csv": trials}) / "trials.csv"
    public = [{"dataset": "d", "source": "made up", "trials": path}]
    groups = [{"by": "public.fewest_turns", "bins": [5]}]
    rows = listed(study(folder, public, evidence={"column": "public.passes"}, groups=groups))
    assert {t: r["group"] for t, r in rows.items() if r["order"] is not None} == {"t00": "<=5", "t02": "(none)"}
    rows = listed(study(folder, public, evidence={"column": "public.a.passes", "at_least": 2}))
    assert [t for t, r in rows.items() if r["order"] is not None] == ["t00"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"groups": [{"by": "metadata.nothing"}]}, "metadata.nothing"),
        ({"groups": [{"by": "difficulty", "bins": 3}]}, "bins need numbers"),
        ({"evidence": {"column": "passes"}}, "passes"),
        ({"tasks": ["x*"]}, "name not asked for"),
    ],
)
def test_what_cannot_be_sampled_is_said(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    task(tmp_path / "tasks", "a")
    config = study(tmp_path / "tasks", **settings)
    with pytest.raises(UserError, match=said) as error:
        list_tasks(config, config.datasets[0])
    assert "datasets (d)" in str(error.value)


def test_a_csv_that_names_no_task_is_said(folder: Path, tmp_path: Path) -> None:
    csv = write(tmp_path, {"own.csv": "task,passes\nT-0,1\n"}) / "own.csv"
    config = study(folder, csv={"path": csv})
    with pytest.raises(UserError, match=r"names none of the tasks.*'t00'.*T-0"):
        list_tasks(config, config.datasets[0])


def test_labels_of_several_columns() -> None:
    row = {"task": "a", "source": "Evolve", "metadata": {"level": "hard", "more": {"x": 1}}}
    assert labels(row, ["source", "metadata.level"]) == "Evolve / hard"
    assert labels(row, "metadata.more.x") == "1"
    assert labels(row, ["source", "metadata.missing"]) is None


# --- waves, replacement, extension


def made_up(n: int, groups: int) -> list[dict[str, Any]]:
    return [
        {
            "dataset": "d", "task": f"t{i}", "light": [True, None, True, False][i % 4], "light_rule": "gpu",
            "light_evidence": "x:1: y", "problem": "broken" if i % 7 == 6 else None, "w_lines": 3, "g": i % groups,
        }
        for i in range(n)
    ]  # fmt: skip


def checked(row: dict[str, Any], passes: set[str]) -> dict[str, Any]:
    admitted = row["task"] in passes
    return not_checked(row) | {"admitted": admitted, "reason": None if admitted else "oracle failed: x"}


def run_checks(
    rows: list[dict[str, Any]], passes: set[str], sample: int | Literal["all"], reserve: float, tasks_per_job: int
) -> list[dict[str, Any]]:
    """What the workflow does: check the first batches, then the next tasks of the list while any are missing."""
    known = sorted({r["batch"] for r in rows if r["batch"] is not None})
    first = known[: n_first_batches(len(known), sample=sample, reserve=reserve, tasks_per_job=tasks_per_job)]
    done = [checked(r, passes) for r in rows if r["batch"] in first]
    while more := still_to_check(rows, done, sample):
        done += [checked(dict(r), passes) for r in more]
    return admission_table(rows, done, sample)


SAMPLES = st.one_of(st.just("all"), st.integers(1, 40))


@settings(deadline=None, max_examples=150)
@given(st.integers(1, 60), st.integers(1, 4), SAMPLES, st.sampled_from([0, 0.25, 1]), st.integers(1, 9), st.randoms())
def test_the_first_tasks_that_pass_are_the_sample(
    n: int, groups: int, sample: Any, reserve: float, tasks_per_job: int, random: Any
) -> None:
    settings = {"sample": sample, "reserve": reserve, "tasks_per_job": tasks_per_job}
    rows = order_tasks(made_up(n, groups), splits=[], **settings)
    passes = {r["task"] for r in rows if random.random() < 0.6}
    table = run_checks(rows, passes, **settings)
    assert sorted(r["task"] for r in table) == sorted(r["task"] for r in rows), "one row for each task found"
    passing = [r["task"] for r in sorted(rows, key=lambda r: r["order"] or 0) if r["order"] is not None]
    passing = [t for t in passing if t in passes]
    wanted = passing if sample == "all" else passing[:sample]
    assert [r["task"] for r in table if r["admitted"]] == wanted
    assert all((r["reason"] is None) == r["admitted"] for r in table)
    assert to_arrow([r | {"seconds": 1.0} for r in table], TABLES["admission"]).num_rows == len(rows)


@settings(deadline=None, max_examples=100)
@given(st.integers(10, 80), st.integers(1, 30), st.integers(1, 30), st.integers(1, 6))
def test_a_larger_sample_keeps_order_and_batches(n: int, small: int, more: int, tasks_per_job: int) -> None:
    """Extending the sample only adds jobs, unless it is smaller than one job."""
    rows = made_up(n, 3)
    before = order_tasks(rows, splits=[Split("g")], sample=small, tasks_per_job=tasks_per_job)
    after = order_tasks(rows, splits=[Split("g")], sample=small + more, tasks_per_job=tasks_per_job)
    assert [r["order"] for r in before] == [r["order"] for r in after]
    if n_first(small, 0.25) >= tasks_per_job:
        assert [r["batch"] for r in before] == [r["batch"] for r in after]


@given(st.integers(20, 120), st.integers(0, 5))
def test_every_prefix_of_the_candidates_is_balanced(n: int, seed: int) -> None:
    rows = order_tasks(made_up(n, 3), splits=[Split("g")], seed=seed, sample=5)
    line = sorted((r for r in rows if r["order"] is not None), key=lambda r: r["order"])
    total = Counter(r["group"] for r in line)
    counts: Counter[str] = Counter()
    for row in line:
        counts[row["group"]] += 1
        still_open = [counts[g] for g in total if counts[g] < total[g]]
        assert max(counts.values()) - min(still_open, default=max(counts.values())) <= 1


def test_the_first_batches_hold_the_sample_and_its_reserve() -> None:
    assert n_first_batches(9, sample=10, reserve=0.3, tasks_per_job=4) == 4, "13 tasks, four to a batch"
    assert n_first_batches(3, sample=10, reserve=0.3, tasks_per_job=4) == 3, "the list is shorter"
    assert n_first_batches(9, sample="all", reserve=0.3, tasks_per_job=4) == 9
    assert n_first_batches(9, sample=1, reserve=0, tasks_per_job=20) == 1


def test_checking_stops_where_something_around_the_tasks_is_wrong() -> None:
    rows = [{"order": i, "admitted": False, "reason": f"no build: {i}"} for i in range(30)]
    assert hopeless(rows) == "the last 30 tasks of the list all failed with `no build`"
    assert hopeless(rows[1:]) is None
    assert hopeless([*rows[:29], {"order": 29, "admitted": False, "reason": "oracle failed: x"}]) is None
    assert hopeless([*rows, {"order": 30, "admitted": True, "reason": None}]) is None


def test_the_original_of_a_task_is_named_by_its_metadata_or_by_the_csv(tmp_path: Path) -> None:
    single(
        tmp_path / "set/a",
        toml=TOML.replace("[metadata]", '[metadata]\noriginal_dataset = "TW"\noriginal_task = "restore"'),
    )
    single(tmp_path / "set/b")
    csv = tmp_path / "more.csv"
    csv.write_text("task,original_dataset,original_task\nb,TB2,42\n")
    config = study(tmp_path / "set", csv={"path": csv})
    rows = {r["task"]: (r["original_dataset"], r["original_task"]) for r in list_tasks(config, config.datasets[0])}
    assert rows == {"a": ("TW", "restore"), "b": ("TB2", "42")}  # a name of digits stays a name
