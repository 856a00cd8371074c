"""What a job depends on beside its input files, as one string: a change of it, and only that, makes the job run again.

Snakemake compares params as values and does not track code in `src/`, so each rule has one `spec`: the part of the config it
uses, a hash of the library code of its stage, and a hash of the lock file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from termdepth.errors import UserError
from termdepth.public.files import find_results

PACKAGE = Path(__file__).resolve().parent.parent
LOCK = Path("requirements.lock")

# Code that decides what a stage writes. Later stages are rerun through their input files, not through this list.
STAGE_CODE: dict[str, tuple[str, ...]] = {
    "tasks": ("tasks", "data", "public", "pipeline/listing.py", "pipeline/batches.py", "pipeline/download.py"),
    "images": ("environments", "tasks/light.py", "data", "pipeline/prepare.py", "pipeline/judge.py"),
    "validate": ("environments", "harness", "data", "pipeline/prepare.py", "pipeline/admission.py", "tasks/network.py"),
    "admit": ("data", "pipeline/batches.py", "pipeline/prepare.py", "pipeline/admission.py"),
    "measure": ("environments", "harness", "depth", "models", "data", "pipeline/measure.py"),
    "replay": (
        "environments",
        "harness/record.py",
        "replay",
        "tasks/marks.py",
        "tasks/heredocs.py",
        "data",
        "pipeline/replay.py",
    ),
    "merge": ("environments", "harness/record.py", "replay", "merge", "data", "pipeline/merge.py"),
    "estimate": ("depth", "data", "pipeline/collect.py"),
    "collect": ("data",),
    "provenance": ("data", "pipeline/provenance.py"),
    "explorer": ("explorer", "report", "data"),
    "public": ("public", "data"),
    "report": ("report", "stats", "data"),
}


def _files(parts: tuple[str, ...]) -> list[Path]:
    found: list[Path] = []
    for part in parts:
        path = PACKAGE / part
        found += sorted(p for p in path.rglob("*.py")) if path.is_dir() else [path]
    return found


@cache
def code_hash(stage: str) -> str:
    """Hash of the library code of a stage and of the locked dependencies."""
    digest = hashlib.sha256()
    for path in _files(STAGE_CODE[stage]):
        digest.update(f"{path.relative_to(PACKAGE)}\0".encode() + path.read_bytes() + b"\0")
    if LOCK.is_file():
        digest.update(LOCK.read_bytes())
    return digest.hexdigest()[:16]


def spec(stage: str, **depends: Any) -> str:
    """The stage's spec: sorted JSON of what it depends on, all of it JSON values."""
    return json.dumps({"stage": stage, "code": code_hash(stage), **depends}, sort_keys=True, default=str)


def knowledge_digest(model: Any) -> str:
    """Digest of what a scripted model knows beside the conversation, and of how it thinks; empty for real models."""
    if not model.scripted:
        return ""
    from termdepth.models.plan import plans_folder

    digest = hashlib.sha256()
    for folder, pattern in ((plans_folder(), "*.yaml"), (PACKAGE / "models", "*.py")):
        for path in sorted(folder.rglob(pattern)):
            digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def folder_signature(folder: Path) -> str:
    """Changes when a file below `folder` is added, removed or written. Reads no content: quick on 3,500 tasks."""
    return _signature(sorted(folder.rglob("*")))


def results_signature(published: Path) -> str | None:
    """Changes when a result in a folder of published trials is added, removed or written; None for a file, which is an
    input of the job. Reads no content, and looks at nothing else in the trials: quick on 10,000 of them."""
    if not published.is_dir():
        return None
    try:
        return _signature(find_results(published).paths)
    except UserError:
        return "cannot be read"  # the job says why


def _signature(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        try:
            stat = path.lstat()
        except OSError:
            continue
        digest.update(
            f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\0{stat.st_mode}\n".encode("utf-8", "surrogateescape")
        )
    return digest.hexdigest()[:16]
