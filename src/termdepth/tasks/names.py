"""Names that the instruction states for the checks (Table 9): "paths, ports, accounts and other names that the checks rely
on, each stated verbatim in the instruction" (App. G).

Counted mechanically, from any verifier: a name is a word of the instruction that looks like one and that the segment's
test files hold verbatim. What looks like a name: anything in backticks; a path; a file name with an extension; an
identifier with an underscore; a number of three to five digits (ports, modes).
"""

from __future__ import annotations

import re

from termdepth.tasks.checks import script_files
from termdepth.tasks.reading import Segment

_LIBRARY = "checks.sh"  # the check library, copied into tasks (docs/checks.md): its own words are no task's names
_FENCE = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n(.*?)^[ \t]*\1", re.MULTILINE | re.DOTALL)
_TICKED = re.compile(r"`([^`\n]+)`")
_BARE = re.compile(
    r"""(?<![\w./~-])(?:
        ~?/[\w.@+-]+(?:/[\w.@+-]+)*/?       # a path
      | [\w@+-]+(?:\.[\w@+-]+)*\.[A-Za-z]\w* # a file name
      | \w*_\w+                              # an identifier
      | \d{3,5}(?![.\d])                     # a port, a mode
    )""",
    re.VERBOSE,
)
_EDGES = " \t,;:!?()[]{}<>\"'*"


def stated_names(segment: Segment) -> set[str] | None:
    """The names of one segment; None where it has no test files of its own to look in."""
    if segment.tests is None:
        return None
    files = [path for path in script_files(segment.tests.parent) if path.name != _LIBRARY]
    checks = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files)
    return {name for name in names_in(segment.instruction()) if _holds(checks, name)}


def names_in(instruction: str) -> set[str]:
    """Words of an instruction that look like names, without the marks around them."""
    ticked = [*(block for _, block in _FENCE.findall(instruction)), *_TICKED.findall(_FENCE.sub("", instruction))]
    words = [word for text in ticked for word in text.split()] + _BARE.findall(instruction)
    found = {word.strip(_EDGES).rstrip(".").rstrip("/") for word in words}
    return {word for word in found if len(word) > 1 and not word.startswith("-")}


def _holds(checks: str, name: str) -> bool:
    """Whether a name is there whole: `/srv/app` is not in `/srv/application`, but it is in `/srv/app/log`."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", checks) is not None
