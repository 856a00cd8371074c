"""Marked parts of a reference solution: what is found, what removal leaves, and what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from termdepth.errors import UserError
from termdepth.tasks.marks import Mark, parse_marks, remove

SOLUTIONS = sorted((Path(__file__).parents[2] / "resources/tasks/segmented").glob("*/steps/*/solution/solve.sh"))


def _found(script: str) -> list[tuple[str, str | None, int, int]]:
    return [(mark.kind, mark.name, mark.first_line, mark.last_line) for mark in parse_marks(script, where="t")]


def _removed(script: str) -> str:
    return remove(script, parse_marks(script, where="t"), where="t")


B, E = "# key-step: begin", "# key-step: end"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a\nb\n", []),
        (f"a\n{B}\nb\n{E}\nc\n", [("key-step", None, 2, 4)]),
        (f"{B} first\nb\n{E}\n{B} second\nb\n{E}", [("key-step", "first", 1, 3), ("key-step", "second", 4, 6)]),
        ("# event: begin restart\nb\n# event: end\n", [("event", "restart", 1, 3)]),
        ("# event: begin restart\nb\n# event: end restart\n", [("event", "restart", 1, 3)]),
        ("#Event:Begin re-start.1\nb\n##  EVENT : END  \n", [("event", "re-start.1", 1, 3)]),
        (f"{B}\r\nb\r\n{E}\r\n", [("key-step", None, 1, 3)]),
        (
            f"# event: begin a\nx\n{B}\nb\n{E}\n# event: end\n# event: begin a\ny\n# event: end\n",
            [("event", "a", 1, 6), ("key-step", None, 3, 5), ("event", "a", 7, 9)],
        ),
        (f"cat > f <<'X'\n{B}\nX\necho '\n{E}\n'\n", []),
        (f'echo "\n{B}\n"\n{B}\nb\n{E}\n', [("key-step", None, 4, 6)]),
        (f"{B}\ncat <<X\n{E}\nX\n{E}\n", [("key-step", None, 1, 5)]),
        ("# about the event: begin with care\na\n# events: none\n", []),
        ("echo '# event: begin x'\n", []),
    ],
)
def test_marks_are_found_where_the_shell_reads_a_comment(
    script: str, expected: list[tuple[str, str | None, int, int]]
) -> None:
    assert _found(script) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"a\n{B}\nb\n{E}\nc\n", "a\nc\n"),
        (f"a\r\n{B}\r\nb\r\n{E}\r\nc\r\n", "a\r\nc\r\n"),
        (f"if a; then\n  {B}\n  b\n  {E}\nfi\n", "if a; then\n  :\nfi\n"),
        (f"if a; then\r\n  {B}\r\n  b\r\n  {E}\r\nfi\r\n", "if a; then\r\n  :\r\nfi\r\n"),
        (f"if a; then\n  x\n  {B}\n  b\n  {E}\nfi\n", "if a; then\n  x\nfi\n"),
        (f"if a; then\n x\nelse\n{B}\nb\n{E}\nfi\n", "if a; then\n x\nelse\n:\nfi\n"),
        (f"if a; then\n x\nelse\nc\n{B}\nb\n# d\n{E}\n# e\nfi\n", "if a; then\n x\nelse\nc\n# e\nfi\n"),
        (f"if a; then\n x\nelif y; then\n{B}\nb\n{E}\nfi\n", "if a; then\n x\nelif y; then\n:\nfi\n"),
        (f"f() {{\n{B}\nb\n{E}\n}}\n", "f() {\n:\n}\n"),
        (f"for i in 1 2; do\n\t{B}\n\tb &\n\t{E}\ndone\n", "for i in 1 2; do\n\t:\ndone\n"),
        (f"while read -r x; do\n{B}\nb\n{E}\ny; done\n", "while read -r x; do\ny; done\n"),
        (f"(\n{B}\nb\n{E}\n)\n", "(\n:\n)\n"),
        (f"case x in\na)\n{B}\nb\n{E}\n;;\nesac\n", "case x in\na)\n;;\nesac\n"),
        (f"case x in\n{B}\na) b ;;\n{E}\nc) d ;;\nesac\n", "case x in\nc) d ;;\nesac\n"),
        (f"a\n{B}\ncat > f <<X\nfi\n)\nX\n{E}\nc\n", "a\nc\n"),
        (f"a\n{B}\nb | \\\n  c && d\nif x; then y; fi\n{E}\nc\n", "a\nc\n"),
        (f"shopt -s extglob\ny=${{x//+([0-9])/}}\n{B}\nb\n{E}\n", "shopt -s extglob\ny=${x//+([0-9])/}\n"),
        (f"if a; then\n{B}\nb\n{E}\n# event: begin e\nc\n# event: end\nfi\n", "if a; then\n:\nfi\n"),
        (f"# event: begin e\nx\n{B}\nb\n{E}\n# event: end\ny\n", "y\n"),
        (f"#!/bin/sh\n{B}\nb\n{E}", "#!/bin/sh"),
    ],
)
def test_removal_leaves_a_valid_script(script: str, expected: str) -> None:
    assert _removed(script) == expected
    left = expected.replace("\r\n", "\n")
    assert subprocess.run(["bash", "-n", "-O", "extglob"], input=left, text=True, check=False).returncode == 0


def test_one_mark_goes_and_the_others_stay() -> None:
    script = f"{B}\na\n{E}\n# event: begin e\nb\n# event: end\n"
    key_step, event = parse_marks(script, where="t")
    assert remove(script, [key_step], where="t") == "# event: begin e\nb\n# event: end\n"
    assert remove(script, [event], where="t") == f"{B}\na\n{E}\n"
    assert remove(script, [], where="t") == script


def test_removal_runs_nothing(tmp_path: Path) -> None:
    script = f"touch {tmp_path}/ran\nx=$(touch {tmp_path}/ran)\n{B}\ntouch {tmp_path}/ran\n{E}\n"
    _removed(script)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "line", "problem"),
    [
        (f"a\n{B}\nb\n", 2, "does not end"),
        (f"a\n{E}\n", 2, "ends that did not begin"),
        (f"{B}\na\n{B}\nb\n{E}\n{E}\n", 3, "begins inside another"),
        (f"{B}\na\n# event: begin e\nb\n{E}\n# event: end\n", 5, "ends inside the event e that begins in line 3"),
        ("# event: begin e\na\n# event: end f\n", 3, "event f ends inside the event e"),
        ("# event: begin\na\n# event: end\n", 1, "an event without a name"),
        ("# event: begin two words\na\n# event: end\n", 1, "'two words' is not a name"),
        ("# event: begin ../x\na\n# event: end\n", 1, "'../x' is not a name"),
        ("# key-step: start\na\n# key-step: end\n", 1, "neither begins nor ends"),
        ("# key_step begin\na\n# key step: finish\n", 3, "neither begins nor ends"),
        (f"a {B}\nb\n{E}\n", 1, "on a line of its own"),
        (f"{B}\n\n# only a comment\n{E}\n", 1, "without a command"),
        (f"{B}\n{E}\n", 1, "without a command"),
        (f"a &&\n{B}\nb\n{E}\nc\n", 2, "whole commands"),
        (f"a |\n{B}\nb\n{E}\n", 2, "whole commands"),
        (f"a \\\n{B}\nb\n{E}\nc\n", 2, "inside a command or a condition"),
        (f"while\n{B}\na\n{E}\ndo b; done\n", 2, "inside a command or a condition"),
        (f"if\n{B}\na\n{E}\nthen b; fi\n", 2, "inside a command or a condition"),
        (f"if a; then\n{B}\nb\nelse\nc\n{E}\nfi\n", 2, "whole commands"),
        (f"if a; then\n{B}\nb\nfi\n{E}\n", 2, "whole commands"),
        (f"{B}\nif a; then\nb\n{E}\nfi\n", 1, "whole commands"),
        (f"case x in\na)\n{B}\nb ;;\nc) d\n{E}\n;;\nesac\n", 3, "whole commands"),
        (f"x=(\n{B}\na\n{E}\n)\n", 2, "inside a command or a condition"),
        (f"{B}\na\n{E}\nb 'open\n", 4, "cannot be parsed"),
        (f"{B}\na\n{E}\nif b; then\n", 4, "cannot be parsed"),
    ],
)
def test_what_cannot_be_removed_is_refused_with_its_line(script: str, line: int, problem: str) -> None:
    with pytest.raises(UserError) as error:
        _removed(script)
    assert str(error.value.where) == f"t:{line}"
    assert problem in str(error.value)


def test_a_script_that_was_none_to_begin_with_is_refused() -> None:
    with pytest.raises(UserError, match=r"^t:1: not a valid script"):
        remove("fi\n", [Mark("key-step", None, 1, 1)], where="t")
    with pytest.raises(UserError, match=r"not a valid script: .*here-document"):
        remove("cat <<X\nopen\n", [], where="t")


def test_removal_that_leaves_no_script_names_the_part() -> None:
    with pytest.raises(UserError, match=r"^t:2: without this event the script is not valid"):
        remove("if a; then\nb\nfi\n", [Mark("event", "e", 2, 3)], where="t")


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: f"{path.parts[-5]}/{path.parts[-3]}")
def test_every_bundled_solution_marks_its_key_step(path: Path) -> None:
    script = path.read_text()
    marks = parse_marks(script, where=str(path))
    assert any(mark.kind == "key-step" for mark in marks)
    for mark in marks:
        left = remove(script, [mark], where=str(path))
        assert len(left.splitlines()) < len(script.splitlines())
