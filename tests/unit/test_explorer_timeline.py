"""The timeline of a run, from folders as Harbor leaves them and from what is left of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from explorer_study import agent_step, run_row, turn_rows, write_run
from termdepth.explorer.timeline import Command, Message, read_timeline

TURN = agent_step("Analysis: none\nPlan: look", ["ls\n", "C-c"], "New Terminal Output:\n\n$ ls\na\n$\n\n\n\n\n\n\n")


def test_a_run_of_one_segment(tmp_path: Path) -> None:
    run = run_row(turns_per_segment=[2])
    write_run(tmp_path, run, [[TURN, TURN]])
    line = read_timeline(run, turn_rows(run), tmp_path)
    assert line.problems == []
    (segment,) = line.segments
    assert (segment.name, segment.state, segment.reward, segment.checks) == ("", "passed", 1.0, "ok 1")
    assert segment.items[0] == Message("user", "Here is part 1: do it.")
    first, second = line.turns
    assert (first.number, second.number) == (1, 2)
    assert first.said == "Analysis: none\nPlan: look"
    assert first.commands == (Command("ls\n", 0.1), Command("C-c", 0.1))
    assert first.back == "$ ls\na\n$"
    assert second.row["output_tokens"] == 102


def test_segments_keep_the_order_of_the_run_and_count_turns_on(tmp_path: Path) -> None:
    run = run_row(n_segments=4, passed=False, segments_passed=1, turns_per_segment=[2, 1])
    write_run(tmp_path, run, [[TURN, TURN], [TURN]], names=["zz-first", "aa-second"])
    line = read_timeline(run, turn_rows(run), tmp_path)
    assert [(s.name, s.state, s.reward) for s in line.segments] == [
        ("zz-first", "passed", 1.0),
        ("aa-second", "failed", 0.0),
        ("", "not reached", None),
        ("", "not reached", None),
    ]
    assert [t.number for t in line.turns] == [1, 2, 3]
    assert line.problems == []


def test_a_segment_can_pass_without_a_turn(tmp_path: Path) -> None:
    run = run_row(n_segments=2, turns_per_segment=[1, 0])
    write_run(tmp_path, run, [[TURN], []])
    assert [s.state for s in read_timeline(run, turn_rows(run), tmp_path).segments] == ["passed", "passed"]


def test_compressions_are_messages_and_copied_steps_are_left_out(tmp_path: Path) -> None:
    run = run_row(turns_per_segment=[1])
    folder = write_run(tmp_path, run, [[TURN]])
    file = folder / "agent/trajectory.json"
    trajectory = json.loads(file.read_text())
    agent = trajectory["steps"].pop()
    trajectory["steps"] += [{**agent, "is_copied_context": True}, {"source": "system", "message": "compressed"}, agent]
    file.write_text(json.dumps(trajectory))
    (segment,) = read_timeline(run, turn_rows(run), tmp_path).segments
    assert [type(i).__name__ for i in segment.items] == ["Message", "Message", "Turn"]


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_turns_without_a_row_or_without_a_record(tmp_path: Path, rows: int) -> None:
    run = run_row(turns_per_segment=[rows])
    write_run(tmp_path, run, [[TURN, TURN]])
    turns = read_timeline(run, turn_rows(run), tmp_path).turns
    assert [(t.recorded, bool(t.row)) for t in turns] == [(i < 2, i < rows) for i in range(max(2, rows))]


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    run = run_row(n_segments=2, passed=False, segments_passed=1, turns_per_segment=[1, 1])
    line = read_timeline(run, turn_rows(run), tmp_path)
    assert line.problems == ["The folder of this run is missing: only its numbers are known."]
    assert [(t.number, t.recorded) for t in line.turns] == [(1, False), (2, False)]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not readable JSON"),
        (b'{"steps": [', "not readable JSON"),
        (b"[" * 100_000, "not readable JSON"),
        (b"[1]", "not what Harbor writes"),
        (b'{"steps": 3}', None),
        (b'{"steps": [3, null, {"source": "agent", "message": {"a": 1}, "tool_calls": {}, "observation": []}]}', None),
        (b"\xff\xfe\x00", "not readable JSON"),
        (None, "is missing"),
    ],
)
def test_a_broken_trajectory_is_told(tmp_path: Path, content: bytes | None, problem: str | None) -> None:
    run = run_row(turns_per_segment=[1])
    file = write_run(tmp_path, run, [[TURN]]) / "agent/trajectory.json"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    line = read_timeline(run, turn_rows(run), tmp_path)
    assert len(line.turns) == 1
    if problem:
        (told,) = line.problems
        assert "agent/trajectory.json" in told and problem in told


def test_a_lost_result_leaves_the_segments_in_order_of_their_names(tmp_path: Path) -> None:
    run = run_row(n_segments=2)
    (write_run(tmp_path, run, [[TURN], [TURN]]) / "result.json").unlink()
    line = read_timeline(run, turn_rows(run), tmp_path)
    assert [s.name for s in line.segments] == ["s1", "s2"]
    assert all(t.recorded for t in line.turns)
    assert line.problems == ["result.json is missing: the order of the segments is a guess"]


def test_nothing_outside_the_run_s_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the secret")
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent/trajectory.json").write_text(
        json.dumps({"steps": [{"source": "user", "message": "the secret"}]})
    )
    run = run_row(turns_per_segment=[1])
    folder = write_run(tmp_path, run, [[TURN]])
    out = folder / "verifier/test-stdout.txt"
    out.unlink()
    out.symlink_to(tmp_path / "secret")
    assert "secret" not in read_timeline(run, [], tmp_path).segments[0].checks
    out.unlink()
    os.mkfifo(out)  # would wait for ever for somebody to write
    assert "is not a file" in read_timeline(run, [], tmp_path).segments[0].checks
    out.unlink()
    (folder / "verifier").rmdir()
    (folder / "verifier").symlink_to(tmp_path)
    (tmp_path / "test-stdout.txt").write_text("the secret")
    assert "the secret" not in read_timeline(run, [], tmp_path).segments[0].checks
    for name in ("../..", "../../..", str(tmp_path), "a\0b"):
        several = run_row(n_segments=2, path=run["path"], turns_per_segment=[1, 1])
        (folder / "steps").mkdir(exist_ok=True)
        (folder / "result.json").write_text(json.dumps({"step_results": [{"step_name": name}]}))
        line = read_timeline(several, turn_rows(several), tmp_path)
        assert not any("secret" in text for text in line.texts())
