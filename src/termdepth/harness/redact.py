"""Keys never reach a record, a log or a page."""

from __future__ import annotations

import os
import re
from pathlib import Path

_KEY_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")
_KEY_SHAPES = re.compile(
    r"\b(?:(?:sk|pk|rk|key|gsk|xai|hf|ghp)[-_][A-Za-z0-9*_\-.]{6,}|AIza[A-Za-z0-9*_\-]{6,}|Bearer\s+[A-Za-z0-9*_\-.=+/]{6,})"
)


def _keys(least: int) -> list[str]:
    """Values of the environment that are keys by their name, of at least so many characters, longest first."""
    return sorted((v for n, v in os.environ.items() if _KEY_NAMES.search(n) and len(v) >= least), key=len, reverse=True)


def redact(text: str, limit: int = 300) -> str:
    """`text` on one line, at most `limit` characters, with every key-like part replaced.

    Replaced are the values of environment variables whose name ends in KEY, TOKEN, SECRET or PASSWORD, and the shapes in
    which providers repeat a key in their error messages.
    """
    for value in _keys(6):
        text = text.replace(value, "***")
    return " ".join(_KEY_SHAPES.sub("***", text).split())[:limit]


def scrub(folder: Path) -> None:
    """Replace the keys of the environment in every file below `folder`: providers repeat them, and Harbor logs what they say.

    Only values of 16 characters and more, so that a short password that is also a word does not change what a run recorded.
    """
    keys = [key.encode() for key in _keys(16)]
    for path in folder.rglob("*") if keys else ():
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            if any(key in data for key in keys):
                for key in keys:
                    data = data.replace(key, b"***")
                path.write_bytes(data)
