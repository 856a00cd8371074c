"""What a task folder contains, as one digest: names, contents and the executable bit; never times or owners."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


class UnsafeTree(Exception):
    """A folder holds something that must not be read: a link that leaves it, or a file that is not a regular one.

    Args:
        entry: path inside the folder, with forward slashes.
        why: the reason, as a clause that follows the path.
    """

    def __init__(self, entry: str, why: str) -> None:
        self.entry, self.why = entry, why
        super().__init__(f"{entry} {why}")


@dataclass(frozen=True)
class Entry:
    """One file or link of a folder.

    Attributes:
        name: path inside the folder, with forward slashes.
        path: where it is.
        link: target text if it is a symbolic link, else None.
        executable: the owner may execute it.
    """

    name: str
    path: Path
    link: str | None
    executable: bool


def entries(folder: Path) -> Iterator[Entry]:
    """Files and links under `folder`, depth first, names in order. Links to folders are not followed.

    Raises:
        UnsafeTree: at a link that leaves `folder`, or at a pipe, socket or device (reading one could hang).
        OSError: where a folder cannot be read.
    """
    root = Path(os.path.realpath(folder))
    stack = [""]
    while stack:
        below = stack.pop()
        with os.scandir(root / below) as listing:
            children = sorted(listing, key=lambda child: os.fsencode(child.name))
        folders = []
        for child in children:
            name = f"{below}{child.name}"
            if child.is_symlink():
                if not Path(os.path.realpath(child.path)).is_relative_to(root):
                    raise UnsafeTree(name, "is a symbolic link that leaves the folder")
                yield Entry(name, Path(child.path), os.fsdecode(Path(child.path).readlink()), False)
            elif child.is_dir():
                folders.append(f"{name}/")
            else:
                mode = child.stat(follow_symlinks=False).st_mode
                if not stat.S_ISREG(mode):
                    raise UnsafeTree(name, "is not a regular file")
                yield Entry(name, Path(child.path), None, bool(mode & stat.S_IXUSR))
        stack.extend(reversed(folders))


def content_digest(folder: Path) -> str:
    """SHA-256 (64 hexadecimal digits) of everything in `folder` that can change what the task is.

    Raises: as `entries`.
    """
    records = []
    for entry in entries(folder):
        if entry.link is not None:
            kind, content = b"l", hashlib.sha256(os.fsencode(entry.link)).digest()
        else:
            kind = b"x" if entry.executable else b"f"
            with entry.path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
        records.append((os.fsencode(entry.name), kind, content))
    whole = hashlib.sha256()
    # Sorted by whole path, and no path holds a NUL: two different folders cannot give the same bytes.
    for name, kind, content in sorted(records):
        whole.update(name + b"\0" + kind + content)
    return whole.hexdigest()
