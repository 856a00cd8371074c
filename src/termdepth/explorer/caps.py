"""Which caps of a task passed, and why the others were not run (App. B, "Order of runs"). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Mark:
    """A run in a cell: its place in the list of runs, from 1, and how it ended: passed, failed or invalid."""

    run: int
    state: str
    text: str


@dataclass(frozen=True)
class Cell:
    """A cap of a row. Without a run, `known` says what is known without one: passes, needless or nothing; `why` says why."""

    cap: int | None
    marks: tuple[Mark, ...]
    known: str = ""
    why: str = ""


@dataclass(frozen=True)
class Strip:
    """The runs of one model for one purpose, by cap; the first cell is without a cap."""

    label: str
    model: str
    cells: tuple[Cell, ...]


ROLES = {"uncapped": "first model", "probe": "first model", "second": "second model"}


def role_of(phase: str) -> str:
    """What runs of a phase are for: the first and second model measure D; merged tasks and evaluations are apart."""
    return ROLES.get(phase, phase)


def state_of(run: Row) -> str:
    """passed, failed, or invalid: the run says nothing about the task."""
    return "invalid" if not run["valid"] else "passed" if run["passed"] else "failed"


def _known(cap: int, role: str, passed: Sequence[int], depth: Row) -> tuple[str, str]:
    """What is known of a cap without a run at it."""
    n, first = depth.get("n"), depth.get("d_first")
    if role == "first model":
        if n is not None and cap >= n:
            return "passes", f"passes without being run: a run without a cap needed {n} turns"
        if any(p < cap for p in passed):
            return "needless", "not run: a smaller cap passed"
        if depth.get("solved") is False:
            return "nothing", "not run: no run without a cap passed"
    if role == "second model":
        if first is not None and cap >= first:
            return "needless", f"not run: the first model passed at {first}"
        if any(p < cap for p in passed):
            return "needless", "not run: a smaller cap passed"
    return "nothing", "not run"


def strips(runs: Sequence[Row], caps: Sequence[int], depth: Row | None) -> list[Strip]:
    """The overview of one task.

    Args:
        runs: its rows of `runs`, in the order they are shown. caps: of the protocol. depth: its row of `depth`, if any.
    """
    groups: dict[tuple[str, str], list[tuple[int, Row]]] = {}
    for place, run in enumerate(runs, start=1):
        groups.setdefault((role_of(run["phase"]), run["model"]), []).append((place, run))
    columns = sorted({*caps, *(r["cap"] for r in runs if r["cap"] is not None)})
    out = []
    for (role, model), members in groups.items():
        passed = [r["cap"] for _, r in members if r["cap"] is not None and state_of(r) == "passed"]
        cells = []
        for cap in (None, *columns):
            marks = tuple(
                Mark(place, state_of(r), f"{_cap_words(cap)}, attempt {r['attempt']}: {_words(r)}")
                for place, r in members
                if r["cap"] == cap
            )
            if marks:
                cells.append(Cell(cap, marks))
            elif cap is None:
                cells.append(Cell(cap, (), "nothing", "not run without a cap"))
            else:
                cells.append(Cell(cap, (), *_known(cap, role, passed, depth or {})))
        out.append(Strip(role, model, tuple(cells)))
    return out


def _cap_words(cap: int | None) -> str:
    return "no cap" if cap is None else f"cap {cap}"


def _words(run: Row) -> str:
    state = state_of(run)
    return "passed" if state == "passed" else f"{state}, {str(run['outcome']).replace('_', ' ')}"
