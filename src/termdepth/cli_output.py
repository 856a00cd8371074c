"""What `termdepth` prints for people: words in the place of keys, rounded numbers with their units. Pure.

Everything else that is printed may come from a task, a container or a model: characters that are not seen, or that command a
terminal, are made visible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from termdepth.explorer.text import clean


def duration(seconds: float) -> str:
    """`0.47 s`, `12.3 s`, `3.2 min`, `1.5 h`."""
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 119.95:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7197 else f"{seconds / 3600:.1f} h"


def dollars(usd: float) -> str:
    """`$0`, `$0.000012`, `$0.13`, `$12.50`: two digits that count, at least cents."""
    if usd <= 0:
        return "$0"
    return f"${usd:.{max(2, 1 - math.floor(math.log10(usd)))}f}"


def size(count: int) -> str:
    """`812 B`, `4.1 kB`, `1.3 GB`: powers of 1000."""
    value, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.95 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.0f} B" if units[0] == "B" else f"{value:.1f} {units[0]}"


def _whole(count: int) -> str:
    return f"{count:,}"


def _minutes(minutes: float) -> str:
    return duration(minutes * 60)


_FIELDS: dict[str, tuple[str, Callable[[Any], str] | None]] = {
    # validate
    "oracle_segments": ("segments the reference solution passed", None),
    "noop_reward": ("reward of doing nothing", lambda x: f"{x:g}"),
    "build_seconds": ("time of the build", duration),
    "seconds": ("time of the validation", duration),
    "verifier_log": ("log of the verifier", None),
    "verifier_said": ("what it said last", None),
    "solution_log": ("log of the solution", None),
    # run
    "segments_passed": ("segments passed", None),
    "n_segments": ("segments of the task", None),
    "minutes": ("time", _minutes),
    "input_tokens": ("input tokens", _whole),
    "output_tokens": ("output tokens", _whole),
    "context_tokens": ("tokens of the context", _whole),
    "cost_usd": ("cost", dollars),
    # depth
    "second_model": ("second model", None),
    "D": ("D, smallest cap passed (turns)", None),
    "depth_in": ("the depth lies in", None),
    "D_first_model": ("D by the first model alone", None),
    "N": ("N, fewest turns without a cap", None),
    "R": ("R, share of those runs that pass", lambda x: f"{x:.2f}"),
    "W": ("W, work (lines of the solution)", None),
    "known_depth": ("known depth (turns)", None),
    "runs": ("runs", None),
    "runs_path": ("runs are in", None),
    # clean
    "containers": ("containers removed", None),
    "unfinished_runs": ("unfinished runs removed", None),
    "images": ("images removed", None),
    "image_bytes": ("space freed", size),
}


def _texts(key: str, value: Any) -> list[str]:
    """A value as lines."""
    show = _FIELDS.get(key, ("", None))[1]
    if isinstance(value, list):
        return [line for item in value for line in _texts(key, item)]
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    return clean(str(value) if show is None else show(value)).splitlines() or [""]


def lines(values: Mapping[str, Any]) -> Iterator[str]:
    """`label  value` for each value there is, the values below each other."""
    shown = {_FIELDS.get(key, (key, None))[0]: _texts(key, value) for key, value in values.items() if value is not None}
    width = max(map(len, shown), default=0)
    for label, texts in shown.items():
        for i, text in enumerate(texts):
            yield f"{'' if i else label:<{width}}  {text}".rstrip()
