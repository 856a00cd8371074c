"""Signs that a task needs a network: commands in its scripts, and what tools print when they find none. Pure."""

from __future__ import annotations

import re
from pathlib import Path

from termdepth.tasks.reading import TaskInfo

_LARGEST_FILE = 300_000  # bytes; what is longer is data, not a script

# Words that mean that a name was not resolved or a host not reached, in the words of common tools and languages.
_NO_NETWORK = re.compile(
    r"(?i:could not resolve|temporary failure in name resolution|temporary failure resolving|name or service not known"
    r"|network is unreachable|no address associated with hostname|getaddrinfo|failed to resolve|nameresolutionerror"
    r"|newconnectionerror|unknownhostexception|dial tcp: lookup|unable to resolve host address"
    r"|dns error|no such host|urlopen error|failed to lookup address)|\b(?:EAI_AGAIN|ENOTFOUND)\b"
)
_COMMANDS = re.compile(
    r"\b(?:apt(?:-get)?\s+(?:-\S+\s+)*(?:install|update)|apk\s+(?:-\S+\s+)*add|(?:dnf|yum)\s+(?:-\S+\s+)*install"
    r"|pip3?\s+(?:-\S+\s+)*install(?!\s+(?:\S+\s+)*--no-index)|uvx?\s+(?:-\S+\s+|pip\s+)*(?:install|add|sync|run|-p|--with)"
    r"|npm\s+(?:ci|install|i)\b|npx\s+\S|yarn\s+(?:add|install)|cargo\s+(?:install|fetch)|go\s+(?:get|install|mod\s+download)"
    r"|gem\s+install|(?:curl|wget|git\s+clone)\b[^\n]*\bhttps?://(?!localhost|127\.|0\.0\.0\.0|\[::1?\]|\$))"
)


def failed_access(log: str) -> str | None:
    """The first line of a log that says that a host could not be reached, or None."""
    return next((line.strip()[:200] for line in log.splitlines() if _NO_NETWORK.search(line)), None)


def network_command(task: TaskInfo) -> str | None:
    """The first command of the reference solution or the verifier that needs a network, with file and line, or None."""
    for path in dict.fromkeys(p for s in task.segments for p in (s.solution, s.tests) if p is not None):
        found = _in_script(path)
        if found:
            return f"{path.relative_to(task.path).as_posix()}:{found}"
    return None


def _in_script(path: Path) -> str | None:
    if path.stat().st_size > _LARGEST_FILE:
        return None
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        # A command that the script does without (`|| true`) is not why it fails.
        if not line.lstrip().startswith("#") and "||" not in line and _COMMANDS.search(line):
            return f"{number}: {line.strip()[:200]}"
    return None
