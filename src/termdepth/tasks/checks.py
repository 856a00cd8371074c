"""How many checks a verifier makes, as far as they can be counted: a measure of length to sample by (Table 4, FACET)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from termdepth.tasks.reading import TaskInfo

_LARGEST_FILE = 1_000_000  # bytes
_PYTEST_FILE = re.compile(r"(?:test_.*|.*_test|tests?)\.py")
_PYTEST_CHECK = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*[ \t]*\(", re.MULTILINE)
_LIBRARY_CHECK = re.compile(r"^[ \t]*expect_[a-z_]+[ \t]+\S", re.MULTILINE)


def count_checks(task: TaskInfo) -> int | None:
    """Test functions of pytest files, and calls of the check library (App. F) in scripts, over all segments.

    None where there are neither: the verifier's checks have a form that is not known.
    """
    folders = list(dict.fromkeys(s.tests.parent for s in task.segments if s.tests is not None))
    count = sum(_in_file(path) for folder in folders for path in script_files(folder))
    return count or None


def script_files(folder: Path) -> Iterator[Path]:
    """Shell and Python files of a verifier, in order of name; links lead nowhere."""
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".py", ".sh", ".bash") or path.is_symlink() or not path.is_file():
            continue
        if path.stat().st_size <= _LARGEST_FILE:
            yield path


def _in_file(path: Path) -> int:
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix != ".py":
        return len(_LIBRARY_CHECK.findall(text))
    return len(_PYTEST_CHECK.findall(text)) if _PYTEST_FILE.fullmatch(path.name) else 0
