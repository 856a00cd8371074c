"""The runs of a merged task and its D (App. H): from the original D downward, until both runs of a cap fail. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from termdepth.depth.protocol import Protocol, Run, RunRequest


@dataclass(frozen=True)
class MergedDepth:
    """solved: passed at some cap up to the original D; None where nothing valid was run. d: the smallest cap passed."""

    solved: bool | None
    d: int | None


def sample(depth: Iterable[Mapping[str, Any]], n: int | Literal["all"], seed: int) -> list[str]:
    """Tasks to merge: a seeded draw from those of several segments that the first model solved at a measured D.

    A task above the largest cap has no cap to start from and is not drawn. A larger sample only adds tasks.
    """
    tasks = sorted(
        row["task"] for row in depth if row["solved"] and row["n_segments"] > 1 and row["d_first"] is not None
    )
    random.Random(seed).shuffle(tasks)
    return tasks if n == "all" else tasks[:n]


def _slots(d_original: int, protocol: Protocol) -> list[int]:
    return sorted((cap for cap in protocol.caps if cap <= d_original), reverse=True)


def next_merged_run(runs: Sequence[Run], d_original: int, protocol: Protocol) -> RunRequest | None:
    """The run to make next, or None. The second run of a cap is skipped once the first passes: its answer changes nothing."""
    for cap in _slots(d_original, protocol):
        slot = [r for r in runs if r.phase == "merged" and r.cap == cap]
        if any(r.valid and r.passed for r in slot):
            continue
        invalid = sum(not r.valid for r in slot)
        if len(slot) - invalid < protocol.runs_per_cap and invalid <= protocol.invalid_retries:
            return RunRequest("merged", cap, 1 + max((r.attempt for r in slot), default=0))
        return None
    return None


def merged_depth(runs: Sequence[Run], d_original: int, protocol: Protocol) -> MergedDepth:
    """D of a merged task from its runs."""
    valid = [r for r in runs if r.phase == "merged" and r.valid and r.cap is not None and r.cap <= d_original]
    passed = [r.cap for r in valid if r.passed and r.cap is not None]
    if not valid:
        return MergedDepth(None, None)
    return MergedDepth(bool(passed), min(passed, default=None))
