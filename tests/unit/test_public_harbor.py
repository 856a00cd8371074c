"""Published trials from folders of Harbor jobs, written by Harbor's own models."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from harbor.models.agent.context import AgentContext
from harbor.models.job.result import JobResult, JobStats
from harbor.models.task.id import LocalTaskId
from harbor.models.trial.config import TaskConfig, TrialConfig
from harbor.models.trial.result import AgentInfo, ExceptionInfo, ModelInfo, StepResult, TrialResult
from harbor.models.verifier.result import VerifierResult

from termdepth.errors import UserError
from termdepth.pipeline.spec import results_signature
from termdepth.public import Trial, pass_rates, public_columns, read_trials


def verdict(reward: float | None) -> VerifierResult | None:
    return None if reward is None else VerifierResult(rewards={"reward": reward})


def used(turns: int | None) -> AgentContext:
    return AgentContext(n_input_tokens=10, metadata=None if turns is None else {"n_episodes": turns})


def broke(kind: str | None) -> ExceptionInfo | None:
    return kind and ExceptionInfo(
        exception_type=kind, exception_message="", exception_traceback="", occurred_at=datetime.now(UTC)
    )


def step(reward: float | None, turns: int | None, kind: str | None = None) -> StepResult:
    return StepResult(
        step_name="s", agent_result=used(turns), verifier_result=verdict(reward), exception_info=broke(kind)
    )


def result(
    task: str = "org/a",
    model: str | None = "m",
    reward: float | None = 1.0,
    turns: int | None = 3,
    *,
    kind: str | None = None,
    agent: str = "terminus-2",
    **given: Any,
) -> TrialResult:
    name = f"{task.rpartition('/')[2]}__{uuid.uuid4().hex[:7]}"
    fields: dict[str, Any] = {
        "task_name": task,
        "trial_name": name,
        "trial_uri": f"file:///{name}",
        "task_id": LocalTaskId(path=Path(task)),
        "task_checksum": "0",
        "config": TrialConfig(task=TaskConfig(path=Path(task))),
        "agent_info": AgentInfo(
            name=agent, version="1", model_info=ModelInfo(name=model, provider="openrouter") if model else None
        ),
        "agent_result": used(turns),
        "verifier_result": verdict(reward),
        "exception_info": broke(kind),
    }
    return TrialResult(**(fields | given))


def write_job(job: Path, trials: Sequence[TrialResult], *, listed: bool = False) -> Path:
    """A job as Harbor leaves it; listed: its own result has the trials in it, as JobResult can."""
    for trial in trials:
        folder = job / trial.trial_name
        for part in ("agent", "verifier", "artifacts"):
            (folder / part).mkdir(parents=True)
        (folder / "config.json").write_text(trial.config.model_dump_json(indent=4))
        (folder / "result.json").write_text(trial.model_dump_json(indent=4))
    job.mkdir(parents=True, exist_ok=True)
    (job / "config.json").write_text("{}")
    whole = JobResult(
        id=uuid.uuid4(),
        started_at=datetime.now(UTC),
        n_total_trials=len(trials),
        stats=JobStats.from_trial_results(list(trials)),
        trial_results=list(trials),
    )
    (job / "result.json").write_text(
        whole.model_dump_json(indent=4, exclude=None if listed else {"trial_results"}),
    )
    return job


def read_one(folder: Path, trial: TrialResult) -> Trial:
    (only,) = read_trials(write_job(folder, [trial]))
    return only


# ---- what a trial says


def test_a_csv_and_a_job_of_the_same_trials_give_the_same_rows(tmp_path: Path) -> None:
    known = [
        ("a", "m", 1.0, 7), ("a", "m", 1.0, 5), ("a", "n", 0.0, 2), ("b", "n", 0.5, 3), ("b", "n", None, None),
        ("c", "m", 2.0, None), ("c", "org/n", 0.0, 0),
    ]  # fmt: skip
    lines = [",".join("" if v is None else str(v) for v in trial) for trial in known]
    table = tmp_path / "trials.csv"
    table.write_text("\n".join(["task,model,reward,turns", *lines, ""]))
    trials = [result(f"big/{task}", model, reward, turns) for task, model, reward, turns in known]
    tasks = tmp_path / "tasks.csv"
    tasks.write_text("task,author_difficulty,solution_lines\na,hard,12\n")
    for listed in (False, True):
        job = write_job(tmp_path / f"jobs-{listed}" / "one", trials, listed=listed)
        for folder in (job, job.parent):
            assert pass_rates(folder, tasks, "d", "s") == pass_rates(table, tasks, "d", "s")
            assert public_columns(folder) == public_columns(table)
    only_listed = tmp_path / "jobs-True" / "one" / "result.json"
    assert pass_rates(only_listed, tasks, "d", "s") == pass_rates(table, tasks, "d", "s")


@pytest.mark.parametrize(
    ("trial", "passed"),
    [
        (result(reward=1.0), True),
        (result(reward=0.99), False),
        (result(reward=None), False),
        (result(reward=None, kind="EnvironmentStartTimeoutError"), False),
        (result(reward=1.0, kind="AgentTimeoutError"), True),  # it was verified, and passed
        (result(reward=0.0, kind="AgentTimeoutError"), False),
        (result(verifier_result=VerifierResult(rewards={"reward": 1, "style": 0})), True),
        (result(verifier_result=VerifierResult(rewards={"tests": 1, "style": 0})), False),
        (result(verifier_result=VerifierResult(rewards={"tests": 1, "style": 1})), True),
        (result(verifier_result=VerifierResult(rewards={})), False),
        (result(step_results=[step(1, 2), step(1, 2)]), True),
        # Harbor's mean over the steps is 1 here: the step that broke is not in it.
        (result(step_results=[step(1, 2), step(None, 2, "AgentTimeoutError")]), False),
    ],
)
def test_only_a_verdict_of_full_marks_is_a_pass(tmp_path: Path, trial: TrialResult, passed: bool) -> None:
    assert read_one(tmp_path, trial).passed is passed


def test_the_first_versions_of_harbor_had_one_reward(tmp_path: Path) -> None:
    old = json.loads(result(reward=None).model_dump_json()) | {"verifier_result": {"reward": 1.0}}
    del old["schema_version"], old["config"]
    (tmp_path / "result.json").write_text(json.dumps(old))
    assert [t.passed for t in read_trials(tmp_path)] == [True]


def test_what_no_model_tried_is_left_out(tmp_path: Path) -> None:
    trials = [
        result("org/a", reward=None, kind="CancelledError"),
        result("org/b", reward=None, turns=None, agent_result=None, step_results=[step(None, None, "CancelledError")]),
        result("org/c", model=None, agent="oracle"),
        result("org/d", model=None, agent="nop", reward=0),
        result("org/e", model=None, agent="my-agent"),
        result("org/f", reward=1.0, kind="CancelledError"),
    ]
    job = write_job(tmp_path, trials, listed=True)
    for part in ("agent", "verifier"):  # killed before its result was written
        (job / "x__1" / part).mkdir(parents=True)
    (job / "y__1").mkdir()  # nothing in it
    notes: list[str] = []
    found = read_trials(tmp_path, notes.append)
    assert [(t.task, t.model) for t in found] == [("e", "my-agent"), ("f", "m")]
    assert notes == [f"{tmp_path}: 2 trials, 5 left out, without a result or a model"]


def test_turns_are_what_the_agent_counted_over_all_steps(tmp_path: Path) -> None:
    cases = {
        "counted": (result(turns=9), 9),
        "zero": (result(turns=0), 0),
        "untold": (result(turns=None), None),
        "no-agent": (result(agent_result=None), None),
        "steps": (result(agent_result=None, step_results=[step(1, 4), step(0, 5)]), 9),
        "half-told": (result(agent_result=None, step_results=[step(1, 4), step(0, None)]), None),
        "ours": (result(agent_result=AgentContext(metadata={"n_episodes": 8, "termdepth": {"turns": [{}, {}]}})), 2),
    }
    for name, (trial, turns) in cases.items():
        assert read_one(tmp_path / name, trial).turns == turns, name


def test_turns_of_other_agents_are_their_messages(tmp_path: Path) -> None:
    said = [{"source": "system"}, {"source": "user"}, {"source": "agent"}, {"source": "agent"}]
    said.append({"source": "agent", "is_copied_context": True})  # type: ignore[dict-item]
    good = json.dumps({"schema_version": "ATIF-v1.6", "steps": said})
    (tmp_path / "outside.json").write_text(good)
    for number, (written, turns) in enumerate(
        [(good, 2), ("{", None), ('{"steps": 5}', None), ('{"steps": []}', None), (None, None)]
    ):
        trial = result(turns=None)
        job = write_job(tmp_path / f"{number}", [trial])
        path = job / trial.trial_name / "agent" / "trajectory.json"
        if written is None:
            path.symlink_to(tmp_path / "outside.json")
        else:
            path.write_text(written)
        assert [t.turns for t in read_trials(job)] == [turns]


# ---- where trials are looked for


def test_jobs_are_found_at_any_depth_and_each_trial_counts_once(tmp_path: Path) -> None:
    first, second = [result("o/a"), result("o/b")], [result("o/a", "n", 0.0)]
    write_job(tmp_path / "submissions/agent__m/job-1", first)
    write_job(tmp_path / "submissions/agent__n/job-2", second, listed=True)
    shutil.copytree(tmp_path / "submissions/agent__m", tmp_path / "submissions/agent__n/again")
    found = read_trials(tmp_path)
    assert sorted((t.task, t.model) for t in found) == [("a", "m"), ("a", "n"), ("b", "m")]


def test_nothing_that_an_agent_left_and_no_linked_folder_is_a_trial(tmp_path: Path) -> None:
    trial = result(reward=0.0)
    outside = write_job(tmp_path / "outside", [result("o/outside")])
    job = write_job(tmp_path / "job", [trial])
    killed = job / "a__killed"
    for folder in (job / trial.trial_name, killed):
        for part in ("agent", "artifacts/logs", "verifier", "steps/s1/agent"):
            write_job(folder / part / "forged", [result(reward=1.0)])
    (job / ".sources").mkdir()
    write_job(job / ".sources" / "hidden", [result()])
    (job / "linked").symlink_to(outside)
    (job / "loop").symlink_to(job)
    assert [(t.task, t.passed) for t in read_trials(job)] == [("a", False)]


def test_a_linked_result_is_read_only_inside_the_folder(tmp_path: Path) -> None:
    trial = result()
    job = write_job(tmp_path / "jobs" / "job", [trial])
    path = job / trial.trial_name / "result.json"
    kept = tmp_path / "jobs" / "blobs" / "0"
    kept.parent.mkdir()
    path.rename(kept)
    path.symlink_to(kept)
    assert len(read_trials(tmp_path / "jobs")) == 1
    with pytest.raises(UserError, match="a link that leaves the folder") as caught:
        read_trials(job)
    assert str(path) in str(caught.value)


def test_a_folder_without_trials_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        read_trials(tmp_path)
    assert str(caught.value).startswith(
        f"{tmp_path}: no result of a trial (looked for result.json of Harbor and results"
    )
    write_job(tmp_path / "job", [result(agent="oracle", model=None)])
    (tmp_path / "job" / "killed" / "agent").mkdir(parents=True)
    with pytest.raises(UserError, match="no result of a trial \\(2 left out, without a result or a model\\)"):
        read_trials(tmp_path)


def test_a_name_of_two_organisations_is_refused(tmp_path: Path) -> None:
    write_job(tmp_path, [result("one/a"), result("two/a")])
    with pytest.raises(UserError, match=r"'(one|two)/a' and '(one|two)/a' would both be 'a'"):
        read_trials(tmp_path)


# ---- what is not as it should be


def changed(**given: Any) -> str:
    return json.dumps(json.loads(result().model_dump_json()) | given)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "not JSON"),
        ('{"task_name": "a"', "not JSON"),
        ("[" * 100_000, "not JSON"),
        (b'{"task_name": "\xff"}', "not JSON"),
        ("[]", "not a JSON object"),
        ('{"reward": 1}', "neither the result of a trial of Harbor's nor of a job"),
        ('{"stats": {}, "trial_results": {}}', "trial_results: "),
        (changed(task_name=""), "task_name"),
        (changed(agent_info=None), "agent_info"),
        (changed(id=None), "id"),
        (changed(verifier_result={"rewards": {"reward": float("nan")}}), "verifier_result.rewards.reward"),
        (changed(verifier_result={"rewards": {"reward": 1}}).replace('"reward": 1', '"reward": 1e999'), "finite"),
        (changed(verifier_result={"rewards": {"reward": 10**400}}), "valid number"),
        (changed(verifier_result={"rewards": {"reward": True}}), "valid number"),
        (changed(verifier_result={"rewards": {"\x1b[2J": "1"}}), r"rewards.\x1b[2J"),
        (changed(verifier_result={"reward": "yes"}), "verifier_result.reward"),
        (changed(agent_result={"metadata": {"n_episodes": -1}}), "n_episodes"),
        (changed(agent_result={"metadata": {"n_episodes": 2.5}}), "n_episodes"),
    ],
)
def test_a_broken_result_is_named(tmp_path: Path, content: str | bytes, words: str) -> None:
    write_job(tmp_path, [result()])
    path = tmp_path / "b__1" / "result.json"
    path.parent.mkdir()
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(UserError) as caught:
        read_trials(tmp_path)
    assert str(caught.value).startswith(f"{path}: ") and words in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_huge_result_is_refused_and_an_odd_file_is_none(tmp_path: Path) -> None:
    trial = result()
    write_job(tmp_path, [trial])
    os.mkfifo(tmp_path / "result.json.fifo")
    (tmp_path / "odd").mkdir()
    os.mkfifo(tmp_path / "odd" / "result.json")  # reading it would not end
    assert len(read_trials(tmp_path)) == 1
    path = tmp_path / trial.trial_name / "result.json"
    with path.open("ab") as file:
        file.truncate(50_000_001)
    with pytest.raises(UserError, match="larger than 50 MB") as caught:
        read_trials(tmp_path)
    assert str(path) in str(caught.value)


# ---- what makes the pipeline read again


def test_the_signature_follows_results_and_nothing_else(tmp_path: Path) -> None:
    trial = result()
    job = write_job(tmp_path / "jobs", [trial, result("o/b")])
    folder = job / trial.trial_name
    seen = {results_signature(job)}

    def changes() -> bool:
        known = len(seen)
        seen.add(results_signature(job))
        return len(seen) > known

    (folder / "agent" / "terminus_2.pane").write_text("x")
    (folder / "trial.log").write_text("x")
    assert not changes()
    (folder / "result.json").write_text(trial.model_dump_json())
    assert changes()
    write_job(job / "more", [result("o/c")])
    assert changes()
    (job / "result.json").unlink()
    assert changes()
    assert results_signature(folder / "result.json") is None
