"""Which replays a task has: each change of Table 8 for each segment, grouped so that replays share a container. Pure.

A container holds one state, with the programs that run in it, and can be neither copied nor turned back; so replays are
shared along one line of work: the checks before the work of all segments need a single container, and what follows a
removed key step goes on where the replay of the key step ended. Everything else starts again from e_0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Change = Literal[
    "checks_before_work", "previous_skipped", "event_removed", "key_step_removed", "key_step_removed_then_next"
]


@dataclass(frozen=True)
class Part:
    """A segment's reference solution with a part removed. without_key_step: None where no key step is marked.
    without_event: by the name of the event."""

    without_key_step: str | None = None
    without_event: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Work:
    """Run the solution of a segment (from 1). script: text to run in the place of its script; None: as it is."""

    segment: int
    script: str | None = None


@dataclass(frozen=True)
class Look:
    """Run the checks of a segment `checked`. change, segment, event: which row of `replays` that gives."""

    checked: int
    change: Change
    segment: int
    event: str | None = None


@dataclass(frozen=True)
class Branch:
    """What happens in one fresh container, in order. name: short and unique within the task; part of file names."""

    name: str
    steps: tuple[Work | Look, ...]

    @property
    def looks(self) -> tuple[Look, ...]:
        return tuple(s for s in self.steps if isinstance(s, Look))


def branches(parts: Sequence[Part]) -> list[Branch]:
    """All replays of a task, from its segments in order.

    Changes that need a neighbour leave out the first or the last segment; a segment without a mark has no replay of it.
    """
    k = len(parts)
    found = [Branch("before", tuple(_before_work(k)))]
    for s, part in enumerate(parts, start=1):
        before: list[Work | Look] = [Work(i) for i in range(1, s)]
        if s > 1:
            found.append(Branch(f"{s}-previous-skipped", (*before[:-1], Work(s), Look(s, "previous_skipped", s))))
        for n, (event, script) in enumerate(part.without_event.items(), start=1):
            found.append(Branch(f"{s}-event-{n}", (*before, Work(s, script), Look(s, "event_removed", s, event))))
        if part.without_key_step is not None:
            steps = [*before, Work(s, part.without_key_step), Look(s, "key_step_removed", s)]
            if s < k:
                steps += [Work(s + 1), Look(s + 1, "key_step_removed_then_next", s)]
            found.append(Branch(f"{s}-key-step", tuple(steps)))
    return found


def _before_work(k: int) -> list[Work | Look]:
    steps: list[Work | Look] = []
    for s in range(1, k + 1):
        steps.append(Look(s, "checks_before_work", s))
        if s < k:
            steps.append(Work(s))
    return steps
