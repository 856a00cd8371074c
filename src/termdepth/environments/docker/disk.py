"""Disk used by the images made here: what they take together, and removal of those used least recently."""

from __future__ import annotations

import contextlib
import functools
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from docker.errors import APIError, ImageNotFound

from termdepth.environments.docker import engine

REPOSITORY = "termdepth/image"
GRACE_SECONDS = 600.0
"""An image used this recently stays: a trial may be about to start a container of it."""


@dataclass(frozen=True)
class Stored:
    """An image of ours. layers: bytes of each layer by what identifies it, so that shared ones are counted once.
    used: when it was last asked for, in seconds since 1970."""

    tag: str
    layers: Mapping[int, int]
    used: float


def mark_used(folder: Path, key: str) -> None:
    """Note that an image was asked for now. folder: where build records are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{key}.used").touch()


def to_remove(images: list[Stored], budget_bytes: float, now: float, grace_seconds: float = GRACE_SECONDS) -> list[str]:
    """Tags to remove, least recently used first, until what is left fits into the budget. Pure."""
    holders = Counter(layer for image in images for layer in image.layers)
    total = sum({k: v for image in images for k, v in image.layers.items()}.values())
    chosen = []
    for image in sorted(images, key=lambda i: (i.used, i.tag)):
        if total <= budget_bytes or now - image.used < grace_seconds:
            break
        for layer, size in image.layers.items():
            holders[layer] -= 1
            total -= size if not holders[layer] else 0
        chosen.append(image.tag)
    return chosen


def trim(budget_bytes: float, folder: Path, grace_seconds: float = GRACE_SECONDS) -> list[str]:
    """Remove images until the rest fits into the budget. Those that a container uses stay. Returns the removed tags."""
    return [tag for tag in to_remove(stored(folder), budget_bytes, time.time(), grace_seconds) if _remove(tag)]


def remove_all() -> tuple[int, int]:
    """Remove all images of ours that no container uses. Returns how many, and the bytes freed."""
    before = _used_by_layers()
    removed = sum(_remove(tag) for row in _rows() for tag in row["RepoTags"] or () if _ours(tag))
    return removed, max(0, before - _used_by_layers())


def stored(folder: Path) -> list[Stored]:
    """The images of ours in the engine. One that this results folder never asked for was last used when it was made."""
    found = []
    for row in _rows():
        for tag in filter(_ours, row["RepoTags"] or ()):
            with contextlib.suppress(ImageNotFound):
                found.append(Stored(tag, _layers(row["Id"]), _used(folder, tag, row["Id"], float(row["Created"]))))
    return found


def _rows() -> list[Any]:
    return list(engine.api().images(name=REPOSITORY))


def _ours(tag: str) -> bool:
    return tag.startswith(f"{REPOSITORY}:")


def _used(folder: Path, tag: str, image: str, created: float) -> float:
    try:
        return (folder / f"{tag.rpartition(':')[2]}.used").stat().st_mtime
    except OSError:
        # A prebuilt image may be years old: when it got our tag says more.
        stamp = str(engine.api().inspect_image(image).get("Metadata", {}).get("LastTagTime", ""))
        with contextlib.suppress(ValueError):
            return max(created, datetime.fromisoformat(stamp).timestamp())
        return created


@functools.lru_cache(maxsize=4096)
def _layers(image: str) -> Mapping[int, int]:
    """Bytes of each step of an image's history, by all that went before it: images share a layer only with its past."""
    sizes: dict[int, int] = {}
    past = 0
    for step in reversed(engine.api().history(image)):
        past = hash((past, step["Created"], step["CreatedBy"], step["Size"]))
        if step["Size"]:
            sizes[past] = int(step["Size"])
    return sizes


def _used_by_layers() -> int:
    return int(engine.api().df().get("LayersSize") or 0)


def _remove(tag: str) -> bool:
    try:
        engine.api().remove_image(tag)
    except APIError:  # a container uses it, or another process removed it
        return False
    return True
