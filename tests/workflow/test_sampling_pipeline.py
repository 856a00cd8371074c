"""Samples in the pipeline: tasks that fail are replaced, and a larger sample only runs the new tasks (App. C, rule 4)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from test_pipeline import TASKS, Study, config

from termdepth.data import TABLES, read_table

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(900)]
ADMISSION = "results/admission/small.parquet"


def settings(**dataset: Any) -> dict[str, Any]:
    base = config()
    base["datasets"][0] |= {"evaluate": False, "reserve": 0.0, "tasks_per_job": 2, **dataset}
    return base


def admission(study: Study) -> list[dict[str, Any]]:
    return read_table(study.folder / ADMISSION, TABLES["admission"])


def validated(study: Study) -> set[str]:
    return {p.parts[-3] for p in (study.folder / "results/validation").glob("small/*/*/validation.json")}


def test_failed_tasks_are_replaced_and_a_larger_sample_adds_to_it(tmp_path: Path) -> None:
    study = Study(tmp_path, [], settings(sample=2))
    for i in range(10):
        shutil.copytree(TASKS / "single-script-a", study.folder / f"tasks/t{i}")
    study.snakemake(ADMISSION)
    order = [r["task"] for r in admission(study) if r["order"] is not None]
    assert len(order) == 10 and [r["admitted"] for r in admission(study)] == [True] * 2 + [False] * 8
    assert validated(study) == set(order[:2]), "with no reserve, what is not asked for is not tried"

    # The first and the third of the list fail: their places are taken by the next ones.
    for task in (order[0], order[2]):
        (study.folder / f"tasks/{task}/solution/solve.sh").write_text("#!/bin/bash\ntrue\n")
    study.snakemake(ADMISSION)
    rows = {r["task"]: r for r in admission(study)}
    assert [t for t in order if rows[t]["admitted"]] == [order[1], order[3]]
    assert rows[order[0]]["reason"].startswith("oracle failed")
    assert rows[order[4]]["reason"] == "not reached"
    assert validated(study) == set(order[:4])

    before = {p: p.stat().st_mtime for p in (study.folder / "results/validation").rglob("validation.json")}
    study.configure(settings(sample=4))
    study.snakemake(ADMISSION)
    rows = {r["task"]: r for r in admission(study)}
    assert [t for t in order if rows[t]["admitted"]] == [order[1], *order[3:6]]
    assert {p: p.stat().st_mtime for p in before} == before, "what was validated is not validated again"
    assert "Nothing to be done" in study.snakemake(ADMISSION)


def test_a_changed_table_of_the_user_lists_again(tmp_path: Path) -> None:
    study = Study(tmp_path, ["single-script-a", "single-script-b"], config())
    table = study.folder / "own.csv"
    table.write_text("task,passes\nsingle-script-a,3\nsingle-script-b,0\n")
    study.configure(settings(csv={"path": "own.csv"}, evidence={"column": "passes"}))
    study.snakemake(ADMISSION)
    assert {r["task"]: r["reason"] for r in admission(study)} == {
        "single-script-a": None,
        "single-script-b": "no evidence of a pass",
    }
    table.write_text("task,passes\nsingle-script-a,3\nsingle-script-b,1\n")
    study.snakemake(ADMISSION)
    assert all(r["admitted"] for r in admission(study))


def test_a_folder_of_published_trials_is_watched(tmp_path: Path) -> None:
    def publish(task: str, reward: float) -> None:
        result = {"id": task, "task_name": f"org/{task}", "agent_info": {"name": "x", "model_info": {"name": "m"}}}
        path = study.folder / f"jobs/job/{task}__1/result.json"
        (path.parent / "agent").mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result | {"verifier_result": {"rewards": {"reward": reward}}}))

    study = Study(tmp_path, ["single-script-a", "single-script-b"], config())
    publish("single-script-a", 1.0)
    public = [{"dataset": "small", "source": "made up", "trials": "jobs"}]
    study.configure(settings(evidence={"column": "public.m.passes"}) | {"public_results": public})
    made = ["results/tasks/small.parquet", "results/data/public_pass_rates.parquet"]

    def candidates() -> dict[str, bool]:
        study.snakemake(*made)
        return {r["task"]: r["order"] is not None for r in read_table(study.folder / made[0], TABLES["tasks"])}

    assert candidates() == {"single-script-a": True, "single-script-b": False}
    assert [(r["task"], r["rate"]) for r in study.table("public_pass_rates")] == [("single-script-a", 1.0)]
    (study.folder / "jobs/job/single-script-a__1/agent/log.txt").write_text("x")
    assert study.jobs(*made) == {}
    publish("single-script-b", 1.0)
    assert candidates() == {"single-script-a": True, "single-script-b": True}
    publish("single-script-b", 0.0)
    assert candidates() == {"single-script-a": True, "single-script-b": False}
    assert [r["rate"] for r in study.table("public_pass_rates")] == [1.0, 0.0]
    log = (study.folder / "results/logs/read_public_results.log").read_text()
    assert "jobs: 2 trials" in log
