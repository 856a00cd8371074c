"""The merge ablation in real containers: which checks go, what the quality check refuses, and D downward."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_replay import RESOURCES, Study, write_task

from termdepth.data.schema import TABLES
from termdepth.models.merged_plan import merged_plan_depth
from termdepth.models.plan import find_plan
from termdepth.pipeline.merge import measure_merged, merge_tasks
from termdepth.tasks.reading import TaskInfo, read_task


def merge(study: Study, *names: str, d: int = 20) -> dict[str, dict[str, Any]]:
    refs = study.refs(*names)
    depth = [{"task": r.task, "solved": True, "n_segments": r.n_segments, "d_first": d} for r in refs]
    rows = merge_tasks(study.config, study.dataset, refs, depth, threads=2, say=study.lines.append)
    assert all(set(row) == {c.name for c in TABLES["merged"].columns} for row in rows)
    return {row["task"]: row for row in rows}


def study(backend: str, folder: Path) -> Study:
    return Study(backend, folder / "tasks", folder / "results", merge={"tasks": "all"})


OPEN = {
    "solution": "cp /solution/settings settings\necho opened >> log\n",
    "solution/settings": "port: 8080\nname: tally\n",
    "tests/check.sh": (
        'expect_eq "port" "$(field /app/settings port)" 8080 int\n'
        'expect_eq "port: the name beside it" "$(field /app/settings name)" tally\n'
        'expect_out "log" opened -- cat /app/log\n'
    ),
}
MOVE = {
    "solution": "sed -i s/8080/8111/ settings\n",
    "tests/check.sh": 'expect_eq "moved" "$(field /app/settings port)" 8111 int\n',
}


def test_checks_that_a_later_segment_changes_are_dropped(backend: str, tmp_path: Path) -> None:
    write_task(tmp_path / "tasks/port", [dict(OPEN), dict(MOVE)])
    row = merge(study(backend, tmp_path), "port")["port"]
    assert row["quality_passed"] and row["reason"] is None
    assert row["checks_total"] == 4 and row["checks_dropped"] == ["s1: port"]
    merged = read_task(Path(row["path"]), Path(row["path"]))
    assert isinstance(merged, TaskInfo) and merged.n_segments == 1 and merged.digest == row["digest"]
    assert merged.segments[0].instruction().index("Do part 1.") < merged.segments[0].instruction().index("Do part 2.")


def test_nothing_is_dropped_where_nothing_is_changed(backend: str, tmp_path: Path) -> None:
    more = {"solution": "echo more > more\n", "tests/check.sh": 'expect_file "more" /app/more\n'}
    write_task(tmp_path / "tasks/more", [dict(OPEN), more])
    row = merge(study(backend, tmp_path), "more")["more"]
    assert (row["quality_passed"], row["checks_total"], row["checks_dropped"]) == (True, 4, [])


def plain(check: str) -> str:
    return f"#!/bin/bash\n{check}\n"


@pytest.mark.sandbox
def test_other_verifiers_are_dropped_as_a_whole(tmp_path: Path) -> None:
    """Also those that write reward.json, and read a file beside them."""
    write_task(
        tmp_path / "tasks/plain",
        [
            {
                "solution": "echo 1 > state\n",
                "test": plain(
                    "cmp -s /tests/expected /app/state && r=1 || r=0\n"
                    'echo "{\\"lines\\": 1, \\"reward\\": $r}" > /logs/verifier/reward.json'
                ),
                "tests/expected": "1\n",
            },
            {
                "solution": "echo 2 > state; echo kept > kept\n",
                "test": plain(
                    "cmp -s /tests/expected /app/kept && r=1.0 || r=0.5\n"
                    'echo "{\\"a\\": 1, \\"b\\": $r}" > /logs/verifier/reward.json'
                ),
                "tests/expected": "kept\n",
            },
            {
                "solution": "echo 3 > state\n",
                "test": plain("grep -qx 3 /app/state; echo $((1 - $?)) > /logs/verifier/reward.txt"),
            },
        ],
    )
    row = merge(study("sandbox", tmp_path), "plain")["plain"]
    assert row["reason"] is None and row["quality_passed"]
    assert row["checks_total"] == 3 and row["checks_dropped"] == ["s1: all of it"]


@pytest.mark.sandbox
def test_what_the_quality_check_refuses(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    good = {"solution": "touch a\n", "tests/check.sh": 'expect_ok "a" -- test -e /app/a\n'}
    # The second segment's checks, not its script, clear the way for the third: merged, they come too late.
    write_task(
        tasks / "last",
        [
            dict(good),
            {
                "solution": "echo x >> b\n",
                "tests/check.sh": 'expect_eq "b" "$(wc -l < /app/b)" 1 int\nrm -f /app/b; expect_ok "c" -- test ! -e /app/stop\n',
            },
            {
                "solution": "touch stop; [ ! -e b ] && echo fine > fine\n",
                "tests/check.sh": 'expect_file "fine" /app/fine\n',
            },
        ],
    )
    # Nothing is asked for that was not there, once the first segment's check is gone.
    write_task(
        tasks / "noop",
        [dict(good), {"solution": "rm a\n", "tests/check.sh": 'expect_ok "no a" -- test ! -e /app/a\n'}],
    )
    silent = plain("[ -e /app/a ] && echo 1 > /logs/verifier/reward.txt")
    write_task(tasks / "silent", [{"solution": "touch a\n", "test": silent}, {"solution": "true\n", "test": silent}])
    write_task(tasks / "brings", [dict(good), {**good, "workdir/more": "x\n"}])
    rows = merge(study("sandbox", tmp_path), "last", "noop", "silent", "brings")
    reasons = {name: row["reason"] for name, row in rows.items()}
    assert not any(row["quality_passed"] for row in rows.values())
    assert reasons["last"] == "checks of the last segment fail after the merged solution: fine"
    assert reasons["noop"] == "no-op got a reward"
    assert reasons["silent"] == "no-op could not be verified: the verifier wrote no reward file"
    assert reasons["brings"].startswith("s2 brings files of its own")
    assert rows["noop"]["path"] and rows["brings"]["path"] is None


@pytest.mark.sandbox
def test_what_is_checked_is_kept(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks/port", [dict(OPEN), dict(MOVE)])
    mine = study("sandbox", tmp_path)
    first = merge(mine, "port")["port"]
    assert merge(mine, "port")["port"] == first, "also the seconds: nothing was run"
    assert merge(mine, "port", d=5)["port"] == {**first, "d_original": 5}


@pytest.mark.sandbox
@pytest.mark.timeout(900)
def test_merged_bundled_tasks_pass_the_quality_check_and_one_is_as_deep_as_its_plan(tmp_path: Path) -> None:
    tasks = RESOURCES / "tasks/segmented"
    names = sorted(p.name for p in tasks.iterdir() if p.is_dir())
    mine = Study("sandbox", tasks, tmp_path / "results", merge={"tasks": "all"})
    rows = merge(mine, *names, d=10)
    assert {name: row["reason"] for name, row in rows.items()} == dict.fromkeys(names)
    for name, row in rows.items():
        last = sorted(p.name for p in (tasks / name / "steps").iterdir())[-1]
        assert not [check for check in row["checks_dropped"] if check.startswith(last)]
    name = "air-station"
    measured, runs, _ = measure_merged(mine.config, mine.dataset, [rows[name]], threads=2, say=mine.lines.append)
    plan = find_plan((tasks / name / "steps/1-unpack/instruction.md").read_text())
    assert plan is not None
    depth = merged_plan_depth(plan)
    wanted = min(cap for cap in mine.config.protocol.caps if cap >= depth)
    assert measured[0]["plan_depth"] == depth
    assert (measured[0]["solved"], measured[0]["d_merged"], measured[0]["runs"]) == (True, wanted, len(runs))
    below = max(cap for cap in mine.config.protocol.caps if cap < wanted)
    assert [(r["cap"], r["passed"]) for r in runs][-2:] == [(below, False), (below, False)]
    assert all(r["phase"] == "merged" and r["n_segments"] == 1 and r["turns"] <= r["cap"] for r in runs)
