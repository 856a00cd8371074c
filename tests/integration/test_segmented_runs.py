"""The bundled segmented tasks in real containers: what the paper asks of segments (section 3.3), and the plans' depth."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from termdepth.models.plan import find_plan, plan_depth
from termdepth.models.provider import register
from termdepth.replay.changes import Branch, Look, Part, Work, branches
from termdepth.replay.container import play
from termdepth.replay.verdict import judge
from termdepth.tasks.reading import TaskInfo, read_task

TASKS = sorted(path.parent for path in (Path(__file__).parents[2] / "resources/tasks/segmented").glob("*/task.toml"))
ENVIRONMENTS = {
    "sandbox": "termdepth.environments.sandbox.environment:SandboxEnvironment",
    "docker": "termdepth.environments.docker.environment:DockerEnvironment",
}


@pytest.fixture(params=TASKS, ids=lambda path: path.name)
def task(request: pytest.FixtureRequest) -> TaskInfo:
    info = read_task(request.param, request.param)
    assert isinstance(info, TaskInfo), info
    return info


def environment(backend: str) -> Any:
    from harbor.models.trial.config import EnvironmentConfig

    return EnvironmentConfig(import_path=ENVIRONMENTS[backend], kwargs={"auto_mounting": True})


def without(script: str, kind: str, name: str = r"\S*") -> str:
    """The script without its marked parts of a kind (of one name)."""
    return re.sub(rf"# {kind}: begin ?{name}\n.*?# {kind}: end\n", "", script, flags=re.DOTALL)


def part(script: str) -> Part:
    events = re.findall(r"# event: begin (\S+)", script)
    return Part(without(script, "key-step"), {name: without(script, "event", name) for name in events})


def test_oracle_passes_every_segment_and_checks_fail_before_the_work(
    task: TaskInfo, backend: str, tmp_path: Path
) -> None:
    steps: list[Work | Look] = []
    for s in range(1, task.n_segments + 1):
        steps += [Look(s, "checks_before_work", s), Work(s), Look(s, "checks_before_work", s)]
    seen = asyncio.run(play(task.path, environment(backend), steps, tmp_path / "trial", f"{task.task}-oracle"))
    verdicts = [judge(s.reward, s.log, s.crash, s.broken) for s in seen]
    assert [v.reason for v in verdicts] == [None] * len(verdicts)
    assert [v.holds for v in verdicts] == [True, False] * task.n_segments, "\n".join(s.log for s in seen)


@pytest.mark.sandbox
def test_checks_see_every_removed_part(task: TaskInfo, tmp_path: Path) -> None:
    """Table 8 without exception: previous segment skipped, an event or the key step removed, and what follows on it."""
    found = branches([part(Path(str(s.solution)).read_text()) for s in task.segments])

    async def work() -> list[tuple[Branch, list[Any]]]:
        gate = asyncio.Semaphore(3)

        async def one(branch: Branch) -> tuple[Branch, list[Any]]:
            async with gate:
                name = f"{task.task}-{branch.name}"
                return branch, await play(task.path, environment("sandbox"), branch.steps, tmp_path / name, name)

        return await asyncio.gather(*map(one, found))

    missed = {}
    for branch, seen in asyncio.run(work()):
        for look, s in zip(branch.looks, seen, strict=True):
            verdict = judge(s.reward, s.log, s.crash, s.broken)
            if verdict.holds is not True:
                missed[look] = verdict.reason or s.log
    assert missed == {}


def run(task: TaskInfo, backend: str, habit: str, cap: int | None, folder: Path) -> tuple[float, int]:
    """(reward of the last segment reached, turns)"""
    from harbor.models.trial.config import AgentConfig

    from termdepth.harness.record import TaskRef
    from termdepth.harness.runner import run_trial

    register()
    agent = AgentConfig(
        import_path="termdepth.harness.agent:SegmentedTerminus2",
        model_name=f"scripted/{habit}",
        resume_trajectory=True,
        kwargs={
            "record_terminal_session": False,
            "suppress_max_turns_warning": True,
            "parts": task.n_segments,
            "cap": cap,
        },
    )
    ref = TaskRef("segmented", task.task, task.path, task.n_segments, task.digest, "", 3600)
    result = asyncio.run(run_trial(ref, agent, environment(backend), folder))
    assert result.exception_info is None, result.exception_info
    steps = result.step_results
    turns = steps[-1].agent_result.metadata["termdepth"]["turns"]
    reward = steps[-1].verifier_result.rewards["reward"] if len(steps) == task.n_segments else 0
    return float(reward), len(turns)


def test_merge_passes_at_the_known_depth(task: TaskInfo, backend: str, tmp_path: Path) -> None:
    plan = find_plan(task.segments[0].instruction())
    assert plan is not None
    assert run(task, backend, "merge", plan_depth(plan), tmp_path / "at")[0] == 1.0


@pytest.mark.sandbox
def test_merge_fails_one_turn_below(task: TaskInfo, tmp_path: Path) -> None:
    """No guess of a plan happens to be right, so that the last turn cannot stand for two."""
    plan = find_plan(task.segments[0].instruction())
    assert plan is not None
    assert run(task, "sandbox", "merge", plan_depth(plan) - 1, tmp_path / "below")[0] == 0.0
