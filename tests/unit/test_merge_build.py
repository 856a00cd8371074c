"""The merged task as a Harbor task folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from task_builders import TOML, multi
from termdepth.merge.build import build, merged_instruction, why_not_mergeable
from termdepth.merge.checks import Checks
from termdepth.models.conversation import read_conversation
from termdepth.tasks.digest import content_digest
from termdepth.tasks.reading import TaskInfo, read_task


def info(path: Path) -> TaskInfo:
    found = read_task(path, path)
    assert isinstance(found, TaskInfo), found
    return found


def test_the_folder_is_a_task_of_one_segment_with_the_same_environment(tmp_path: Path) -> None:
    task = info(
        multi(
            tmp_path / "task",
            3,
            {
                "environment/deep/file": "x",
                "tests/shared.sh": "# shared\n",
                "steps/s2/tests/shared.sh": "# own\n",
                "steps/s2/solution/data.txt": "needed\n",
            },
        )
    )
    assert why_not_mergeable(task) is None
    digest = build(task, tmp_path / "merged")
    merged = info(tmp_path / "merged")
    assert digest == merged.digest
    assert merged.n_segments == 1 and merged.has_solution
    assert content_digest(task.path / "environment") == content_digest(merged.path / "environment")
    assert merged.timeout_sec == task.timeout_sec == 180
    assert merged.memory_mb == task.memory_mb and merged.metadata["merged_segments"] == ["s1", "s2", "s3"]
    assert merged.config.verifier.timeout_sec == 3 * 600
    assert (merged.path / "tests/segment-1/tests/shared.sh").read_text() == "# shared\n"
    assert (merged.path / "tests/segment-2/tests/shared.sh").read_text() == "# own\n", "a segment's own file goes first"
    assert (merged.path / "solution/segment-2/data.txt").is_file()
    assert not list(merged.path.rglob("kept"))


def test_the_same_task_gives_the_same_folder(tmp_path: Path) -> None:
    task = info(multi(tmp_path / "task", 4))
    assert build(task, tmp_path / "a") == build(task, tmp_path / "b") == build(task, tmp_path / "a")
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_all_requirements_in_their_order(tmp_path: Path) -> None:
    text = info(multi(tmp_path / "task", 3)).segments[0].instruction()
    assert text == "Do step 1 now.\n"
    merged = merged_instruction(["First.\n", "\nSecond: `x`.", "Third.\n\n"])
    places = [merged.index(part) for part in ("First.", "Second: `x`.", "Third.")]
    assert places == sorted(places)
    # It must not look like a part that the harness delivers.
    assert read_conversation([{"role": "user", "content": f"Task Description:\n{merged}"}]).part is None


def test_dropped_checks_are_listed_and_whole_segments_leave_no_gap(tmp_path: Path) -> None:
    task = info(multi(tmp_path / "task", 4))
    checks = [Checks(("a", "b: c"), ("b: c",)), Checks(whole_dropped=True), Checks(("x",), ("x",)), Checks(("z",))]
    build(task, tmp_path / "merged", checks)
    tests = tmp_path / "merged/tests"
    assert sorted(p.name for p in tests.iterdir()) == ["segment-1", "segment-2", "test.sh"]
    assert (tests / "segment-1/kept").read_text() == "a\n"
    assert (tests / "segment-1/dropped").read_text() == "b: c\n"
    assert not (tests / "segment-2/kept").exists()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"steps/s2/workdir/later.txt": "x"}, "s2 brings files of its own"),
        ({"steps/s1/solution/solve.sh": None}, "a segment has no reference solution"),
        ({"task.toml": TOML + '[[steps]]\nname = "s1"\n[[steps]]\nname = "s2"\n[steps.agent]\nuser = "me"\n'}, "users"),
        (
            {
                "task.toml": TOML
                + '[[steps]]\nname = "s1"\n[[steps]]\nname = "s2"\n[steps.healthcheck]\ncommand = "x"\n'
            },
            "s2 has a health check",
        ),
        ({"task.toml": TOML + '[[steps]]\nname = "s1"\n'}, "it has one segment"),
    ],
)
def test_what_cannot_be_merged(tmp_path: Path, files: dict[str, str | None], said: str) -> None:
    task = info(multi(tmp_path / "task", 2, files))
    reason = why_not_mergeable(task)
    assert reason is not None and said in reason
