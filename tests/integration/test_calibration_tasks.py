"""The calibration tasks in real containers: the oracle passes, nothing fails, and the depth is exactly the plan's."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from termdepth.models.plan import find_plan, plan_depth
from termdepth.models.provider import register

TASKS = Path(__file__).parents[2] / "resources/tasks/calibration"
ENVIRONMENTS = {
    "sandbox": "termdepth.environments.sandbox.environment:SandboxEnvironment",
    "docker": "termdepth.environments.docker.environment:DockerEnvironment",
}


class Trials:
    """Runs trials a few at a time."""

    def __init__(self, backend: str, folder: Path) -> None:
        self.backend, self.folder, self.count = backend, folder, 0
        self.slots = asyncio.Semaphore(3)

    async def run(self, task: str, agent: Any) -> Any:
        from types import SimpleNamespace

        from harbor.models.trial.config import EnvironmentConfig

        from termdepth.harness.runner import run_trial

        self.count += 1
        where = self.folder / f"{task}-{self.count}"
        environment = EnvironmentConfig(import_path=ENVIRONMENTS[self.backend], kwargs={"auto_mounting": True})
        async with self.slots:
            result = await run_trial(SimpleNamespace(path=TASKS / task), agent, environment, where)  # type: ignore[arg-type]
        assert result.exception_info is None, result.exception_info
        return result

    async def reward(self, task: str, agent: Any) -> float:
        result = await self.run(task, agent)
        return float(result.verifier_result.rewards["reward"])


def scripted(habit: str, cap: int | None, **options: Any) -> Any:
    from harbor.models.trial.config import AgentConfig

    kwargs = {"record_terminal_session": False, "suppress_max_turns_warning": True, "cap": cap, **options}
    path = "termdepth.harness.agent:SegmentedTerminus2"
    return AgentConfig(import_path=path, model_name=f"scripted/{habit}", kwargs=kwargs)


def known_depth(task: str) -> int:
    plan = find_plan((TASKS / task / "instruction.md").read_text())
    assert plan is not None
    return plan_depth(plan)


def tasks_of(backend: str) -> list[str]:
    """One variant of each kind in the slower backend."""
    return sorted(path.name for path in TASKS.glob("*-a" if backend == "docker" else "*-[ab]"))


def test_oracle_and_no_op(backend: str, tmp_path: Path) -> None:
    from harbor.models.trial.config import AgentConfig

    async def work() -> None:
        trials, names = Trials(backend, tmp_path), tasks_of(backend)
        for agent, expected in ((AgentConfig(name="oracle"), 1.0), (AgentConfig(name="nop"), 0.0)):
            rewards = await asyncio.gather(*(trials.reward(name, agent) for name in names))
            assert dict(zip(names, rewards, strict=True)) == dict.fromkeys(names, expected)

    asyncio.run(work())


def test_merge_passes_at_the_known_depth_and_not_below(backend: str, tmp_path: Path) -> None:
    register()

    async def work() -> None:
        trials, names = Trials(backend, tmp_path), tasks_of(backend)
        at = await asyncio.gather(*(trials.reward(name, scripted("merge", known_depth(name))) for name in names))
        assert dict(zip(names, at, strict=True)) == dict.fromkeys(names, 1.0)
        deep = [name for name in names if known_depth(name) > 1]
        below = await asyncio.gather(*(trials.reward(name, scripted("merge", known_depth(name) - 1)) for name in deep))
        assert dict(zip(deep, below, strict=True)) == dict.fromkeys(deep, 0.0)

    asyncio.run(work())


@pytest.mark.sandbox
def test_habits_make_the_turn_count_not_the_depth(tmp_path: Path) -> None:
    """Without a cap `step` passes too, in many more turns; `blind` passes only where nothing has to be read."""
    register()

    async def work() -> None:
        trials, rewards = Trials("sandbox", tmp_path), {}
        for name in ("parallel-a", "single-script-a", "control-06-a"):
            step, blind = await asyncio.gather(
                *(trials.run(name, scripted(habit, None)) for habit in ("step", "blind"))
            )
            turns = len(step.agent_result.metadata["termdepth"]["turns"])
            rewards[name] = [r.verifier_result.rewards["reward"] for r in (step, blind)]
            assert turns > known_depth(name)
        assert rewards == {"parallel-a": [1, 0], "single-script-a": [1, 1], "control-06-a": [1, 0]}

    asyncio.run(work())


@pytest.mark.sandbox
def test_a_scripted_model_goes_on_after_context_compression(tmp_path: Path) -> None:
    """With room for a few turns only, terminus-2 compresses the conversation, and the model goes on from its summary."""
    register()

    async def work() -> None:
        window = {
            "max_input_tokens": 9_600,
            "max_output_tokens": 1_000,
        }  # terminus-2 compresses below 8,000 free tokens
        result = await Trials("sandbox", tmp_path).run("static-chain-a", scripted("step", None, model_info=window))
        assert result.verifier_result.rewards["reward"] == 1
        summaries = list(tmp_path.glob("*/agent/*summar*.json"))
        assert summaries, "it was compressed"

    asyncio.run(work())
