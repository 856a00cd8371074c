"""Which checks a merged task keeps, from what they printed after the reference solution. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from termdepth.replay.verdict import failed_checks, passed_checks

_RESULT = re.compile(r"== segment (\d+) (passed|failed|gave no reward)")


@dataclass(frozen=True)
class Checks:
    """The checks of one segment. names: of a script of the check library, as they passed when the segment was done; empty
    for another verifier, which is one check as a whole. dropped: those that a later segment changes."""

    names: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    whole_dropped: bool = False

    @property
    def total(self) -> int:
        return len(self.names) or 1

    @property
    def kept(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in self.dropped)

    @property
    def left_out(self) -> bool:
        """Nothing of it is left to run."""
        return self.whole_dropped or (bool(self.names) and not self.kept)


@dataclass(frozen=True)
class Section:
    """What a segment's tests printed in a merged verification. passed: None where they gave no reward."""

    passed: bool | None
    log: str


def sections(log: str) -> dict[int, Section]:
    """The output of a merged task's tests, by segment (from 1)."""
    found: dict[int, Section] = {}
    lines: list[str] = []
    for line in log.splitlines():
        if match := _RESULT.fullmatch(line):
            passed = {"passed": True, "failed": False}.get(match[2])
            found[int(match[1])] = Section(passed, "\n".join(lines))
            lines = []
        elif not line.startswith("== segment "):
            lines.append(line)
    return found


def names_of(log: str, *, library: bool) -> tuple[str, ...]:
    """The checks of a segment that has just passed. library: its tests use the check library."""
    return tuple(passed_checks(log)) if library else ()


def drop(checks: Sequence[Checks], log: str) -> tuple[list[Checks], str | None]:
    """The checks with those dropped that fail on the final state, and why that cannot be done, or None.

    Args:
        checks: of all segments in order, none dropped.
        log: what the merged task's tests printed after the merged reference solution.
    """
    seen = sections(log)
    result: list[Checks] = []
    for s, own in enumerate(checks, start=1):
        section = seen.get(s)
        if section is None or section.passed is None:
            return list(checks), f"the checks of segment {s} did not run to a result after the merged solution"
        failed = failed_checks(section.log, own.names) if own.names else []
        if section.passed:
            result.append(own)
        elif s == len(checks):
            what = ": " + ", ".join(failed[:5]) if failed else ""
            return list(checks), f"checks of the last segment fail after the merged solution{what}"
        elif not own.names:
            result.append(Checks(whole_dropped=True))
        elif unknown := [name for name in failed if name not in own.names]:
            return list(checks), f"segment {s} fails after the merged solution with: {unknown[0]}"
        else:
            result.append(Checks(own.names, tuple(failed)))
    return result, None
