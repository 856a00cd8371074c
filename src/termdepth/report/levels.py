"""The order of difficulty labels, easiest first."""

from __future__ import annotations

from collections.abc import Iterable

_WORDS = (
    "trivial", "very easy", "very_easy", "easy", "simple", "low", "medium", "moderate", "intermediate", "hard", "difficult",
    "high", "advanced", "very hard", "very_hard", "expert", "extreme",
)  # fmt: skip


def level_order(labels: Iterable[str | None]) -> list[str]:
    """Distinct labels from easiest to hardest: known words in their order, numbers by value, others by name after them."""

    def key(label: str) -> tuple[int, float, str]:
        word = label.strip().lower()
        if word in _WORDS:
            return 0, float(_WORDS.index(word)), label
        try:
            return 1, float(word), label
        except ValueError:
            return 2, 0.0, label

    return sorted({label for label in labels if isinstance(label, str) and label}, key=key)
