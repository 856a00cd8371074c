"""The pipeline end to end, as a user starts it: real snakemake, real sandboxes, scripted models, a small config."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness_lab import Part, part, write_task
from openai_server import Answer, OpenAIServer, failure, turn
from termdepth.data import TABLES, read_table

ROOT = Path(__file__).resolve().parents[2]
TASKS = ROOT / "resources/tasks/calibration"
# The figures take most of the time and have tests of their own: most tests here ask for the tables of record only.
DATA = [f"results/data/{table}.parquet" for table in ("depth", "runs", "admission")]
pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(900)]


def config(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "datasets": [
            {
                "name": "small",
                "path": "tasks",
                "kind": "calibration",
                "trusted": True,
                "evaluate": True,
                "tasks_per_job": 1,
            }
        ],
        "models": [
            {"id": "merge", "litellm": "scripted/merge", "roles": ["first"]},
            {"id": "other", "litellm": "scripted/blind", "roles": ["evaluated"]},
        ],
        "protocol": {"caps": [1, 2, 5, 10]},
    }
    return base | changes


class Study:
    """A working folder with its own tasks and config."""

    def __init__(self, folder: Path, tasks: list[str], settings: dict[str, Any]) -> None:
        self.folder = folder
        (folder / "config").mkdir(parents=True)
        for task in tasks:
            shutil.copytree(TASKS / task, folder / "tasks" / task)
        self.configure(settings)

    def configure(self, settings: dict[str, Any]) -> None:
        (self.folder / "config/config.yaml").write_text(yaml.safe_dump(settings))

    def command(self, *args: str) -> list[str]:
        return [
            str(Path(sys.executable).with_name("snakemake")),
            "--snakefile",
            str(ROOT / "Snakefile"),
            "--directory",
            str(self.folder),
            "--workflow-profile",
            str(ROOT / "profiles/default"),
            "--cores",
            "2",
            *args,
        ]

    def snakemake(self, *args: str, ok: bool = True) -> str:
        done = subprocess.run(
            self.command(*args), cwd=self.folder, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL
        )
        text = done.stdout + done.stderr
        assert (done.returncode == 0) is ok, text[-5000:]
        return text

    def jobs(self, *args: str) -> dict[str, int]:
        """How many jobs of each rule snakemake would run now."""
        text = self.snakemake("--dry-run", *args)
        counts: dict[str, int] = {}
        if "Job stats:" in text:
            for line in text.split("Job stats:")[1].splitlines()[3:]:
                words = line.split()
                if len(words) != 2 or words[0] == "total":
                    break
                counts[words[0]] = int(words[1])
        return counts

    def runs(self) -> dict[str, float]:
        """Finished runs, and when each was made."""
        return {
            str(p.parent.relative_to(self.folder)): p.stat().st_mtime
            for p in (self.folder / "results").glob("runs/**/run.json")
        }

    def table(self, name: str) -> list[dict[str, Any]]:
        return read_table(self.folder / f"results/data/{name}.parquet", TABLES[name])


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    made = Study(tmp_path_factory.mktemp("study"), ["single-script-a", "parallel-a"], config())
    made.snakemake()
    return made


def test_first_run_measures_the_known_depth(study: Study) -> None:
    depth = {r["task"]: r for r in study.table("depth")}
    assert {t: (r["d"], r["plan_depth"]) for t, r in depth.items()} == {"single-script-a": (1, 1), "parallel-a": (2, 2)}
    runs = study.table("runs")
    assert {r["outcome"] for r in runs if r["model"] == "merge" and r["cap"] is None} == {"passed"}
    # blind writes everything in its first turn: enough for a single script, not where a file must be read first.
    blind = {r["task"]: r["passed"] for r in runs if r["model"] == "other"}
    assert blind == {"single-script-a": True, "parallel-a": False}


def test_every_table_and_figure_is_there(study: Study) -> None:
    from termdepth.report.registry import ITEMS

    for item in ITEMS.values():
        for suffix in item.files:
            assert (study.folder / f"results/{item.kind}s/{item.name}{suffix}").stat().st_size > 0


def test_report_is_made_offline(study: Study) -> None:
    page = (study.folder / "results/report.html").read_text()  # the pipeline makes it at its end
    assert "Audit of the datasets (Table 1)" in page
    assert 'src="http' not in page


def test_second_run_runs_nothing(study: Study) -> None:
    before = study.runs()
    assert "Nothing to be done" in study.snakemake()
    assert study.runs() == before


def test_a_changed_model_reruns_only_its_jobs(study: Study) -> None:
    before = study.runs()
    changed = config()
    changed["models"][1]["litellm"] = "scripted/flaky-0"
    study.configure(changed)
    measured = {
        r: n
        for r, n in study.jobs().items()
        if r.startswith(("run_", "probe_", "build_image", "validate_", "estimate_"))
    }
    assert measured == {"run_evaluation": 2}
    study.snakemake(*DATA)
    after = study.runs()
    assert {k: v for k, v in after.items() if k in before} == before
    assert {k.split("/")[4] for k in after.keys() - before.keys()} == {"other"}
    study.configure(config())
    study.snakemake(*DATA)
    assert study.runs() == after, "going back finds the runs that were made before"


def test_a_new_task_runs_only_itself(study: Study) -> None:
    before = study.runs()
    shutil.copytree(TASKS / "single-script-b", study.folder / "tasks/single-script-b")
    study.snakemake(*DATA)
    after = study.runs()
    assert {k: v for k, v in after.items() if k in before} == before
    assert {k.split("/")[3] for k in after.keys() - before.keys()} == {"single-script-b"}
    assert "Nothing to be done" in study.snakemake(*DATA)


def test_one_bad_task_does_not_stop_the_others(tmp_path: Path) -> None:
    study = Study(tmp_path, ["single-script-a"], config())
    for name, toml in (("broken", "[environment\n"), ("fails", None)):
        shutil.copytree(TASKS / "single-script-a", study.folder / "tasks" / name)
        if toml:
            (study.folder / f"tasks/{name}/task.toml").write_text(toml)
        else:
            (study.folder / f"tasks/{name}/solution/solve.sh").write_text("#!/bin/bash\ntrue\n")
    shutil.copytree(TASKS / "single-script-a", study.folder / "tasks/elsewhere")
    (study.folder / "tasks/elsewhere/environment/Dockerfile").write_text("FROM nosuchimage:9.9\n")
    study.snakemake()
    admission = {r["task"]: r for r in study.table("admission")}
    assert admission["single-script-a"]["admitted"]
    assert not admission["fails"]["admitted"] and "oracle failed" in admission["fails"]["reason"]
    assert Path(study.folder, admission["fails"]["log"]).is_file()
    assert (
        admission["elsewhere"]["reason"].startswith("no build: ") and "nosuchimage" in admission["elsewhere"]["reason"]
    )
    assert not admission["broken"]["admitted"] and "line 1" in admission["broken"]["reason"]
    assert [r["task"] for r in study.table("depth")] == ["single-script-a"]
    listed = (study.folder / "results/tables/admission.md").read_text()
    assert all(name in listed for name in ("broken", "fails", "elsewhere")) and "1 of 4 tasks found" in listed


def test_a_wrong_config_is_one_clear_line_and_nothing_runs(tmp_path: Path) -> None:
    study = Study(tmp_path, ["single-script-a"], config(protocol={"caps": [1, 3, 2]}))
    text = study.snakemake(ok=False)
    lines = [line for line in text.splitlines() if line.startswith("termdepth:")]
    assert len(lines) == 1
    assert "config/config.yaml" in lines[0] and "protocol.caps" in lines[0] and "increase" in lines[0]
    assert "Traceback" not in text
    assert not (study.folder / "results").exists()


@pytest.mark.parametrize(
    ("text", "where"),
    [("datasets: [\n", "config/config.yaml, line"), ("", "config/config.yaml"), ("models: []\nmodels: []\n", "line 2")],
)
def test_a_config_that_is_no_yaml_is_one_line_with_its_file(tmp_path: Path, text: str, where: str) -> None:
    study = Study(tmp_path, ["single-script-a"], config())
    (study.folder / "config/config.yaml").write_text(text)
    said = study.snakemake(ok=False)
    lines = [line for line in said.splitlines() if line.startswith("termdepth:")]
    assert len(lines) == 1 and where in lines[0], said
    assert "Traceback" not in said


def test_a_provider_that_fails_every_run_fails_the_job_and_says_why(tmp_path: Path) -> None:
    settings = config(allow_remote_models=True)
    settings["models"] = [
        {
            "id": "gone",
            "litellm": "openai/gone",
            "roles": ["first"],
            "api_base": "http://127.0.0.1:9/v1",
            "request_timeout_sec": 2,
        }
    ]
    study = Study(tmp_path, ["single-script-a"], settings)
    os.environ["OPENAI_API_KEY"] = "sk-not-a-real-key-0123456789"
    try:
        said = study.snakemake(*DATA, ok=False)
    finally:
        del os.environ["OPENAI_API_KEY"]
    assert "failed for reasons outside the tasks" in said and "run again" in said
    assert (
        said.index("Complete log")
        > said.rindex("failed for reasons outside the tasks")
        > said.index("What ended the jobs")
    )
    assert "sk-not-a-real-key" not in said
    assert not (study.folder / "results/data/depth.parquet").exists()


def test_an_outage_of_the_provider_is_no_result_and_the_same_command_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-0123456789")
    down = True
    served: list[str] = []

    def script(messages: list[dict[str, Any]], _: int) -> Answer:
        unlucky = any("SECRET-INSTRUCTION-1" in str(m["content"]) for m in messages)
        if unlucky and down:
            return failure(503, "overloaded")
        served.append("b" if unlucky else "a")
        return turn("touch /app/1" if unlucky else "touch /app/done", done=True)

    with OpenAIServer(script) as server:
        settings = config(allow_remote_models=True, protocol={"caps": [1], "invalid_retries": 0})
        settings["datasets"][0] |= {"tasks_per_job": 2, "evaluate": False}
        settings["models"] = [{"id": "far", "litellm": "openai/far", "roles": ["first"], "api_base": server.url}]
        study = Study(tmp_path, [], settings)
        write_task(tmp_path / "tasks/a", [Part()])
        write_task(tmp_path / "tasks/b", [part(1)])
        said = study.snakemake(*DATA, ok=False)
        assert "the provider did not answer for b" in said and "ServiceUnavailableError: overloaded" in said, said
        assert not (study.folder / "results/data/depth.parquet").exists()
        before = served.count("a")
        assert before > 0
        down = False
        study.snakemake(*DATA)
    assert served.count("a") == before + 1  # its run at cap 1; those without a cap are kept
    rows = {r["task"]: r for r in read_table(study.folder / "results/data/depth.parquet", TABLES["depth"])}
    assert rows["a"]["solved"] and rows["b"]["solved"]


def _ours(folder: Path) -> list[int]:
    """Processes whose working folder is the study's."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cwd").resolve() == folder.resolve():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def test_a_killed_pipeline_ends_and_goes_on_where_it_was(tmp_path: Path) -> None:
    study = Study(tmp_path, ["control-06-a", "parallel-a"], config())
    log = (study.folder / "first.log").open("w")
    first = subprocess.Popen(
        study.command(*DATA), cwd=study.folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
    )
    end = time.monotonic() + 300
    while len(study.runs()) < 2 and first.poll() is None and time.monotonic() < end:
        time.sleep(0.1)
    assert first.poll() is None, (study.folder / "first.log").read_text()[-3000:]
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    end = time.monotonic() + 30
    while _ours(study.folder) and time.monotonic() < end:
        time.sleep(0.1)
    assert not _ours(study.folder), "jobs must end when the pipeline is gone"
    before = study.runs()
    assert len(before) >= 2
    study.snakemake("--unlock")
    study.snakemake(*DATA)
    after = study.runs()
    assert {k: v for k, v in after.items() if k in before} == before, "a finished run is never made again"
    assert not list((study.folder / "results/runs").rglob("partial-*"))
    assert {r["task"]: r["d"] for r in study.table("depth")} == {"control-06-a": 10, "parallel-a": 2}
