"""Task folders as the world has them: every found folder is read, or is a row with the reason."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from task_builders import DOCKERFILE, TOML, multi, single, write
from termdepth.data.schema import TASKS
from termdepth.errors import UserError
from termdepth.tasks.digest import content_digest
from termdepth.tasks.reading import SINGLE_SEGMENT, TaskInfo, TaskProblem, find_tasks, read_task
from termdepth.tasks.rows import task_rows


def info(folder: Path) -> TaskInfo:
    task = read_task(folder, folder.parent)
    assert isinstance(task, TaskInfo), task
    return task


def reason(folder: Path) -> str:
    task = read_task(folder, folder.parent)
    assert isinstance(task, TaskProblem), task
    return task.reason


def names(root: Path) -> list[str]:
    return [found.task for found in find_tasks(root)]


# --- finding


def test_nested_datasets_names_with_dots_and_capitals_in_order(tmp_path: Path) -> None:
    for name in ("b.Task-2.1", "A", "deep/er/Z.z", "deep/a"):
        single(tmp_path / name)
    write(tmp_path, {"README.md": "x", ".git/task.toml": "", "docs/index.md": "x", "empty/.keep": ""})
    assert names(tmp_path) == ["A", "b.Task-2.1", "deep/a", "deep/er/Z.z"]


def test_a_folder_that_is_itself_one_task(tmp_path: Path) -> None:
    task = single(tmp_path / "One.Task")
    assert names(task) == ["One.Task"]
    read = read_task(task, task)
    assert isinstance(read, TaskInfo)
    assert read.task == "One.Task"


def test_nothing_is_found_inside_a_task(tmp_path: Path) -> None:
    single(tmp_path / "t", {"environment/repo/task.toml": "x", "environment/repo/instruction.md": "x"})
    assert names(tmp_path) == ["t"]


def test_a_folder_that_does_not_exist_is_a_users_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        find_tasks(tmp_path / "nowhere")


def test_folders_that_only_look_like_tasks_are_found_with_the_reason(tmp_path: Path) -> None:
    single(tmp_path / "no-toml", {"task.toml": None})
    write(tmp_path / "only-env", {"environment/Dockerfile": DOCKERFILE, "tests/test.sh": ""})
    write(tmp_path / "old", {"task.yaml": "instruction: x", "Dockerfile": DOCKERFILE})
    assert names(tmp_path) == ["no-toml", "old", "only-env"]
    assert reason(tmp_path / "no-toml") == "task.toml is missing"
    assert reason(tmp_path / "only-env") == "task.toml is missing"
    assert "older Terminal-Bench format" in reason(tmp_path / "old")


def test_a_repository_with_tests_and_an_environment_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, {"tests/test_it.py": "", "environment/setup.sh": ""})
    single(tmp_path / "tasks" / "a")
    assert names(tmp_path) == ["tasks/a"]


def test_a_name_that_is_not_utf8_can_still_be_written(tmp_path: Path) -> None:
    single(Path(os.fsdecode(os.fsencode(tmp_path) + b"/t\xff")))
    (row,) = task_rows(tmp_path)
    assert row["task"] == "t\\xff"
    assert row["problem"] is None
    row["path"].encode()


# --- reading


def test_single_step(tmp_path: Path) -> None:
    task = info(single(tmp_path / "t"))
    assert [segment.name for segment in task.segments] == [SINGLE_SEGMENT]
    assert (task.n_segments, task.instruction_words, task.has_solution) == (1, 3, True)
    assert (task.network, task.memory_mb, task.timeout_sec, task.os) == ("no-network", 512, 120.0, "linux")
    assert task.metadata["tags"] == ["a", "b"]
    assert task.segments[0].instruction() == "Make the file.\n"


def test_multi_step_sums_words_and_time_limits(tmp_path: Path) -> None:
    task = info(multi(tmp_path / "t", 3))
    assert [segment.name for segment in task.segments] == ["s1", "s2", "s3"]
    assert [segment.instruction_words for segment in task.segments] == [4, 4, 4]
    assert task.timeout_sec == 180
    assert task.instruction_words == 12


def test_legacy_version_and_memory_and_allow_internet(tmp_path: Path) -> None:
    toml = 'version = "1.0"\n[environment]\nmemory = "2G"\nallow_internet = false\n'
    task = info(single(tmp_path / "t", toml=toml))
    assert (task.memory_mb, task.network, task.timeout_sec) == (2048, "no-network", None)
    assert info(single(tmp_path / "u", toml=toml.replace("false", "true"))).network == "public"


def test_network_is_none_where_the_task_does_not_say(tmp_path: Path) -> None:
    assert info(single(tmp_path / "t", toml='version = "1.0"\n')).network is None


def test_prebuilt_image_with_and_without_a_dockerfile(tmp_path: Path) -> None:
    toml = '[environment]\ndocker_image = "registry.example/a:1"\n'
    with_file = info(single(tmp_path / "a", toml=toml))
    without = info(single(tmp_path / "b", {"environment/Dockerfile": None}, toml=toml))
    assert with_file.docker_image == without.docker_image == "registry.example/a:1"
    assert with_file.dockerfile is not None
    assert without.dockerfile is None


def test_multi_stage_dockerfile_is_read(tmp_path: Path) -> None:
    stages = "FROM golang:1.22 AS build\nRUN true\nFROM debian:bookworm-slim\nCOPY --from=build /x /x\n"
    assert info(single(tmp_path / "t", {"environment/Dockerfile": stages})).dockerfile is not None


def test_compose_services(tmp_path: Path) -> None:
    compose = "services:\n  main:\n    build: .\n  db:\n    image: postgres\n"
    task = info(single(tmp_path / "t", {"environment/docker-compose.yaml": compose}))
    assert task.compose_services == ("main", "db")


def test_a_compose_file_of_another_name_is_the_tasks_own_file(tmp_path: Path) -> None:
    task = info(single(tmp_path / "t", {"environment/docker-compose.yml": "not: [valid"}))
    assert task.compose_file is None


def test_windows_task_uses_its_own_scripts(tmp_path: Path) -> None:
    files = {"tests/test.sh": None, "tests/test.bat": "@echo off\r\n", "solution/solve.bat": "rem x\r\necho a\r\n"}
    task = info(single(tmp_path / "t", files, toml='[environment]\nos = "Windows"\n'))
    assert task.os == "windows"
    assert task.segments[0].solution is not None
    assert task.segments[0].solution.name == "solve.bat"


def test_canary_lines_are_no_words_of_the_instruction(tmp_path: Path) -> None:
    text = "<!-- harbor-canary GUID 1 -->\n# canary x\n\nDo it.\n"
    task = info(single(tmp_path / "t", {"instruction.md": text}))
    assert task.instruction_words == 2
    assert task.segments[0].instruction() == "Do it.\n"


def test_a_step_without_tests_uses_the_tasks_tests(tmp_path: Path) -> None:
    task = info(multi(tmp_path / "t", 2, {"steps/s2/tests/test.sh": None, "tests/test.sh": "#!/bin/bash\n"}))
    assert [str(s.tests.relative_to(tmp_path / "t")) for s in task.segments if s.tests] == [
        "steps/s1/tests/test.sh",
        "tests/test.sh",
    ]


def test_no_solution_is_no_problem(tmp_path: Path) -> None:
    task = info(single(tmp_path / "t", {"solution/solve.sh": None}))
    assert not task.has_solution


@pytest.mark.parametrize(
    ("files", "toml", "expected"),
    [
        ({}, 'version = "1.0"\n[environment\n', r"task\.toml, line 2: "),
        ({}, '[a]\nx = "never closed', r"task\.toml, line 2: "),
        ({}, "[agent]\ntimeout_sec = 'soon'\n", r"task\.toml, agent\.timeout_sec: "),
        ({}, '[environment]\nmemory = "lots"\n', r"task\.toml, environment: .*LOTS"),
        ({}, "[environment]\nmemory = 4\nos = 3\n", r"task\.toml, environment\.os: "),
        ({"instruction.md": None}, TOML, r"^instruction\.md is missing$"),
        ({"tests/test.sh": None}, TOML, r"^tests/test\.sh is missing$"),
        ({"environment/Dockerfile": None}, TOML, r"^environment/Dockerfile is missing, and .*docker_image"),
        ({"environment/docker-compose.yaml": "a: [b\n"}, TOML, r"^environment/docker-compose\.yaml, line 2: not valid"),
        ({"environment/docker-compose.yaml": "- a\n"}, TOML, r"docker-compose\.yaml: no services"),
        ({}, TOML + '[[steps]]\nname = "gone"\n', r"^steps/gone: the folder of this step is missing$"),
        ({"steps/s/x": ""}, TOML + '[[steps]]\nname = "s"\n', r"^steps/s/instruction\.md is missing$"),
        ({}, TOML + '[[steps]]\nname = "../out"\n', r"task\.toml, steps\.0\.name: "),
        ({}, "steps = 3\n", r"task\.toml, steps: "),
        ({}, "environment = 3\n", r"task\.toml, environment: "),
        ({"task.toml": b"a = '\xff\xfe'\n"}, TOML, r"task\.toml, line 1: not UTF-8"),
        ({"task.toml": b""}, TOML, ""),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(
    tmp_path: Path, files: dict[str, str | bytes | None], toml: str, expected: str
) -> None:
    folder = single(tmp_path / "t", files, toml=toml)
    task = read_task(folder, tmp_path)
    if not expected:  # an empty task.toml is valid: everything has a default
        assert isinstance(task, TaskInfo)
        return
    assert isinstance(task, TaskProblem)
    assert re.search(expected, task.reason), task.reason
    assert "\n" not in task.reason


# --- links


@pytest.mark.parametrize("place", ["environment/secret", "tests/helper.py", "solution/solve.sh", "task.toml"])
def test_a_link_that_leaves_the_task_is_refused(tmp_path: Path, place: str) -> None:
    outside = tmp_path / "outside"
    outside.write_text("secret")
    folder = single(tmp_path / "data" / "t", {place: None})
    (folder / place).parent.mkdir(exist_ok=True)
    (folder / place).symlink_to(outside)
    task = read_task(folder, tmp_path / "data")
    assert isinstance(task, TaskProblem)
    assert task.reason == f"{place} is a symbolic link that leaves the folder"


def test_a_linked_folder_or_absolute_target_is_refused(tmp_path: Path) -> None:
    folder = single(tmp_path / "t")
    (folder / "environment" / "etc").symlink_to("/etc", target_is_directory=True)
    assert "environment/etc is a symbolic link" in reason(folder)


def test_a_task_folder_linked_from_elsewhere_is_a_row_with_the_reason(tmp_path: Path) -> None:
    single(tmp_path / "elsewhere" / "t")
    root = tmp_path / "data"
    single(root / "own")
    (root / "linked").symlink_to(tmp_path / "elsewhere" / "t", target_is_directory=True)
    (root / "again").symlink_to(root / "own", target_is_directory=True)
    rows = list(task_rows(root))
    assert [row["task"] for row in rows] == ["linked", "own"]
    assert rows[0]["problem"] == "the task folder is a symbolic link that leaves the dataset"
    assert rows[1]["problem"] is None


def test_a_dataset_folder_that_is_itself_a_link_is_fine(tmp_path: Path) -> None:
    single(tmp_path / "real" / "t")
    (tmp_path / "data").symlink_to(tmp_path / "real", target_is_directory=True)
    assert [row["problem"] for row in task_rows(tmp_path / "data")] == [None]


def test_links_inside_the_task_are_fine_also_in_a_circle(tmp_path: Path) -> None:
    folder = single(tmp_path / "t")
    (folder / "tests" / "again.sh").symlink_to("test.sh")
    (folder / "environment" / "up").symlink_to("..", target_is_directory=True)
    assert info(folder).n_segments == 1


def test_a_pipe_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    folder = single(tmp_path / "t")
    os.mkfifo(folder / "environment" / "pipe")
    assert reason(folder) == "environment/pipe is not a regular file"


# --- digest


def test_the_digest_sees_content_names_and_the_executable_bit_and_no_times(tmp_path: Path) -> None:
    one, two = single(tmp_path / "1"), single(tmp_path / "2")
    os.utime(two / "task.toml", (1, 1))
    same = content_digest(one)
    assert content_digest(two) == same
    (two / "tests/test.sh").chmod(0o755)
    executable = content_digest(two)
    (two / "tests/test.sh").chmod(0o644)
    (two / "tests/test.sh").rename(two / "tests/Test.sh")
    renamed = content_digest(two)
    (two / "tests/Test.sh").rename(two / "tests/test.sh")
    (two / "tests/test.sh").write_text("other")
    assert len({same, executable, renamed, content_digest(two)}) == 4


def test_the_digest_tells_a_file_from_a_link_with_the_same_text(tmp_path: Path) -> None:
    write(tmp_path / "1", {"a": "x", "b": "a"})
    write(tmp_path / "2", {"a": "x"})
    (tmp_path / "2" / "b").symlink_to("a")
    assert content_digest(tmp_path / "1") != content_digest(tmp_path / "2")


# --- rows


def test_found_equals_rows_and_rows_have_the_tables_columns(tmp_path: Path) -> None:
    single(tmp_path / "good")
    multi(tmp_path / "steps", 2, {"steps/s2/solution/solve.sh": "cat > x <<'EOF'\n# kept\nEOF\n"})
    single(tmp_path / "bad", toml="[")
    single(tmp_path / "unsolved", {"solution/solve.sh": None})
    rows = {row["task"]: row for row in task_rows(tmp_path)}
    assert list(rows) == names(tmp_path) == ["bad", "good", "steps", "unsolved"]
    known = {column.name for column in TASKS.columns}
    assert {column for row in rows.values() for column in row} <= known
    assert all(list(row) == list(rows["good"]) for row in rows.values())
    assert rows["bad"]["problem"].startswith("task.toml, line 1")
    assert rows["bad"]["w_lines"] is None
    assert (rows["good"]["w_lines"], rows["good"]["difficulty"], rows["good"]["tags"]) == (1, "easy", ["a", "b"])
    assert (rows["steps"]["w_lines"], rows["steps"]["w_naive_lines"], rows["steps"]["n_segments"]) == (4, 3, 2)
    assert rows["unsolved"]["w_lines"] is None
    assert rows["unsolved"]["problem"] is None


@pytest.mark.parametrize("value", ["3", '["x", "y"]', "true", "{a = 1}", '""'])
def test_metadata_may_be_anything(tmp_path: Path, value: str) -> None:
    single(tmp_path / "t", toml=f"[metadata]\ndifficulty = {value}\ncategory = {value}\ntags = {value}\n")
    (row,) = task_rows(tmp_path)
    assert row["problem"] is None
    assert row["difficulty"] is None or isinstance(row["difficulty"], str)
