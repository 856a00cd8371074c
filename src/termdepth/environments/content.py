"""The content of a build context: which files, their key, and one builder at a time."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from termdepth.environments.threads import Cancel
from termdepth.errors import UserError


def default_cache_dir() -> Path:
    """`$TERMDEPTH_CACHE`, else `termdepth` below the user's cache folder."""
    if own := os.environ.get("TERMDEPTH_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "termdepth"


def context_files(context: Path) -> list[str]:
    """Files, links and empty folders of a build context, relative and sorted; `.dockerignore` is respected.

    Raises:
        UserError: a link that leaves the context.
    """
    ignore = context / ".dockerignore"
    names: list[str] = []
    for root, dirs, files in os.walk(context):
        for name in [*files, *dirs]:
            path = Path(root, name)
            if path.is_symlink() and not path.resolve().is_relative_to(context.resolve()):
                raise UserError(f"link leaves the build context: {path.relative_to(context)}", where=context)
            if path.is_symlink() or name in files or not any(path.iterdir()):
                names.append(path.relative_to(context).as_posix())
    if ignore.is_file():
        from docker.utils.build import exclude_paths  # 0.1 s to import, seldom needed

        patterns = [line.strip() for line in ignore.read_text().splitlines()]
        kept = exclude_paths(str(context), [p for p in patterns if p and not p.startswith("#")])
        names = [name for name in names if name in kept]
    return sorted(names)


def content_key(context: Path, *seeds: str) -> str:
    """24 hex digits that change with any file's name, content or executable bit, or with any seed."""
    digest = _digest_of(*seeds)
    for name in context_files(context):
        path = context / name
        kind = "l" if path.is_symlink() else "d" if path.is_dir() else "x" if os.access(path, os.X_OK) else "f"
        content = str(path.readlink()).encode() if kind == "l" else b"" if kind == "d" else path.read_bytes()
        digest.update(f"{kind}{len(name)}:{name}{len(content)}:".encode() + content)
    return digest.hexdigest()[:24]


def content_key_of(*seeds: str) -> str:
    """24 hex digits that change with any seed."""
    return _digest_of(*seeds).hexdigest()[:24]


def _digest_of(*seeds: str) -> hashlib._Hash:
    digest = hashlib.sha256()
    for seed in seeds:
        digest.update(f"{len(seed)}:{seed}".encode())
    return digest


@contextlib.contextmanager
def only_one(lock: Path, cancel: Cancel | None = None) -> Iterator[None]:
    """Hold a lock that other threads and processes wait for; it goes with its holder, however that ends."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if cancel:
                    cancel.check()
                time.sleep(0.1)
        yield


def windows_scripts(context: Path) -> list[str]:
    """Scripts of a build context whose first line ends as on Windows: Linux then finds no interpreter for them."""
    found = []
    for name in context_files(context):
        path = context / name
        if path.is_file():
            with path.open("rb") as f:
                head = f.read(256)
            if head.startswith(b"#!") and head.partition(b"\n")[0].endswith(b"\r"):
                found.append(name)
    return found


def crlf_hint(context: Path) -> str | None:
    """What to say when a build failed and a script has Windows line ends."""
    names = windows_scripts(context)
    return f"Windows line ends in {', '.join(names)}" if names else None


def read_text(path: Path) -> str:
    """A text file's content.

    Raises:
        UserError: it is missing or not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError("file is missing", where=path) from None
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8 (byte {error.start})", where=path) from None


type Log = Callable[[str], None]
"""Receives a line of progress."""
