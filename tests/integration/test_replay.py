"""Replays in real containers: what holds, what does not, what crashes; finished ones are kept; the bundled tasks' shares."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from termdepth.config.models import Config
from termdepth.data.schema import TABLES
from termdepth.harness.record import TaskRef
from termdepth.pipeline.backends import backend_for, ensure_image
from termdepth.pipeline.replay import replay_tasks
from termdepth.tasks.reading import TaskInfo, read_task

RESOURCES = Path(__file__).parents[2] / "resources"
TOML = 'schema_version = "1.4"\n[environment]\nnetwork_mode = "no-network"\nworkdir = "/app"\n'
LIBRARY_TEST = """\
#!/bin/bash
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
reward=0
bash "$here/run.sh" "$here/check.sh" && reward=1
mkdir -p /logs/verifier
echo "$reward" > /logs/verifier/reward.txt
"""


def write_task(folder: Path, segments: list[dict[str, str]]) -> Path:
    """A segmented task: for each segment its solution and check.sh (or test.sh), and more files by name."""
    files = {"environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n"}
    for name in ("checks.sh", "run.sh"):
        files[f"tests/{name}"] = (RESOURCES / "checks" / name).read_text()
    toml = TOML
    for n, segment in enumerate(segments, start=1):
        toml += f'[[steps]]\nname = "s{n}"\nmin_reward = 1.0\n'
        files[f"steps/s{n}/instruction.md"] = f"Do part {n}.\n"
        files[f"steps/s{n}/solution/solve.sh"] = "#!/bin/bash\n" + segment.pop("solution")
        files[f"steps/s{n}/tests/test.sh"] = segment.pop("test", LIBRARY_TEST)
        files |= {f"steps/s{n}/{name}": text for name, text in segment.items()}
    files["task.toml"] = toml
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if text.startswith("#!"):
            path.chmod(0o755)
    return folder


class Study:
    """One dataset in one backend."""

    def __init__(self, backend: str, tasks: Path, results: Path, **dataset: Any) -> None:
        self.config = Config.model_validate(
            {
                "datasets": [{"name": "toy", "path": tasks, "kind": "ours", "trusted": True, **dataset}],
                "models": [{"id": "merge", "litellm": "scripted/merge", "roles": ["first"]}],
                "backend": backend,
                "results": results,
            }
        )
        self.dataset = self.config.datasets[0]
        self.tasks = tasks
        self.lines: list[str] = []

    def refs(self, *names: str) -> list[TaskRef]:
        found = []
        for name in names:
            path = self.tasks / name
            info = read_task(path, self.tasks)
            assert isinstance(info, TaskInfo), info
            image = ensure_image(self.config, self.dataset, path)
            backend = backend_for(self.config, self.dataset).name
            found.append(TaskRef("toy", name, path, info.n_segments, info.digest, f"{backend}:{image.image_id}", 600.0))
        return found

    def replay(self, *names: str) -> list[dict[str, Any]]:
        rows = replay_tasks(self.config, self.dataset, self.refs(*names), threads=2, say=self.lines.append)
        assert all(set(row) == {c.name for c in TABLES["replays"].columns} for row in rows)
        return rows


def holds(rows: list[dict[str, Any]]) -> dict[tuple[str, int, str | None], Any]:
    """True or False by (change, segment, event); `crashed` or the reason where there is no result."""
    return {
        (r["change"], r["segment"], r["event"]): r["holds"]
        if r["holds"] is not None
        else ("crashed" if r["crashed"] else r["reason"])
        for r in rows
    }


TOY = [
    {
        "solution": (
            "# key-step: begin\necho 42 > number\n# key-step: end\n# event: begin noted\necho noted >> log\n# event: end\n"
        ),
        "tests/check.sh": 'expect_eq "number" "$(cat /app/number)" 42 int\nexpect_out "log" noted -- cat /app/log\n',
    },
    {  # its check sees neither the number nor the key step; it needs a file that the segment brings
        "solution": 'n=$(cat number)\nd=$n\n# key-step: begin\nd=$((n * 2))\n# key-step: end\necho "=$d" > double\n',
        "tests/check.sh": 'expect_file "double" /app/double\nexpect_out "brought" "^set up$" -- cat /app/brought.txt\n',
        "workdir/brought.txt": "not yet\n",
        "workdir/setup.sh": "#!/bin/bash\necho set up > brought.txt\n",
    },
    {  # its check script ends where the segment before was not done
        "solution": "cp double final\n",
        "tests/check.sh": '[ -s /app/double ] || exit 0\nexpect_file "final" /app/final\n',
    },
]


def toy() -> list[dict[str, str]]:
    return [dict(segment) for segment in TOY]


def test_what_holds_and_what_does_not(backend: str, tmp_path: Path) -> None:
    write_task(tmp_path / "tasks/toy", toy())
    study = Study(backend, tmp_path / "tasks", tmp_path / "results")
    rows = study.replay("toy")
    assert holds(rows) == {
        ("checks_before_work", 1, None): True,
        ("checks_before_work", 2, None): True,
        ("checks_before_work", 3, None): True,
        ("previous_skipped", 2, None): False,
        ("previous_skipped", 3, None): "crashed",
        ("event_removed", 1, "noted"): True,
        ("key_step_removed", 1, None): True,
        ("key_step_removed", 2, None): False,
        ("key_step_removed_then_next", 1, None): False,
        ("key_step_removed_then_next", 2, None): False,
    }
    assert study.lines == ["  toy/toy  5 of 9 hold, 1 without a result"]
    pages = {Path(row["page"]).name for row in rows if row["page"]}
    assert pages == {
        "2-previous_skipped.md",
        "3-previous_skipped.md",
        "2-key_step_removed.md",
        "1-key_step_removed_then_next.md",
        "2-key_step_removed_then_next.md",
    }
    text = (tmp_path / "results/replays/toy/toy/2-key_step_removed.md").read_text()
    assert "- double\n- brought\n" in text and "d=$n\n" in text and "d=$((n * 2))" not in text
    crash = next(row for row in rows if row["crashed"])
    assert "stopped before its last line" in crash["reason"]
    assert "stopped before its last line" in Path(crash["page"]).read_text()


def test_finished_replays_are_kept_and_pages_follow(backend: str, tmp_path: Path) -> None:
    task = write_task(tmp_path / "tasks/toy", toy())
    study = Study(backend, tmp_path / "tasks", tmp_path / "results")
    first = study.replay("toy")
    finished = tmp_path / "results/replays/toy/toy/finished"
    times = {p: p.stat().st_mtime_ns for p in finished.iterdir()}
    assert len(times) == 6
    assert study.replay("toy") == first, "taken as they are"
    assert {p: p.stat().st_mtime_ns for p in finished.iterdir()} == times
    # A job that was killed: what is not finished is run, the rest is not.
    lost = next(p for p in times if p.name.startswith("2-key-step"))
    half = next(p for p in times if p.name.startswith("1-event"))
    lost.unlink()
    half.write_text(half.read_text()[:40])
    left = finished.parent / "partial-1-2-key-step"
    left.mkdir()
    assert holds(study.replay("toy")) == holds(first)
    again = {p for p in finished.iterdir() if p.stat().st_mtime_ns != times[p]}
    assert again == {lost, half} and not left.exists()
    # A better check: other replays are made, and the page of what now holds is gone.
    check = task / "steps/s2/tests/check.sh"
    check.write_text(check.read_text() + 'expect_eq "twice" "$(tr -d = < /app/double)" 84 int\n')
    found = holds(study.replay("toy"))
    assert found["key_step_removed", 2, None] is True and found["previous_skipped", 2, None] is True
    assert not (tmp_path / "results/replays/toy/toy/2-key_step_removed.md").exists()
    assert len(list(finished.iterdir())) == 6, "one record a branch, the newest"


@pytest.mark.sandbox
def test_verifiers_that_do_not_use_the_library(tmp_path: Path) -> None:
    """A reward of zero is a failure; a verifier that writes none did not run to a result."""
    segment = {"solution": "# key-step: begin\ntouch done\n# key-step: end\n"}
    scored = "#!/bin/bash\n[ -e /app/done ] && r=1 || r=0.5\necho $r > /logs/verifier/reward.txt\n"
    silent = "#!/bin/bash\n[ -e /app/done ] && echo 1 > /logs/verifier/reward.txt\n"
    json_ = (
        '#!/bin/bash\n[ -e /app/done ] && r=1 || r=0\necho "{\\"a\\": 1, \\"b\\": $r}" > /logs/verifier/reward.json\n'
    )
    for name, test in (("scored", scored), ("silent", silent), ("json", json_)):
        write_task(tmp_path / f"tasks/{name}", [{**segment, "test": test}, {**segment, "test": scored}])
    study = Study("sandbox", tmp_path / "tasks", tmp_path / "results")
    rows = study.replay("scored", "silent", "json")
    found = {
        name: holds([r for r in rows if r["task"] == name])["key_step_removed", 1, None]
        for name in ("scored", "silent", "json")
    }
    assert found == {"scored": True, "silent": "crashed", "json": True}


@pytest.mark.sandbox
def test_a_wrong_mark_is_named_before_anything_runs(tmp_path: Path) -> None:
    from termdepth.errors import UserError

    segments = toy()
    segments[1]["solution"] = "true\n# key-step: begin\ntrue\n"
    write_task(tmp_path / "tasks/toy", segments)
    study = Study("sandbox", tmp_path / "tasks", tmp_path / "results")
    with pytest.raises(UserError) as error:
        study.replay("toy")
    assert "steps/s2/solution/solve.sh" in str(error.value) and "3" in str(error.value)
    assert not (tmp_path / "results/replays").exists()


@pytest.mark.sandbox
def test_records_hold_what_was_printed(tmp_path: Path) -> None:
    segments = toy()
    segments[0]["solution"] += "echo from the solution\necho and an error >&2\nexit 7\n"
    write_task(tmp_path / "tasks/toy", segments)
    study = Study("sandbox", tmp_path / "tasks", tmp_path / "results")
    row = next(r for r in study.replay("toy") if r["change"] == "checks_before_work" and r["segment"] == 2)
    look = json.loads(Path(row["log"]).read_text())["looks"][1]
    assert look["before"][0]["code"] == 7
    assert look["before"][0]["output"].splitlines() == ["from the solution", "and an error"]
    assert "FAIL double" in look["log"]


@pytest.mark.sandbox
def test_the_solution_of_the_next_segment_sees_no_checks(tmp_path: Path) -> None:
    segments = toy()
    for segment in segments:
        segment["solution"] += "ls -A /tests /logs/verifier\n"
    write_task(tmp_path / "tasks/toy", segments)
    study = Study("sandbox", tmp_path / "tasks", tmp_path / "results")
    outputs = [
        ran["output"]
        for row in study.replay("toy")
        for look in json.loads(Path(row["log"]).read_text())["looks"]
        for ran in look["before"]
    ]
    assert all("/logs/verifier:" in output for output in outputs)
    assert not [o for o in outputs if re.search(r"check|run\.sh|test\.sh|reward|stdout", o)]


@pytest.mark.sandbox
@pytest.mark.timeout(900)
def test_table_8_of_the_bundled_tasks(tmp_path: Path) -> None:
    """Their checks see every part of the reference solutions, and every replay runs to a result."""
    tasks = RESOURCES / "tasks/segmented"
    study = Study("sandbox", tasks, tmp_path)
    rows = study.replay(*sorted(p.name for p in tasks.iterdir() if p.is_dir()))
    wrong = [(r["task"], r["segment"], r["change"], r["event"], r["reason"]) for r in rows if r["holds"] is not True]
    assert wrong == []
    segments = {(r["task"], r["segment"]) for r in rows}
    count = {change: sum(r["change"] == change for r in rows) for change in {r["change"] for r in rows}}
    assert count["checks_before_work"] == count["key_step_removed"] == len(segments)
    assert (
        count["previous_skipped"]
        == count["key_step_removed_then_next"]
        == len(segments) - len({t for t, _ in segments})
    )
    assert count["event_removed"] > 0
