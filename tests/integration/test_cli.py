"""`termdepth` as a person and as a machine call it: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness_lab import Part, write_task
from openai_server import KEY, OpenAIServer, failure, turn

ROOT = Path(__file__).parents[2]
TASK = ROOT / "resources/tasks/calibration/single-script-a"


def termdepth(*args: Any, cwd: Path = ROOT, status: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "termdepth.cli", *map(str, args)], cwd=cwd, env={**os.environ, **env},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    return done


def readable(capsys: pytest.CaptureFixture[str], *args: Any) -> dict[str, str]:
    """The same for people, in this process: LiteLLM's import is most of the time of a command."""
    from termdepth.cli import main

    main([str(a) for a in args])
    return dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())


def refused(*args: Any, cwd: Path = ROOT, **env: str) -> str:
    """The one line that a wrong input gets."""
    done = termdepth(*args, cwd=cwd, status=1, **env)
    lines = [line for line in done.stderr.splitlines() if line.startswith("termdepth: ")]
    assert len(lines) == 1, done.stderr
    return lines[0]


# ---- each command, for people and for machines


def test_work() -> None:
    data = json.loads(termdepth("work", TASK, "--json").stdout)
    assert data["task"] == "single-script-a" and data["n_segments"] == 1 and data["w_lines"] > 0
    assert data["problem"] is None and data["w_tokens"] > data["w_lines"] and data["w_chars"] > data["w_tokens"]
    head, line = termdepth("work", TASK).stdout.splitlines()
    assert head.split() == ["task", "lines", "tokens", "chars"]
    assert line.split() == [TASK.name, *(str(data[k]) for k in ("w_lines", "w_tokens", "w_chars"))]
    lines = termdepth("work", TASK.parent, "--json").stdout.splitlines()
    assert [json.loads(line)["task"] for line in lines] == sorted(p.name for p in TASK.parent.iterdir() if p.is_dir())


@pytest.mark.sandbox
def test_validate(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    common = ("validate", TASK, "--backend", "sandbox", "--results", tmp_path)
    data = json.loads(termdepth(*common, "--json").stdout)
    assert data["admitted"] is True and data["noop_reward"] == 0 and data["backend"] == "sandbox"
    assert readable(capsys, *common)["admitted"] == "True"
    bad = write_task(tmp_path / "bad", [Part(test="echo 1 > /logs/verifier/reward.txt\n")])
    common = ("validate", bad, "--trusted", "--backend", "sandbox", "--results", tmp_path)
    data = json.loads(termdepth(*common, "--json", status=1).stdout)
    assert data["admitted"] is False and "no-op passed" in data["reason"]


@pytest.mark.sandbox
def test_run_and_depth(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    common = (TASK, "--backend", "sandbox", "--results", tmp_path)
    run = ("run", *common, "--model", "merge", "--cap", 1)
    data = json.loads(termdepth(*run, "--json").stdout)
    assert (data["outcome"], data["turns"], data["cap"], data["model"]) == ("passed", 1, 1, "merge")
    finished = Path(data["path"]) / "run.json"
    before = finished.stat().st_mtime_ns
    shown = readable(capsys, *run)
    assert shown["outcome"] == "passed" and shown["turns"] == "1" and "error" not in shown
    assert finished.stat().st_mtime_ns == before  # the second time, it was taken as it was

    depth = termdepth("depth", *common, "--second", "none", "--json")
    data = json.loads(depth.stdout)
    assert (data["D"], data["known_depth"], data["solved"], data["R"]) == (1, 1, True, 1.0)
    assert finished.stat().st_mtime_ns == before  # nor did the protocol make it again
    assert depth.stderr.count("passed") <= data["runs"]
    shown = readable(capsys, "depth", *common, "--second", "none")
    assert shown["D"] == "1" and shown["depth_in"] == "(0, 1]"


@pytest.mark.sandbox
def test_run_that_fails_says_so_in_its_status(tmp_path: Path) -> None:
    task = write_task(tmp_path / "t", [Part()])
    config = tmp_path / "config.yaml"
    with OpenAIServer([turn(done=True)]) as server:
        model = f"{{id: m, litellm: openai/m, api_base: '{server.url}', roles: [first]}}"
        config.write_text(
            f"datasets: [{{name: d, path: '{tmp_path}', kind: human, trusted: true}}]\nmodels: [{model}]\n"
            f"allow_remote_models: true\nbackend: sandbox\nresults: '{tmp_path / 'results'}'\n"
        )
        common = ("run", task, "--model", "m", "--config", config)
        data = json.loads(termdepth(*common, "--json", status=1, OPENAI_API_KEY=KEY).stdout)
        assert data["outcome"] == "failed_checks" and data["passed"] is False
        server.script = lambda *_: failure(401, f"Incorrect API key provided: {KEY}", "invalid_api_key", "x")
        line = refused(*common, "--attempt", 2, OPENAI_API_KEY=KEY)
        assert "models (m).litellm = openai/m: the model cannot be called" in line and KEY not in line
        config.write_text(config.read_text().replace("allow_remote_models: true\n", ""))
        assert "allow_remote_models" in refused(*common, OPENAI_API_KEY=KEY)


def test_clean(tmp_path: Path) -> None:
    runs = tmp_path / "runs" / "d" / "partial-order" / "m" / "uncapped"  # a task of that name, with a finished run
    finished, left, alive = (
        runs / "1-01234567",
        runs / "partial-4194305-1-01234567",
        runs / f"partial-{os.getpid()}-1-01234567",
    )
    ours = tmp_path / "cli" / "runs" / "d" / "t" / "m" / "cap-1" / "partial-4194305-2-01234567"
    for folder in (finished, left, alive, ours):
        folder.mkdir(parents=True)
        (folder / "run.json").write_text("{}")
    data = json.loads(termdepth("clean", "--results", tmp_path, "--json").stdout)
    assert data["unfinished_runs"] == 2
    assert finished.is_dir() and alive.is_dir() and not left.exists() and not ours.exists()
    shown = dict(
        line.split(None, 1) for line in termdepth("clean", "--results", tmp_path, "--images").stdout.splitlines()
    )
    assert shown["unfinished_runs"] == "0"
    termdepth("clean", "--results", tmp_path / "none")


def test_version_and_help() -> None:
    from termdepth import __version__

    assert termdepth("--version").stdout.strip() == f"termdepth {__version__}"
    assert all(command in termdepth("--help").stdout for command in ("work", "validate", "run", "depth", "clean"))


# ---- wrong input


COMMANDS = [("validate",), ("run", "--model", "merge"), ("depth",)]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_no_task(command: tuple[str, ...], tmp_path: Path) -> None:
    line = refused(command[0], tmp_path, *command[1:], "--results", tmp_path / "r")
    assert str(tmp_path) in line and "task.toml" in line
    assert "task.toml" in refused(command[0], tmp_path / "none", *command[1:], "--results", tmp_path / "r")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_broken_toml(command: tuple[str, ...], tmp_path: Path) -> None:
    task = write_task(tmp_path / "t", [Part()], toml="a = \n")
    line = refused(command[0], task, *command[1:], "--trusted", "--results", tmp_path / "r")
    assert "task.toml" in line and "line 2" in line


def test_work_of_what_is_no_task(tmp_path: Path) -> None:
    assert "no task in this folder" in refused("work", tmp_path)
    assert "no such folder" in refused("work", tmp_path / "none")
    write_task(tmp_path / "t", [Part()], toml="a = \n")
    shown = termdepth("work", tmp_path).stdout
    assert "task.toml" in shown and "line 2" in shown  # reported, and no reason to stop
    assert "line 2" in json.loads(termdepth("work", tmp_path, "--json").stdout)["problem"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot read the config: No such file"),
        ("datasets: [\n", "line 2: not valid YAML"),
        (
            "datasets: []\nmodels: [{id: a, litellm: scripted/merge, roles: [first]}]\n",
            "datasets: List should have at least",
        ),
    ],
)
def test_wrong_config(content: str | None, words: str, tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    if content is not None:
        config.write_text(content)
    line = refused("depth", TASK, "--config", config)
    assert str(config) in line and words in line


@pytest.mark.parametrize("model", ["no-such", "scripted/no-such"])
def test_no_such_model(model: str, tmp_path: Path) -> None:
    line = refused("run", TASK, "--model", model, "--results", tmp_path)
    assert "--model" in line and model in line


@pytest.mark.parametrize("args", [(), ("run", TASK), ("run", TASK, "--model", "merge", "--cap", "0"),
                                  ("run", TASK, "--model", "merge", "--cap", "x"), ("frobnicate",)])  # fmt: skip
def test_wrong_usage(args: tuple[Any, ...]) -> None:
    assert "usage: termdepth" in termdepth(*args, status=2).stderr


@pytest.mark.sandbox
def test_untrusted_task_is_not_run_in_the_sandbox(tmp_path: Path) -> None:
    task = write_task(tmp_path / "t", [Part()])
    line = refused("validate", task, "--backend", "sandbox", "--results", tmp_path / "r")
    assert "trusted" in line


def test_output_that_nobody_reads() -> None:
    command = f"{sys.executable} -m termdepth.cli work {TASK.parent} | head -c 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr
