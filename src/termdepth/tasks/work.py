"""W, the work of a reference solution: its non-blank, non-comment lines, summed over segments (paper, section 2).

File content that a command writes counts line by line (App. D): so a line that starts with `#` is a comment only where
the shell reads it as one, not in a here-document and not in a quoted string. What counts, exactly:

* A line of spaces or nothing never counts, in file content too.
* The shebang and comment lines of the shell do not count; a command with a comment behind it does.
* Every line of a here-document's content counts, and so does its closing line.
* Every line of a command that goes over several lines (backslash, quotes, pipes) counts.
* Line ends may be LF or CRLF; a byte order mark is ignored. Bytes that are not UTF-8 count as one character each.

The plain rule (`w_naive_lines`) takes every line that starts with `#` as a comment. W equals it where the script cannot
be parsed, and `fallback` then says why. Tokens and characters are those of the whole script, comments included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from termdepth.tasks.heredocs import Unclosed, mask, outline
from termdepth.tasks.shell import first_error, parser
from termdepth.tasks.tokens import count_tokens

if TYPE_CHECKING:
    from tree_sitter import Node

    from termdepth.tasks.reading import TaskInfo

_SHELL = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?(?:\S*/)?(?:ba|da|k|z|a)?sh(?:\s|$)")
_SPACE = " \t\r\f\v"
_LARGEST = 2_000_000
"""Characters beyond which a script is not parsed."""


@dataclass(frozen=True)
class Work:
    """The work of one script or of a whole solution.

    Attributes:
        w_lines: W (lines).
        w_naive_lines: lines by the plain rule; never more than `w_lines`.
        w_tokens: o200k_base tokens.
        w_chars: characters, line ends as one each.
        fallback: why W is the plain rule's, None if it is not.
        segment_lines: W of each segment of a solution; None for one script, and where segments share one.
    """

    w_lines: int
    w_naive_lines: int
    w_tokens: int
    w_chars: int
    fallback: str | None = None
    segment_lines: tuple[int, ...] | None = field(default=None, compare=False)


def count_work(script: bytes | str) -> Work:
    """The work of one shell script. Never raises: what cannot be parsed falls back to the plain rule."""
    text = script.decode("utf-8", errors="replace") if isinstance(script, bytes) else script
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = text.split("\n")
    naive = sum(1 for line in lines if line.strip(_SPACE) and not line.lstrip(_SPACE).startswith("#"))
    hashes = [index for index, line in enumerate(lines) if line.lstrip(_SPACE).startswith("#")]
    try:
        content = len(hashes) - _comment_lines(text, lines, hashes)
        fallback = None
    except _NotParsed as reason:
        content, fallback = 0, str(reason)
    return Work(naive + content, naive, count_tokens(text), len(text), fallback)


def task_work(task: TaskInfo) -> Work | None:
    """The work of a task's reference solution, summed over its segments; None if a segment has no solution.

    A script that several segments share is counted once. Only the solve scripts are counted, as the paper recounts "the
    same scripts"; files that lie beside a script in solution/ are not.
    """
    scripts: dict[Path, str] = {}
    for segment in task.segments:
        if segment.solution is None:
            return None
        scripts.setdefault(segment.solution, segment.name)
    counted = [(name, count_work(path.read_bytes())) for path, name in scripts.items()]
    reasons = [
        f"{name}: {work.fallback}" if task.n_segments > 1 else work.fallback for name, work in counted if work.fallback
    ]
    total = _sum((work for _, work in counted), "; ".join(reasons) or None)
    if len(scripts) < task.n_segments:
        return total
    return replace(total, segment_lines=tuple(work.w_lines for _, work in counted))


def command_lines(text: str) -> int:
    """W from the commands sent in a run, for datasets without solutions (App. D: TMax): their non-blank lines."""
    return sum(1 for line in text.split("\n") if line.strip(_SPACE))


def _sum(works: Iterable[Work], fallback: str | None) -> Work:
    works = list(works)

    def total(of: Callable[[Work], int]) -> int:
        return sum(of(work) for work in works)

    return Work(
        total(lambda work: work.w_lines),
        total(lambda work: work.w_naive_lines),
        total(lambda work: work.w_tokens),
        total(lambda work: work.w_chars),
        fallback,
    )


class _NotParsed(Exception):
    """Why the plain rule has to do."""


def _comment_lines(text: str, lines: list[str], hashes: list[int]) -> int:
    """How many of the lines `hashes`, which all start with #, are comments of the shell."""
    if lines[0].startswith("#!") and not _SHELL.match(lines[0]):
        raise _NotParsed("line 1: not a shell script")
    if len(text) > _LARGEST:
        raise _NotParsed(f"longer than {_LARGEST} characters")
    try:
        seen = outline(text)
    except Unclosed as error:
        raise _NotParsed(f"line {text.count(chr(10), 0, error.offset) + 1}: {error.what}") from None
    except RecursionError:
        raise _NotParsed("substitutions are nested too deeply") from None
    # Bash drops a NUL, the parser takes it for the end of the script.
    masked = (mask(text, seen).replace("\0", "_") + "\n").encode("utf-8", errors="replace")
    root = parser().parse(masked).root_node
    if root.has_error:
        raise _NotParsed(f"line {first_error(root)}: syntax error")
    content = {i for document in seen.here_documents for i in range(document.first_line, document.delimiter_line + 1)}
    starts, commented = _line_starts(masked), _comments(root)
    comments = 0
    for index in hashes:
        if index not in content:
            at = starts[index] + len(lines[index]) - len(lines[index].lstrip(_SPACE))
            comments += at in commented and not _in_word(masked, at, commented)
    return comments


def _comments(root: Node) -> dict[int, int]:
    """Where each comment starts, and where it ends (bytes)."""
    found = {}
    cursor = root.walk()
    while True:
        node = cursor.node
        if node is not None and node.type == "comment":
            found[node.start_byte] = node.end_byte
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found


def _in_word(script: bytes, at: int, comments: dict[int, int]) -> bool:
    """The # at offset `at` goes on with a word that a backslash carried over from the line above (`a\\` and `#b`)."""
    joined = re.search(rb"[^\s;&|()<>]((?:\\\\)*\\)\n\Z", script[max(0, at - 200) : at])
    return joined is not None and at - 1 not in comments.values()


def _line_starts(text: bytes) -> list[int]:
    starts = [0]
    for line in text.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts
