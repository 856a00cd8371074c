"""Keys never reach a record, a log or a page."""

from __future__ import annotations

import os
import re

_KEY_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")
_KEY_SHAPES = re.compile(r"\b(?:sk|pk|rk|key|Bearer)[-_ ][A-Za-z0-9*_\-.]{6,}")


def redact(text: str, limit: int = 300) -> str:
    """`text` on one line, at most `limit` characters, with every key-like part replaced.

    Replaced are the values of environment variables whose name ends in KEY, TOKEN, SECRET or PASSWORD, and the shapes in
    which providers repeat a key in their error messages.
    """
    for name, value in os.environ.items():
        if _KEY_NAMES.search(name) and len(value) >= 6:
            text = text.replace(value, "***")
    return " ".join(_KEY_SHAPES.sub("***", text).split())[:limit]
