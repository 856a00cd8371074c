"""The order of difficulty labels, easiest first."""

from __future__ import annotations

from collections.abc import Iterable

_WORDS = (
    "trivial", "very easy", "very_easy", "easy", "simple", "low", "medium", "moderate", "intermediate", "hard", "difficult",
    "high", "advanced", "very hard", "very_hard", "expert", "extreme",
)  # fmt: skip


def level_order(labels: Iterable[str | None]) -> list[str]:
    """Distinct labels from easiest to hardest: known words in their order, numbers by value, others by name after them.

    Limits count as their number (`<=3` before `>3, <=10` before `>10`), and the parts of `A / B` in turn.
    """

    def part_key(part: str) -> tuple[int, float, int, str]:
        word = part.strip().lower()
        if word in _WORDS:
            return 0, float(_WORDS.index(word)), 0, part
        try:
            return 1, float(word.lstrip("<=>").partition(",")[0]), int(word.startswith(">")), part
        except ValueError:
            return 2, 0.0, 0, part

    known = {label for label in labels if isinstance(label, str) and label}
    return sorted(known, key=lambda label: [part_key(part) for part in label.split(" / ")])
