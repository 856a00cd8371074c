"""A run's identity, and its row from real TrialResult objects of Harbor."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from harbor.models.agent.context import AgentContext
from harbor.models.trial.config import TaskConfig, TrialConfig
from harbor.models.trial.result import AgentInfo, ExceptionInfo, StepResult, TrialResult
from harbor.models.verifier.result import VerifierResult

from termdepth.config.models import Harness, ModelEntry
from termdepth.data import TABLES
from termdepth.data.io import to_arrow
from termdepth.harness.record import RunSpec, TaskRef, describe, reward_of
from termdepth.harness.runner import load_finished

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
MODEL = ModelEntry(id="m", litellm="openai/m", roles=["first"])
TASK = TaskRef("d", "t", Path("/t"), 1, "digest", "sandbox:image", 60.0)
SPEC = RunSpec(TASK, MODEL, "uncapped", None, 1, 150, Harness(), "harness")


def spec(segments: int = 1, **changes: Any) -> RunSpec:
    return dataclasses.replace(SPEC, task=dataclasses.replace(TASK, n_segments=segments), **changes)


def turn(number: int, segment: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "turn": number, "segment": segment, "model_seconds": 1.0, "terminal_seconds": 0.5, "wait_seconds": 0.1,
        "commands": 2, "command_lines": 3, "complete": False, "parse_error": False, "input_tokens": 10,
        "output_tokens": 5, "finish_reason": "stop",
    } | changes  # fmt: skip


def context(*turns: dict[str, Any], stop: str = "completed", error: str | None = None, **tokens: Any) -> AgentContext:
    note = {
        "part": 1, "stop": stop, "error": error, "turns_total": len(turns), "turns": list(turns), "compressions": 1,
        "context_tokens": 77, "seconds": 30.0,
    }  # fmt: skip
    return AgentContext(metadata={"termdepth": note, "n_episodes": 9}, **tokens)


def failure(kind: str, message: str = "why") -> ExceptionInfo:
    return ExceptionInfo(exception_type=kind, exception_message=message, exception_traceback="", occurred_at=NOW)


def step(reward: dict[str, float] | None, agent: AgentContext | None, problem: str | None = None) -> StepResult:
    return StepResult(
        step_name="s", agent_result=agent, verifier_result=None if reward is None else VerifierResult(rewards=reward),
        exception_info=failure(problem) if problem else None,
    )  # fmt: skip


def result(*steps: StepResult, **fields: Any) -> TrialResult:
    task = TaskConfig(path=Path("/t"))
    return TrialResult(
        task_name="t", trial_name="n", trial_uri="u", task_id=task.get_task_id(), task_checksum="c",
        config=TrialConfig(task=task), agent_info=AgentInfo(name="a", version="1"),
        step_results=list(steps) or None, **fields,
    )  # fmt: skip


def single(reward: dict[str, float] | None, agent: AgentContext | None, problem: str | None = None) -> TrialResult:
    return result(
        agent_result=agent, verifier_result=None if reward is None else VerifierResult(rewards=reward),
        exception_info=failure(problem) if problem else None,
    )  # fmt: skip


def check(row: dict[str, Any], turns: list[dict[str, Any]]) -> None:
    """Every row fits its table of record."""
    to_arrow([{k: v for k, v in row.items() if k != "unavailable"}], TABLES["runs"])
    to_arrow(turns, TABLES["turns"])


def test_single_segment() -> None:
    agent = context(turn(1), turn(2, parse_error=True), n_input_tokens=20, n_cache_tokens=4, n_output_tokens=10,
                    cost_usd=0.5)  # fmt: skip
    row, turns = describe(spec(), single({"reward": 1.0}, agent), NOW)
    check(row, turns)
    assert (row["outcome"], row["passed"], row["valid"], row["segments_passed"]) == ("passed", True, True, 1)
    assert (row["turns"], row["turns_per_segment"], row["minutes"]) == (2, [2], 0.5)
    assert (row["input_tokens"], row["cached_tokens"], row["output_tokens"], row["cost_usd"]) == (20, 4, 10, 0.5)
    assert (row["command_lines"], row["parse_errors"], row["context_tokens"], row["compressions"]) == (6, 1, 77, 1)
    assert row["backend"] == "sandbox" and row["error"] is None and not row["unavailable"]
    assert [t["turn"] for t in turns] == [1, 2] and {t["fingerprint"] for t in turns} == {spec().fingerprint}


def test_segments_add_up() -> None:
    steps = [step({"reward": 1.0}, context(turn(1), n_input_tokens=1)),
             step({"reward": 1.0}, context(turn(2, 2), turn(3, 2), n_input_tokens=2)),
             step({"reward": 0.0}, context(turn(4, 3), n_input_tokens=3))]  # fmt: skip
    row, turns = describe(spec(4), result(*steps, verifier_result=VerifierResult(rewards={"reward": 0.0})), NOW)
    check(row, turns)
    assert (row["outcome"], row["segments_passed"], row["n_segments"]) == ("failed_checks", 2, 4)
    assert (row["turns"], row["turns_per_segment"], row["input_tokens"]) == (4, [1, 2, 1], 6)
    assert row["minutes"] == 1.5


def test_steps_with_one_step() -> None:
    agent = context(turn(1), n_input_tokens=1)
    row, turns = describe(spec(1), result(step({"reward": 1.0}, agent)), NOW)
    assert row["passed"] and row["turns"] == 1 and len(turns) == 1 and row["input_tokens"] == 1


@pytest.mark.parametrize(
    ("trial", "outcome", "error"),
    [
        (single({"reward": 0.999}, context(turn(1))), "failed_checks", None),
        (single({"reward": 0.0}, context(turn(1), stop="turn_cap")), "turn_cap", None),
        (single({"reward": 1.0}, context(turn(1), stop="time_limit")), "passed", None),
        (single({"reward": 0.0}, context(stop="refused", error="said no")), "refused", "said no"),
        (single({}, context(turn(1))), "verifier_error", "no rewards"),
        (single(None, context(turn(1)), "VerifierTimeoutError"), "verifier_error", "longer"),
        (single(None, context(turn(1)), "RewardFileNotFoundError"), "verifier_error", "no reward file"),
        (single(None, context(turn(1), stop="session_broken"), "RewardFileNotFoundError"), "session_broken", None),
        (single(None, None, "EnvironmentStartTimeoutError"), "infrastructure_error", "EnvironmentStartTimeoutError"),
        (single({"reward": 0.0}, context(stop="infrastructure_error", error="500")), "infrastructure_error", "500"),
        # The verdict is known: trouble with removing the container must not save a failed run.
        (single({"reward": 0.0}, context(turn(1)), "DockerException"), "failed_checks", None),
        (single({"reward": 1.0}, context(turn(1)), "DockerException"), "passed", None),
        (single(None, context(turn(1)), "DockerException"), "infrastructure_error", "DockerException"),
        (None, "infrastructure_error", "boom"),
    ],
)
def test_outcome(trial: TrialResult | None, outcome: str, error: str | None) -> None:
    row, turns = describe(spec(), trial, NOW, error="boom" if trial is None else None)
    check(row, turns)
    assert row["outcome"] == outcome
    assert (error or "") in (row["error"] or "") and (error is not None or row["error"] is None)


def test_segment_that_never_got_to_its_agent() -> None:
    steps = [step({"reward": 1.0}, context(turn(1))), step(None, None, "RuntimeError")]  # its setup.sh failed
    row, turns = describe(spec(2), result(*steps), NOW)
    check(row, turns)
    assert (row["outcome"], row["segments_passed"], row["turns"]) == ("infrastructure_error", 1, 1)


def test_model_that_cannot_be_called_is_marked() -> None:
    assert describe(spec(), single(None, context(stop="model_unavailable", error="401")), NOW)[0]["unavailable"]


def test_scripted_models_cost_nothing() -> None:
    model = ModelEntry(id="m", litellm="scripted/merge", roles=["first"])
    row, _ = describe(spec(model=model), single({"reward": 1.0}, context(turn(1))), NOW)
    assert row["cost_usd"] == 0.0
    row, _ = describe(spec(), single({"reward": 1.0}, context(turn(1))), NOW)
    assert row["cost_usd"] is None


def test_keys_stay_out_of_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "abcdef-123456")
    trial = result(agent_result=None, exception_info=failure("RuntimeError", "GET ?key=abcdef-123456\nfailed"))
    assert describe(spec(), trial, NOW)[0]["error"] == "RuntimeError: GET ?key=*** failed"


@pytest.mark.parametrize(
    ("rewards", "reward"),
    [
        ({"reward": 1}, 1.0), ({"reward": 0.5, "other": 1}, 0.5), ({"a": 1, "b": 0.2}, 0.2), ({"a": 1}, 1.0),
        ({}, None), (None, None), ({"reward": float("nan")}, None), ({"a": float("inf")}, None),
    ],
)  # fmt: skip
def test_reward_that_decides(rewards: dict[str, float] | None, reward: float | None) -> None:
    assert reward_of(rewards) == reward


# ---- identity


def test_what_changes_the_fingerprint() -> None:
    def model(**changes: Any) -> RunSpec:
        return spec(model=MODEL.model_copy(update=changes))

    def task(**changes: Any) -> RunSpec:
        return dataclasses.replace(SPEC, task=dataclasses.replace(TASK, **changes))

    different = [
        spec(cap=1), spec(cap=2), spec(attempt=2), spec(phase="evaluation"), spec(turn_limit=10), spec(harness="x"),
        spec(knowledge="x"), task(digest="x"), task(image="docker:y"), task(time_limit_sec=1), task(freeze=True),
        task(container="x"), model(litellm="openai/n"), model(id="n"), model(temperature=0.5),
        model(reasoning_effort="high"), model(max_output_tokens=9), model(context_tokens=9),
        model(extra_body={"a": 1}), model(api_base="http://x"), model(seed_attempts=True),
    ]  # fmt: skip
    prints = [s.fingerprint for s in [SPEC, *different]]
    assert len(set(prints)) == len(prints)
    same = [model(title="T"), model(roles=["second"]), model(request_timeout_sec=1.0), task(path=Path("/elsewhere"))]
    assert {s.fingerprint for s in same} == {SPEC.fingerprint}


def test_seed_differs_by_run_and_not_by_harness() -> None:
    assert spec(harness="x").seed == SPEC.seed == spec(turn_limit=3).seed
    assert len({spec(attempt=a, cap=c, phase=p).seed for a in (1, 2) for c in (None, 1) for p in ("a", "b")}) == 8
    assert 0 <= SPEC.seed < 2**31


def test_folders_of_different_runs_differ() -> None:
    runs = Path("runs")
    assert spec().folder(runs).parent == Path("runs/d/t/m/uncapped")
    assert spec(cap=3).folder(runs).parent == Path("runs/d/t/m/cap-3")
    assert spec(phase="evaluation").folder(runs).parent.name == "evaluation-uncapped"
    assert spec(phase="merged", cap=5).folder(runs).parent.name == "merged-cap-5"
    assert spec(attempt=2).folder(runs).name == f"2-{spec(attempt=2).fingerprint[:8]}"


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"row": 1, "turns": []}', '{"row": {}, "turns": []}', "\0"])
def test_record_that_cannot_be_read_is_no_record(tmp_path: Path, content: str) -> None:
    folder = SPEC.folder(tmp_path)
    folder.mkdir(parents=True)
    assert load_finished(SPEC, tmp_path) is None
    (folder / "run.json").write_text(content)
    assert load_finished(SPEC, tmp_path) is None


def test_finished_record_is_found_again(tmp_path: Path) -> None:
    row, turns = describe(SPEC, single({"reward": 1.0}, context(turn(1))), NOW)
    row.pop("unavailable")
    folder = SPEC.folder(tmp_path)
    folder.mkdir(parents=True)

    def store(**changes: Any) -> None:
        data = {"row": row | {"started_at": NOW.isoformat()} | changes, "turns": turns}
        (folder / "run.json").write_text(json.dumps(data))

    store()
    found = load_finished(SPEC, tmp_path)
    assert found is not None and found.row == row | {"path": str(folder)} and found.turns == turns
    store(of_another_version=1)
    assert load_finished(SPEC, tmp_path) == found
    store(outcome="verifier_error")  # a verdict about nothing, but finished: the next attempt is another run
    assert load_finished(SPEC, tmp_path) is not None
    for changes in (
        {"outcome": "infrastructure_error"},
        {"fingerprint": "other"},
        {"started_at": "soon"},
        {"started_at": 1},
    ):
        store(**changes)
        assert load_finished(SPEC, tmp_path) is None
