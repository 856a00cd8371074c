"""Whether a build step that failed wanted to install packages. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

HINT = "the sandbox cannot install packages; backend: docker can"

# The gap between program and verb is bounded: output is untrusted, and the search must not become slow.
_GAP = r"\s(?:[^;&|\n]{0,200}?\s)?"
_COMMAND = re.compile(
    r"(?:^|[\s;&|(`'\"/])(?:"
    rf"(?:apt|apt-get|aptitude|apk|dnf|microdnf|yum|zypper|snap|brew){_GAP}"
    r"(?:install|reinstall|add|update|upgrade|dist-upgrade|full-upgrade|build-dep|download|refresh|makecache)"
    rf"|(?:pip[\d.]*|pipx|uv|poetry|conda|mamba|micromamba|gem|bundle|cargo|composer){_GAP}"
    r"(?:install|add|sync|update|upgrade|download|create|fetch|require)"
    rf"|(?:npm|pnpm|yarn){_GAP}(?:install|i|ci|add|update|upgrade)"
    r"|go\s+(?:get|install|mod\s+(?:download|tidy))"
    rf"|dpkg{_GAP}(?:-i|--install|--unpack|--configure|-R)"
    r"|pacman\s+-\w*[SU]\w*"
    r"|npx\s+\S+|uvx\s+\S+|cpanm?\s+\S+|add-apt-repository\s+\S+"
    r")(?![\w.-])"
)
_MANAGERS = (
    r"(?:apt|apt-get|aptitude|apk|dnf|microdnf|yum|zypper|pacman|pip[\d.]*|pipx|uv|uvx|conda|npm|npx|yarn|gem|cargo|go)"
)
_SAID = re.compile(
    r"dpkg frontend lock|^dpkg: error|Unable to locate package|externally-managed-environment|No module named pip$"
    rf"|No matching distribution found for|\b{_MANAGERS}: (?:command )?not found$"
)


def wanted_packages(argv: Sequence[str], output: Iterable[str]) -> bool:
    """Whether a command names a package manager at work, or one spoke in its output.

    Args:
        argv: the command.
        output: lines that it printed; of these also what `set -x` shows of a script.
    """
    if _COMMAND.search(" ".join(argv)):
        return True
    return any(_SAID.search(line) or (line.startswith("+") and _COMMAND.search(line)) for line in output)
