"""What both backends know about an image."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ImageRecord:
    """A built image.

    Attributes:
        image_id: identifies its content: the engine's id, or `sandbox:` and the key of the build context.
        build_seconds: how long its build took when it was built (0 for images that were not built here).
        size_bytes: its size; for the sandbox that of what it adds to the host's `/usr`.
        cached: whether it was there already.
        note: how its programs differ from those of the base image that the task names; None where they do not.
    """

    image_id: str
    build_seconds: float
    size_bytes: int
    cached: bool
    note: str | None = None


def save_build_seconds(cache: Path, name: str, seconds: float) -> None:
    """Remember how long a build took."""
    write_json(cache / f"{name}.json", {"build_seconds": round(seconds, 3)})


def load_build_seconds(cache: Path, name: str) -> float:
    """How long a build took, 0 if that is not known."""
    try:
        return float(json.loads((cache / f"{name}.json").read_text())["build_seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0


def write_json(path: Path, value: object) -> None:
    """Write to a temporary name, then rename: a reader sees all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(fd, "w") as f:
            json.dump(value, f)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
