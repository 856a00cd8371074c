"""The marked parts of a reference solution: its key steps and its events (paper, App. F).

Comments on lines of their own mark whole commands, so that they can be removed mechanically:

    # key-step: begin            # event: begin restart
    chown app /srv/data          systemctl restart app
    # key-step: end              # event: end

A key step may have a name, an event must have one; several parts with the same name are one event. Marks may be nested in
each other, not within the same kind. What a here-document or a quoted string holds is content, never a mark.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from termdepth.errors import UserError
from termdepth.tasks.heredocs import Unclosed, mask, outline
from termdepth.tasks.shell import first_error, parser

if TYPE_CHECKING:
    from tree_sitter import Node

_MARK = re.compile(r"#+\s*(key[-_ ]?step|event)\s*:\s*(.*?)\s*$", re.IGNORECASE)
_BEGIN_OR_END = re.compile(r"(begin|end)(?:\s+(.+))?$", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*$")
_LISTS = {"program", "compound_statement", "subshell", "do_group", "else_clause", "case_item", "command_substitution"}
"""Nodes whose commands may go without changing what the commands around them mean."""
_SEPARATORS = {";", "&", "\n"}


@dataclass(frozen=True)
class Mark:
    """One marked part.

    Attributes:
        kind: "key-step" or "event".
        name: of the event or the key step; None for a key step without one.
        first_line: the line (from 1) of the comment that begins it.
        last_line: the line of the comment that ends it.
    """

    kind: Literal["key-step", "event"]
    name: str | None
    first_line: int
    last_line: int


def parse_marks(script: str, *, where: str) -> list[Mark]:
    """The marked parts of a solution in the order of their beginnings.

    Args:
        script: the text of a shell script.
        where: what to call it in errors, such as `task-name/1-setup/solve.sh`.

    Raises:
        UserError: with the line, for a mark that is not well formed, is not closed or opened, is nested wrongly, holds no
            command, or cuts a command into parts; and for a script with marks that cannot be parsed.
    """
    text = script.removeprefix("\ufeff").replace("\r\n", "\n")
    if not any(_MARK.search(line) for line in text.split("\n")):
        return []
    lines = text.split("\n")
    open_marks: list[tuple[Literal["key-step", "event"], str | None, Node]] = []
    marks: list[Mark] = []
    for comment in _comments(text, where):
        line = comment.start_point[0] + 1
        match = _MARK.match(lines[line - 1].strip())
        if match is None:
            if _MARK.match((comment.text or b"").decode(errors="replace")):
                raise _error("a mark must be on a line of its own", where, line)
            continue
        kind: Literal["key-step", "event"] = "event" if match[1].lower() == "event" else "key-step"
        edge = _BEGIN_OR_END.match(match[2])
        if edge is None:
            raise _error(
                f"a mark that neither begins nor ends: {match[0]}", where, line, f"write # {kind}: begin or end"
            )
        name = edge[2]
        if name is not None and not _NAME.match(name):
            raise _error(f"'{name}' is not a name", where, line, "one word of letters, digits, dot, - and _")
        if edge[1].lower() == "begin":
            if kind == "event" and name is None:
                raise _error("an event without a name", where, line, "write # event: begin NAME")
            if any(kind == other for other, _, _ in open_marks):
                raise _error(f"a {kind} begins inside another", where, line)
            open_marks.append((kind, name, comment))
            continue
        if not open_marks:
            raise _error(f"a {kind} ends that did not begin", where, line)
        begun_kind, begun_name, begin = open_marks.pop()
        first = begin.start_point[0] + 1
        if begun_kind != kind or (name is not None and name != begun_name):
            raise _error(
                f"a {kind}{f' {name}' if name else ''} ends inside the {begun_kind}"
                f"{f' {begun_name}' if begun_name else ''} that begins in line {first}",
                where,
                line,
            )
        _require_whole_commands(begin, comment, lines, where)
        marks.append(Mark(kind, begun_name, first, line))
    if open_marks:
        kind, _, begin = open_marks[0]
        raise _error(f"a {kind} that does not end", where, begin.start_point[0] + 1, f"write # {kind}: end")
    return sorted(marks, key=lambda found: found.first_line)


def remove(script: str, marks: Sequence[Mark], *, where: str) -> str:
    """The script without the lines of `marks`, which `parse_marks` found in it.

    Where a part was all there is in a block, `:` stands in its place. The result is checked by `bash -n`, which reads a
    script without running any of it.

    Raises:
        UserError: with the line, if what is left is not a script, or the script was none to begin with.
    """
    broken = _syntax_error(script)
    if broken is not None:
        raise _error(f"not a valid script: {broken[1]}", where, broken[0])
    if not marks:
        return script
    plain = _without(script, marks, filler=False)
    if _syntax_error(plain) is None:
        return plain
    filled = _without(script, marks, filler=True)
    if _syntax_error(filled) is None:
        return filled
    culprit = next((mark for mark in marks if _syntax_error(_without(script, [mark], filler=True))), marks[0])
    raise _error(
        f"without this {culprit.kind} the script is not valid", where, culprit.first_line, "mark whole commands"
    )


def _without(script: str, marks: Sequence[Mark], *, filler: bool) -> str:
    lines = script.split("\n")
    gone = {index for mark in marks for index in range(mark.first_line - 1, mark.last_line)}
    starts = {mark.first_line - 1 for mark in marks} if filler else set()
    kept = []
    for index, line in enumerate(lines):
        if index not in gone:
            kept.append(line)
        elif index in starts and index - 1 not in gone:
            kept.append(line[: len(line) - len(line.lstrip())] + ":" + ("\r" if line.endswith("\r") else ""))
    return "\n".join(kept)


def _require_whole_commands(begin: Node, end: Node, lines: list[str], where: str) -> None:
    """The two comments must stand in the same list of commands, with commands between them and nothing else."""
    first = begin.start_point[0] + 1
    parent, before = _place(begin)
    end_parent, until_end = _place(end)
    if parent.id != end_parent.id:
        raise _error("a marked part must hold whole commands", where, first, "its end is in another block or command")
    between = until_end[len(before) + 1 :]
    commands = [node for node in between if node.is_named and node.type != "comment"]
    in_list = parent.type in _LISTS
    if parent.type in ("if_statement", "elif_clause"):  # not in its condition
        in_list = any(node.type == "then" for node in before)
    elif parent.type == "case_statement":
        in_list = all(node.type == "case_item" for node in commands)
    joined = begin.start_point[0] > 0 and re.search(r"(?<!\\)(?:\\\\)*\\$", lines[begin.start_point[0] - 1])
    if not in_list or joined or not all(node.is_named or node.type in _SEPARATORS for node in between):
        raise _error("a marked part must not be inside a command or a condition", where, first)
    if not commands:
        raise _error("a marked part without a command", where, first)


def _place(comment: Node) -> tuple[Node, list[Node]]:
    """The node whose list of commands the comment is in, and that node's children before the comment."""
    parent = comment.parent
    assert parent is not None  # the root is no comment
    siblings = parent.children
    before = siblings[: next(i for i, node in enumerate(siblings) if node.id == comment.id)]
    # The grammar ends an else with its last command: comments behind that are children of the `if`.
    clause = next((node for node in reversed(before) if node.type != "comment"), None)
    if clause is not None and clause.type in ("else_clause", "elif_clause"):
        return clause, [*clause.children, *before[before.index(clause) + 1 :]]
    return parent, before


def _comments(text: str, where: str) -> list[Node]:
    """The comments of the shell, in order; here-documents are taken out before the grammar reads the rest."""
    try:
        seen = outline(text)
    except Unclosed as error:
        raise _error(error.what, where, text.count("\n", 0, error.offset) + 1) from None
    except RecursionError:
        raise UserError("substitutions are nested too deeply", where=where) from None
    root = parser().parse((mask(text, seen) + "\n").encode(errors="replace")).root_node
    if root.has_error:
        raise _error(
            "this cannot be parsed, so that marks cannot be found", where, first_error(root), "write it plainly"
        )
    found, pending = [], [root]
    while pending:
        node = pending.pop()
        if node.type == "comment":
            found.append(node)
        pending.extend(node.children)
    return sorted(found, key=lambda node: node.start_byte)


def _syntax_error(script: str) -> tuple[int | None, str] | None:
    """Line (from 1) and message of bash's first complaint; None if it has none."""
    bash = shutil.which("bash")
    if bash is None:
        raise UserError("bash is needed to check a script", hint="install bash")
    done = subprocess.run(
        [bash, "--norc", "-n", "-O", "extglob"],
        input=script.replace("\r\n", "\n").encode(errors="surrogateescape"),
        capture_output=True,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        timeout=30,
        check=False,
    )
    complaint = done.stderr.decode(errors="replace").strip().split("\n")[0]
    if done.returncode == 0 and "here-document" not in complaint:
        return None
    match = re.match(r".*?line (\d+): (.*)", complaint)
    return (int(match[1]), match[2]) if match else (None, complaint or f"bash -n exits with {done.returncode}")


def _error(problem: str, where: str, line: int | None, hint: str | None = None) -> UserError:
    return UserError(problem, where=where if line is None else f"{where}:{line}", hint=hint)
