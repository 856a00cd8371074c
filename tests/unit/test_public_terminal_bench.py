"""Published trials from runs of the terminal-bench harness, written as its version 0.2.18 does."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from termdepth.errors import UserError
from termdepth.pipeline.spec import results_signature
from termdepth.public import pass_rates, public_columns, read_trials


def trial(task: str = "a", resolved: bool | None = True, attempt: int = 1, **given: Any) -> dict[str, Any]:
    """terminal_bench.harness.models.TrialResults"""
    name = f"{task}.{attempt}-of-2.run"
    return {
        "id": str(uuid.uuid4()),
        "trial_name": name,
        "task_id": task,
        "instruction": "Do it.",
        "is_resolved": resolved,
        "failure_mode": "unset" if resolved is not None else "test_timeout",
        "parser_results": None if resolved is None else {"test_it": "passed" if resolved else "failed"},
        "recording_path": f"run/{task}/{name}/sessions/agent.cast",
        "total_input_tokens": 0,
        "total_output_tokens": 0,
        "trial_started_at": "2025-09-24T16:36:18.355581+00:00",
        "trial_ended_at": None,
        "agent_started_at": None,
        "agent_ended_at": None,
        "test_started_at": None,
        "test_ended_at": None,
        **given,
    }


def write_run(
    run: Path,
    trials: Sequence[dict[str, Any]],
    *,
    model: str | None = "anthropic/m",
    agent: str = "terminus-2",
    in_run: bool = True,
    in_files: bool = True,
) -> Path:
    """The folder of a run. in_run, in_files: its results.json, those of its trials."""
    run.mkdir(parents=True)
    metadata = {
        "run_id": run.name, "uuid": str(uuid.uuid4()), "output_path": "/home/x/runs", "agent_name": agent,
        "no_rebuild": False, "cleanup": False, "log_level": 20, "model_name": model, "accuracy": 0.5,
        "pass_at_k": {}, "task_ids": [t["task_id"] for t in trials],
    }  # fmt: skip
    (run / "run_metadata.json").write_text(json.dumps(metadata, indent=4))
    resolved = [t["task_id"] for t in trials if t["is_resolved"]]
    whole = {
        "id": str(uuid.uuid4()), "results": trials, "pass_at_k": {}, "n_resolved": len(resolved),
        "n_unresolved": len(trials) - len(resolved), "resolved_ids": resolved, "accuracy": 0.5,
    }  # fmt: skip
    if in_run:
        (run / "results.json").write_text(json.dumps(whole, indent=4))
    for one in trials if in_files else ():
        folder = run / one["task_id"] / one["trial_name"]
        for part in ("sessions", "panes", "agent-logs"):
            (folder / part).mkdir(parents=True)
        (folder / "results.json").write_text(json.dumps(one, indent=4))
    return run


TRIALS = [trial("a"), trial("a", False, 2), trial("b", None), trial("b", False, 2), trial("c"), trial("c", True, 2)]
CSV = "task,model,reward\na,m,1\na,m,0\nb,m,\nb,m,0\nc,m,1\nc,m,1\n"


@pytest.mark.parametrize(("in_run", "in_files"), [(True, True), (True, False), (False, True)])
def test_a_csv_and_a_run_of_the_same_trials_give_the_same_rows(tmp_path: Path, in_run: bool, in_files: bool) -> None:
    table = tmp_path / "trials.csv"
    table.write_text(CSV)
    run = write_run(tmp_path / "runs" / "one", TRIALS, in_run=in_run, in_files=in_files)
    for place in (run, run.parent, *([run / "results.json"] if in_run else [])):
        assert pass_rates(place, None, "d", "s") == pass_rates(table, None, "d", "s")
        assert public_columns(place) == public_columns(table)


def test_what_a_run_and_its_trials_tell_is_put_together(tmp_path: Path) -> None:
    """A trial that broke the harness is only in the run's file; of a run that was stopped, some are only in their own."""
    broken, late = trial("b", None, failure_mode="unknown_agent_error"), trial("c")
    run = write_run(tmp_path / "run", [trial("a"), broken, late])
    shutil.rmtree(run / "b")
    whole = json.loads((run / "results.json").read_text())
    whole["results"] = whole["results"][:2]
    (run / "results.json").write_text(json.dumps(whole))
    (run / "d" / "d.1-of-1.run" / "sessions").mkdir(parents=True)
    notes: list[str] = []
    found = read_trials(run, notes.append)
    assert sorted((t.task, t.passed, t.turns) for t in found) == [
        ("a", True, None),
        ("b", False, None),
        ("c", True, None),
    ]
    assert notes == [f"{run}: 3 trials, 1 left out, without a result or a model"]


def test_a_trial_knows_itself_better_than_its_run_does(tmp_path: Path) -> None:
    once = trial("a", False)
    run = write_run(tmp_path / "run", [once])
    (run / "a" / once["trial_name"] / "results.json").write_text(json.dumps(once | {"is_resolved": True}))
    assert [t.passed for t in read_trials(run)] == [True]


def test_the_model_is_that_of_the_nearest_run(tmp_path: Path) -> None:
    outer = write_run(tmp_path / "outer", [trial("a")], model="openai/neulab/m1")
    inner = write_run(outer / "inner", [trial("b")], model="m2")  # as in a submission to the leaderboard
    shutil.copytree(inner, tmp_path / "inner")
    write_run(tmp_path / "no-model", [trial("c")], model=None, agent="some agent")
    (write_run(tmp_path / "no-metadata", [trial("d")]) / "run_metadata.json").unlink()
    write_run(tmp_path / "oracle", [trial("e")], agent="oracle")
    assert sorted((t.task, t.model) for t in read_trials(tmp_path)) == [
        ("a", "neulab/m1"), ("b", "m2"), ("c", "some agent"), ("d", "unknown"),
    ]  # fmt: skip


def test_older_results_name_their_trials_otherwise(tmp_path: Path) -> None:
    old = [{("uuid" if k == "id" else k): v for k, v in t.items() if not k.endswith("_at")} for t in TRIALS]
    assert len(read_trials(write_run(tmp_path / "run", old))) == len(TRIALS)


def test_nothing_that_an_agent_left_is_a_trial(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [trial("a", False)])
    for part in ("agent-logs", "sessions", "panes"):
        for folder in (run / "a" / TRIALS[0]["trial_name"] / part, run / "killed" / "k" / part):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "results.json").write_text(json.dumps(trial("a", True)))
    assert [(t.task, t.passed) for t in read_trials(run)] == [("a", False)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "not JSON"),
        ("{}", "neither the result of a trial of terminal-bench's nor of a run"),
        (json.dumps({"results": {}}), "results"),
        (json.dumps({"results": [trial(task="")]}), "results.0.task_id"),
        (json.dumps(trial(is_resolved="yes")), "is_resolved"),
        (json.dumps(trial(is_resolved=1)), "is_resolved"),
        (json.dumps({"task_id": "a", "is_resolved": True}), "id"),
    ],
)
def test_a_broken_result_is_named(tmp_path: Path, content: str, words: str) -> None:
    run = write_run(tmp_path / "run", [trial("a")])
    path = run / "b" / "b.1-of-1.run" / "results.json"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(UserError) as caught:
        read_trials(tmp_path)
    assert str(caught.value).startswith(f"{path}: ") and words in str(caught.value)


def test_a_broken_description_of_a_run_is_named(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [trial("a")])
    before = results_signature(run)
    (run / "run_metadata.json").write_text('{"model_name": 5}')
    assert results_signature(run) != before
    with pytest.raises(UserError, match=r"run_metadata\.json: model_name"):
        read_trials(run)
