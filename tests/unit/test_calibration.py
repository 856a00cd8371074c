"""The calibration tasks: generated as bundled, right, and as deep as their plans say."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from termdepth.errors import UserError
from termdepth.models.conversation import PANE_WIDTH
from termdepth.models.plan import find_plan, load_plans, plan_depth
from termdepth.tasks import calibration
from termdepth.tasks.calibration import CHAINED, DEPTH, OPERATIONS, Step, TaskFiles

BUNDLED = Path(__file__).parents[2] / "resources/tasks/calibration"
SEEDS = range(12)
PLANS = {plan.name: plan for plan in load_plans()}


@pytest.fixture(scope="module")
def tasks() -> dict[str, TaskFiles]:
    return {task.name: task for task in calibration.generate()}


def _tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(p.relative_to(folder)): (p.stat().st_mode & 0o111, p.read_bytes()) for p in folder.rglob("*") if p.is_file()
    }


def test_the_bundled_tasks_are_what_the_generator_writes(tmp_path: Path) -> None:
    calibration.main([str(tmp_path)])
    assert _tree(tmp_path) == _tree(BUNDLED)


def test_rewriting_removes_what_is_stale_and_touches_no_neighbour(tmp_path: Path) -> None:
    (tmp_path / "parallel-a").mkdir()
    (tmp_path / "parallel-a/stale.txt").touch()
    (tmp_path / "mine.txt").touch()
    calibration.main([str(tmp_path)])
    assert not (tmp_path / "parallel-a/stale.txt").exists() and (tmp_path / "mine.txt").exists()


def test_another_seed_gives_other_tasks_of_the_same_names(tasks: dict[str, TaskFiles]) -> None:
    others = {task.name: task for task in calibration.generate(2)}
    assert others.keys() == tasks.keys()
    assert all(others[name].files["tests/test.sh"] != task.files["tests/test.sh"] for name, task in tasks.items())


def test_two_variants_of_each_kind_at_their_depth(tasks: dict[str, TaskFiles]) -> None:
    assert sorted(tasks) == sorted(f"{kind}-{variant}" for kind in DEPTH for variant in "ab")
    for name, task in tasks.items():
        plan = find_plan(task.files["instruction.md"].decode())
        assert plan is not None and plan.name == name[:-2]
        assert plan_depth(plan) == DEPTH[plan.name]
        assert f"known_depth = {DEPTH[plan.name]}\n".encode() in task.files["task.toml"]


def test_harbor_reads_them() -> None:
    from harbor.models.task.config import NetworkMode
    from harbor.models.task.task import Task

    for folder in sorted(path for path in BUNDLED.iterdir() if path.is_dir()):
        config = Task(folder).config
        assert config.environment.network_mode == NetworkMode.NO_NETWORK and config.environment.workdir == "/app"
        assert config.metadata["category"] == "calibration" and config.task.name == f"termdepth/{folder.name}"


# -- the operations ---------------------------------------------------------------------------------------------------------


def _alone() -> Iterator[Step]:
    for operation in OPERATIONS:
        for seed in SEEDS:
            yield operation(Random(seed), "data-01.txt")


def _chained() -> Iterator[tuple[Step, str]]:
    for operation in CHAINED:
        for seed in SEEDS:
            before = Random(seed).choice(["rokavibed", "4ebfd1fd8bc43a43", "zarasovbigu"])
            yield operation(Random(seed), "data-02.txt", before, 1), before


def _run(commands: list[tuple[str, Step]], folder: Path, before: dict[int, str] | None = None) -> list[str]:
    """Run each command in a folder of its own with its data; one shell for all. The answers."""
    script = ["set -u"]
    for i, (command, step) in enumerate(commands):
        place = folder / str(i)
        place.mkdir()
        name = re.search(r"data-\d\d\.txt", step.phrase)
        if name:
            (place / name[0]).write_text(step.data)
        known = shlex.quote((before or {}).get(i, ""))
        script.append(f"cd {shlex.quote(str(place))}; answer={known}; a={known}; x=$({command}); printf '%s\\n' \"$x\"")
    done = subprocess.run(["bash", "-c", "\n".join(script)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def _recipe(plan: str, step: Step) -> str:
    command = next((c for r in PLANS[plan].recipes if (c := r.apply(step.phrase)) is not None), None)
    assert command is not None, step.phrase
    return command


def test_commands_of_solution_and_plan_give_the_answer(tmp_path: Path) -> None:
    """Three ways to the answer: worked out in Python, by the reference solution, by the plan's recipe."""
    steps = list(_alone())
    commands = [(s.command, s) for s in steps] + [(_recipe("parallel", s), s) for s in steps]
    assert _run(commands, tmp_path) == [s.answer for s in steps] * 2


def test_chained_commands_of_solution_and_plan_give_the_answer(tmp_path: Path) -> None:
    steps = list(_chained())
    commands = [(s.command, s) for s, _ in steps] + [(_recipe("static-chain", s), s) for s, _ in steps]
    before = {i: b for i, (_, b) in enumerate(steps * 2)}
    assert _run(commands, tmp_path, before) == [s.answer for s, _ in steps] * 2


def test_a_step_is_one_line_that_fits_the_terminal() -> None:
    for step in [*_alone(), *(s for s, _ in _chained())]:
        assert "\n" not in step.phrase and len(f"Step 10: {step.phrase}") < PANE_WIDTH
        assert "\n" not in step.command


def test_no_answer_can_be_read_off_the_data_or_counted_up_to() -> None:
    """Else one loop over the words that are readable, or over numbers, would open the next step of a control task."""
    for step in _alone():
        assert step.answer not in step.data and step.answer not in step.phrase
        assert int(step.answer) > 10**10 if step.answer.isdigit() else len(step.answer) >= 12, step


def test_both_wordings_of_each_operation_occur() -> None:
    for operation in OPERATIONS:
        wordings = {
            re.sub(r"\d+|\b[bdfgklmnprstvz]\w{6}\b|\b\w\b", "_", operation(Random(s), "f").phrase) for s in range(40)
        }
        assert len(wordings) == 2, wordings


# -- control -----------------------------------------------------------------------------------------------------------------


def _controls(tasks: dict[str, TaskFiles]) -> Iterator[tuple[TaskFiles, list[Step]]]:
    for variant in "ab":
        for length in (6, 10):
            name = f"control-{length:02}-{variant}"
            yield tasks[name], calibration._independent(Random(f"{calibration.SEED}/{name}"), length)


def _decrypt(sealed: bytes, password: str) -> bytes | None:
    command = ["openssl", "enc", "-d", "-aes-256-cbc", "-pbkdf2", "-pass", f"pass:{password}"]
    done = subprocess.run(command, input=sealed, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def test_each_step_opens_with_the_answer_before_and_holds_text_and_data(tasks: dict[str, TaskFiles]) -> None:
    for task, steps in _controls(tasks):
        for i in range(2, len(steps) + 1):
            plain = _decrypt(task.files[f"environment/files/step-{i:02}.enc"], steps[i - 2].answer)
            assert plain is not None and plain[257:262] == b"ustar"
            assert f"Step {i}: {steps[i - 1].phrase}".encode() in plain and steps[i - 1].data.encode() in plain


def test_nothing_of_later_steps_is_readable_in_the_image(tasks: dict[str, TaskFiles]) -> None:
    for task, steps in _controls(tasks):
        visible = b"\n".join(
            content
            for path, content in task.files.items()
            if path.startswith("environment/") or path == "instruction.md"
        )
        for step in steps[1:]:
            assert step.phrase.encode() not in visible and step.data.splitlines()[0].encode() not in visible
        assert not any(step.answer.encode() in visible for step in steps)


def test_the_operations_of_a_task_differ() -> None:
    for seed in SEEDS:
        drawn = [re.sub(r"data-\d\d|\d+", "", step.command) for step in calibration._independent(Random(seed), 10)]
        assert len(set(drawn)) == 10


def test_no_readable_word_or_line_opens_the_next_step(tasks: dict[str, TaskFiles]) -> None:
    task = tasks["control-06-a"]
    text = task.files["environment/files/data-01.txt"].decode() + task.files["environment/files/step-01.txt"].decode()
    for password in {*text.split(), *text.splitlines()}:
        plain = _decrypt(task.files["environment/files/step-02.enc"], password)
        # A wrong key leaves valid padding once in 256 tries, and rubbish with it.
        assert plain is None or plain[257:262] != b"ustar"


def test_answers_stand_in_no_file_of_a_task(tasks: dict[str, TaskFiles]) -> None:
    independent = [*_controls(tasks)]
    for variant in "ab":
        name = f"parallel-{variant}"
        independent.append((tasks[name], calibration._independent(Random(f"{calibration.SEED}/{name}"), 10)))
    for task, steps in independent:
        assert f"Step 1: {steps[0].phrase}".encode() in b"".join(task.files.values()), (
            "these are the steps of this task"
        )
        assert not any(step.answer.encode() in content for step in steps for content in task.files.values())


def test_without_openssl_the_generator_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="openssl"):
        calibration.encrypt(b"x", "password", b"12345678")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file"):
        calibration.main([str(tmp_path / "file")])
