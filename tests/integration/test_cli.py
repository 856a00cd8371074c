"""`termdepth` as a person and as a machine call it: in a process of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness_lab import Part, part, write_task
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
    return shown(capsys.readouterr().out)


def shown(out: str) -> dict[str, str]:
    """What is printed for people: a label, two spaces or more, a value; a value of several lines has no label on the others."""
    pairs = (line.split("  ", 1) for line in out.splitlines())
    return {label: value.strip() for label, value in pairs if label}


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
    assert data["verifier_log"] is None
    people = readable(capsys, *common)
    assert people["admitted"] == "yes" and "log of the verifier" not in people
    assert re.fullmatch(r"\d+\.\d\d? s", people["time of the validation"])
    bad = write_task(tmp_path / "bad", [Part(test="echo 1 > /logs/verifier/reward.txt\n")])
    common = ("validate", bad, "--trusted", "--backend", "sandbox", "--results", tmp_path)
    data = json.loads(termdepth(*common, "--json", status=1).stdout)
    assert data["admitted"] is False and "no-op passed" in data["reason"]
    log = Path(data["verifier_log"])
    assert log.parts[-2:] == ("verifier", "test-stdout.txt") and log.parent.parent.name.startswith("nop-")


@pytest.mark.sandbox
def test_validate_says_what_the_verifier_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("SOME_KEY", "a-key-that-nobody-may-see")
    said = (
        "echo PASS a; printf 'FAIL b: \\033[2Jcleared a-key-that-nobody-may-see\\n'; echo 'FAIL c: '$(seq 999)\n"
        "echo PASS d; echo 0 > /logs/verifier/reward.txt\n"
    )
    task = write_task(tmp_path / "bad", [part(1), Part(test=said), part(3)])
    common = ("validate", task, "--trusted", "--backend", "sandbox", "--results", tmp_path / "r")
    data = json.loads(termdepth(*common, "--json", status=1).stdout)
    assert data["reason"].startswith("oracle failed: segment 2 of 3")
    log = Path(data["verifier_log"])
    assert log.parts[-4:] == ("steps", "s2", "verifier", "test-stdout.txt") and "PASS d" in log.read_text()
    assert Path(data["solution_log"]).parts[-4:] == ("steps", "s2", "agent", "oracle.txt")
    first, second = data["verifier_said"]
    assert first == "FAIL b: ␛[2Jcleared ***" and second.startswith("FAIL c: 1 2 3") and len(second) == 200
    people = readable(capsys, *common)
    assert people["log of the verifier"] == str(log) and people["what it said last"] == first

    plain = write_task(tmp_path / "plain", [Part(test="seq 9; echo; echo 0 > /logs/verifier/reward.txt\n")])
    common = ("validate", plain, "--trusted", "--backend", "sandbox", "--results", tmp_path / "r")
    assert json.loads(termdepth(*common, "--json", status=1).stdout)["verifier_said"] == list("56789")


@pytest.mark.sandbox
def test_a_task_without_a_solution(tmp_path: Path) -> None:
    """As the pipeline has it: admitted only where the dataset says that it needs none."""
    task = write_task(tmp_path / "d" / "t", [Part()])
    shutil.rmtree(task / "solution")
    common = (task, "--trusted", "--backend", "sandbox", "--results", tmp_path / "r")
    data = json.loads(termdepth("validate", *common, "--json", status=1).stdout)
    assert (data["admitted"], data["reason"]) == (False, "no reference solution")
    assert "no reference solution" in refused("depth", *common)
    config = tmp_path / "config.yaml"
    config.write_text(
        f"datasets: [{{name: d, path: '{tmp_path / 'd'}', kind: human, needs_solution: false}}]\n"
        "models: [{id: m, litellm: scripted/merge, roles: [first]}]\n"
    )
    data = json.loads(termdepth("validate", *common, "--config", config, "--json").stdout)
    assert data["admitted"] is True and "only doing nothing" in data["note"]
    # a single run needs none, whatever the dataset says
    assert json.loads(termdepth("run", *common, "--model", "merge", "--json", status=1).stdout)["passed"] is False


@pytest.mark.sandbox
def test_run_and_depth(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    common = (TASK, "--backend", "sandbox", "--results", tmp_path)
    run = ("run", *common, "--model", "merge", "--cap", 1)
    data = json.loads(termdepth(*run, "--json").stdout)
    assert (data["outcome"], data["turns"], data["cap"], data["model"]) == ("passed", 1, 1, "merge")
    finished = Path(data["path"]) / "run.json"
    before = finished.stat().st_mtime_ns
    people = readable(capsys, *run)
    assert people["outcome"] == "passed" and people["turns"] == "1" and "error" not in people
    assert re.fullmatch(r"\d+\.\d\d? s", people["time"]) and people["cost"] == "$0"
    assert finished.stat().st_mtime_ns == before  # the second time, it was taken as it was

    depth = termdepth("depth", *common, "--second", "none", "--json")
    data = json.loads(depth.stdout)
    assert (data["D"], data["known_depth"], data["solved"], data["R"]) == (1, 1, True, 1.0)
    assert finished.stat().st_mtime_ns == before  # nor did the protocol make it again
    assert depth.stderr.count("passed") <= data["runs"]
    people = readable(capsys, "depth", *common, "--second", "none")
    assert people["D, smallest cap passed (turns)"] == "1" and people["the depth lies in"] == "(0, 1]"
    assert people["R, share of those runs that pass"] == "1.00" and people["N, fewest turns without a cap"] == str(
        data["N"]
    )


@pytest.mark.sandbox
def test_models_of_depth(tmp_path: Path) -> None:
    """A model is not helped by one that was not asked for: its D is its own."""
    task = ROOT / "resources/tasks/calibration/parallel-a"

    def measure(*models: str) -> tuple[str | None, set[str]]:
        done = termdepth("depth", task, "--backend", "sandbox", "--results", tmp_path, "--json", *models)
        data = json.loads(done.stdout)
        assert (data["model"], data["D_first_model"]) == ("merge", 2)
        return data["second_model"], {p.name for p in Path(data["runs_path"]).iterdir()}

    assert measure("--model", "merge") == (None, {"merge"})
    assert measure("--model", "merge", "--second", "none") == (None, {"merge"})
    assert measure("--second", "none") == (None, {"merge"})
    assert measure("--model", "merge", "--second", "flaky-10") == ("flaky-10", {"merge", "flaky-10"})
    assert measure()[0] == "flaky-10"


@pytest.mark.sandbox
def test_depth_of_what_is_not_solved(tmp_path: Path) -> None:
    task = write_task(tmp_path / "t", [Part()])
    common = ("depth", task, "--trusted", "--backend", "sandbox", "--results", tmp_path / "r")
    data = json.loads(termdepth(*common, "--model", "merge", "--json", status=1).stdout)
    assert data["solved"] is False and data["D"] is None and data["second_model"] is None
    runs = list(Path(data["runs_path"]).rglob("run.json"))
    assert len(runs) == data["runs"] == 2


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
    people = shown(termdepth("clean", "--results", tmp_path, "--images").stdout)
    assert (
        people["unfinished runs removed"] == "0"
        and re.fullmatch(r"[\d.]+ k?[MG]?B", people["space freed"])
        and "note" not in people
    )
    line = refused("clean", "--results", tmp_path / "none")
    assert str(tmp_path / "none") in line and "no such folder" in line
    # containers are looked for wherever one is
    assert "no folder `results`" in shown(termdepth("clean", cwd=runs).stdout)["note"]


def test_version_and_help() -> None:
    from termdepth import __version__

    assert termdepth("--version").stdout.strip() == f"termdepth {__version__}"
    assert all(command in termdepth("--help").stdout for command in ("work", "validate", "run", "depth", "clean"))


@pytest.mark.sandbox
def test_the_task_and_the_plan_of_the_docs(tmp_path: Path) -> None:
    """What the pages say to type makes a task that is admitted, and a plan that measures it."""
    for name in ("resources", "config"):
        (tmp_path / name).symlink_to(ROOT / name)
    for page, heading in (
        ("docs/checks.md", "## How a segmented task is laid out"),
        ("resources/models/plans/README.md", "## Testing a task of your own with no key"),
    ):
        block = (ROOT / page).read_text().partition(heading)[2].partition("```bash\n")[2].partition("```")[0]
        lines = [line for line in block.splitlines() if not line.startswith("termdepth ")]
        subprocess.run(["bash", "-euc", "\n".join(lines)], cwd=tmp_path, check=True)
    task = "data/mine/wordlist"
    common = (task, "--trusted", "--backend", "sandbox", "--results", tmp_path / "r", "--json")
    data = json.loads(termdepth("validate", *common, cwd=tmp_path).stdout)
    assert (data["admitted"], data["oracle_segments"]) == (True, 2)
    depth = ("depth", *common, "--model")
    data = json.loads(termdepth(*depth, "merge", cwd=tmp_path, TERMDEPTH_PLANS="data/plans").stdout)
    assert (data["D"], data["known_depth"]) == (3, 3)
    data = json.loads(termdepth(*depth, "blind", cwd=tmp_path, status=1, TERMDEPTH_PLANS="data/plans").stdout)
    assert data["solved"] is False


# ---- wrong input


COMMANDS = [("validate",), ("run", "--model", "merge"), ("depth",)]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_no_task(command: tuple[str, ...], tmp_path: Path) -> None:
    line = refused(command[0], tmp_path, *command[1:], "--results", tmp_path / "r")
    assert str(tmp_path) in line and "task.toml" in line
    line = refused(command[0], tmp_path / "none", *command[1:], "--results", tmp_path / "r")
    assert f"{tmp_path / 'none'}: no such folder" in line
    (tmp_path / "file").touch()
    assert "not a folder" in refused(command[0], tmp_path / "file", *command[1:], "--results", tmp_path / "r")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_broken_toml(command: tuple[str, ...], tmp_path: Path) -> None:
    task = write_task(tmp_path / "t", [Part()], toml="a = \n")
    line = refused(command[0], task, *command[1:], "--trusted", "--results", tmp_path / "r")
    assert "task.toml" in line and "line 2" in line


def test_work_of_what_is_no_task(tmp_path: Path) -> None:
    assert "no task in this folder" in refused("work", tmp_path)
    assert "no such folder" in refused("work", tmp_path / "none")
    write_task(tmp_path / "bad", [Part()], toml="a = \n")
    write_task(tmp_path / "fine", [Part()])
    done = termdepth("work", tmp_path, status=1)
    bad, fine = done.stdout.splitlines()[1:]  # reported, and no reason to stop
    assert "task.toml" in bad and "line 2" in bad and fine.split()[:2] == ["fine", "1"]
    assert done.stderr == "termdepth: cannot be read: bad\n"
    done = termdepth("work", tmp_path, "--json", status=1)
    assert "line 2" in json.loads(done.stdout.splitlines()[0])["problem"]
    assert done.stderr == "termdepth: cannot be read: bad\n"
    assert termdepth("work", tmp_path / "fine").stderr == ""


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
    line = refused("depth", TASK, "--model", "merge", "--second", model, "--results", tmp_path)
    assert "--second: no model" in line and model in line and "--model" not in line


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
