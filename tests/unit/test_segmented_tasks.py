"""The bundled segmented tasks on paper: their form, their marks, their plans, and that instructions name what is checked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from termdepth.models.plan import find_plan, load_plans, plan_depth
from termdepth.tasks.reading import Segment, TaskInfo, read_task

RESOURCES = Path(__file__).parents[2] / "resources"
TASKS = sorted(path.parent for path in (RESOURCES / "tasks/segmented").glob("*/task.toml"))
DEPTHS = {
    "air-station": 6,
    "handbook-build": 9,
    "ledger": 9,
    "private-ca": 9,
    "quota-release": 15,
    "tally-service": 15,
}
MARK = re.compile(r"^\s*# (key-step: (?:begin|end)|event: (?:begin \S+|end))$", re.MULTILINE)


def info_of(folder: Path) -> TaskInfo:
    info = read_task(folder, folder)
    assert isinstance(info, TaskInfo), info
    return info


@pytest.fixture(params=TASKS, ids=lambda path: path.name)
def task(request: pytest.FixtureRequest) -> TaskInfo:
    return info_of(request.param)


def read(path: Path | None) -> str:
    assert path is not None
    return path.read_text(encoding="utf-8")


def checks(segment: Segment) -> str:
    assert segment.tests is not None
    return read(segment.tests.with_name("check.sh"))


def test_all_are_there() -> None:
    assert [path.name for path in TASKS] == sorted(DEPTHS)


def test_form(task: TaskInfo) -> None:
    assert 3 <= task.n_segments <= 6
    assert task.network == "no-network"
    assert task.config.schema_version == "1.4"
    assert task.config.environment.workdir == "/app"
    assert str(task.config.multi_step_reward_strategy.value) == "final"  # type: ignore[union-attr]
    assert [step.min_reward for step in task.config.steps or []] == [1.0] * task.n_segments
    assert {"category", "tags", "difficulty"} <= set(task.metadata)
    for segment in task.segments:
        assert read(segment.solution).startswith("#!/bin/bash\n")
        assert segment.instruction_words >= 40


def test_check_library_is_the_one_of_resources(task: TaskInfo) -> None:
    for name in ("checks.sh", "run.sh"):
        same = (task.path / "tests" / name).read_bytes() == (RESOURCES / "checks" / name).read_bytes()
        assert same, f"cp resources/checks/{name} {task.path}/tests/"
    assert len({read(segment.tests) for segment in task.segments}) == 1


def test_marks(task: TaskInfo) -> None:
    """One key step in each solution; what is marked is closed, and something is left when it is taken out."""
    for segment in task.segments:
        marks = MARK.findall(read(segment.solution))
        assert marks.count("key-step: begin") == marks.count("key-step: end") == 1
        kinds = [mark.split(":")[0] + " " + mark.split(": ")[1].split()[0] for mark in marks]
        assert all(b == a.replace("begin", "end") for a, b in zip(kinds[::2], kinds[1::2], strict=True)), marks
        left = re.sub(r"# key-step: begin.*?# key-step: end", "", read(segment.solution), flags=re.DOTALL)
        assert [line for line in left.splitlines() if line.strip() and not line.startswith("#")]


def test_instructions_name_what_is_checked(task: TaskInfo) -> None:
    """Every file of the solver's that checks look at, and every field and column they read, is in an instruction so far."""
    told = read(task.path / "environment/Dockerfile")
    for segment in task.segments:
        told += segment.instruction()
        text = checks(segment)
        for path in re.findall(r"/app/reports/[\w.-]+|/app/(?:live|data|release|site|issued)/[\w.-]+", text):
            assert path in told, (segment.name, path)
        for key in re.findall(r"field (?:\"\$report\"|\S+) ([a-z_]+)", text):
            assert re.search(rf"`{key}`", told), (segment.name, key)
        for key in re.findall(r"\b([a-z_]+):\d", text):
            assert key in told, (segment.name, key)
        for port in re.findall(r"127\.0\.0\.1[: ](\d{4})", text):
            assert port in told, (segment.name, port)


def test_checks_have_unique_names(task: TaskInfo) -> None:
    for segment in task.segments:
        names = re.findall(r"^\s*expect_\w+ \"([^\"]+)\"", checks(segment), re.MULTILINE)
        assert len(names) >= 2
        assert len(names) == len(set(names))


def test_plans(task: TaskInfo) -> None:
    """Each task has its plan, found from the first instruction as the harness words it, with a node for every segment."""
    plan = find_plan(task.segments[0].instruction())
    assert plan is not None
    assert plan.name == f"segmented-{task.task}"
    assert plan.segments == task.n_segments
    assert plan_depth(plan) == DEPTHS[task.task]
    for node in plan.nodes:
        assert node.captures or node.expect, f"{node.id} could not be seen to fail"


def test_plans_of_no_task_are_none() -> None:
    names = {plan.name for plan in load_plans() if plan.name.startswith("segmented-")}
    assert names == {f"segmented-{path.name}" for path in TASKS}


def test_nothing_depends_on_a_folder_that_git_does_not_keep() -> None:
    resources = Path(__file__).resolve().parents[2] / "resources"
    assert [str(p) for p in resources.rglob("*") if p.is_dir() and not any(p.iterdir())] == []
