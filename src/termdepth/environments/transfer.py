"""Files between host and container, as tar streams.

What comes out of a container is written by an untrusted agent, so only folders and the content of regular files reach
the host: no links, no devices, no pipes, no names that leave the target, and no more than `max_bytes`. Python's own
`tarfile.data_filter` is not enough: its link checks had holes until 3.12.11, and it raises on the first bad member, by
which an agent could make its own failed run unreadable.
"""

from __future__ import annotations

import io
import os
import stat
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

MAX_DOWNLOAD = 1 << 30
"""Bytes accepted in one download."""

MAX_MEMBERS = 200_000
"""Files accepted in one download."""

_SPOOL = 8 << 20  # larger archives go to a temporary file


class TransferRefused(RuntimeError):
    """A download that would fill the host's disk."""


def new_archive() -> IO[bytes]:
    """A temporary file that stays in memory while it is small."""
    return tempfile.SpooledTemporaryFile(_SPOOL)


def pack_file(source: Path, target: str, *, mode: int | None = None, uid: int = 0, gid: int = 0) -> IO[bytes]:
    """A tar archive with one file, to be unpacked at `/`. Its missing folders are made by who unpacks."""
    archive = new_archive()
    with tarfile.open(fileobj=archive, mode="w") as tar, source.open("rb") as content:
        info = tar.gettarinfo(arcname=_relative(target), fileobj=content)
        tar.addfile(_owned(info, mode, uid, gid), content)
    archive.seek(0)
    return archive


def pack_dir(
    source: Path,
    target: str,
    *,
    skip: Callable[[str], bool] = lambda _: False,
    mode: int | None = None,
    uid: int = 0,
    gid: int = 0,
) -> IO[bytes]:
    """A tar archive with the content of `source`, to be unpacked at `/` as the content of `target`.

    `target` itself is only named when it would otherwise not come into being, so that the mode of a folder that exists
    stays. Links are packed as links. `skip` gets paths relative to `source`.
    """
    if not source.is_dir():
        raise NotADirectoryError(f"not a folder: {source}")
    archive = new_archive()
    base = _relative(target)
    with tarfile.open(fileobj=archive, mode="w") as tar:
        empty = True
        for path in _walk(source):
            name = path.relative_to(source).as_posix()
            if skip(name) or not (path.is_symlink() or path.is_file() or path.is_dir()):
                continue
            empty = False
            info = tar.gettarinfo(path, arcname=f"{base}/{name}" if base else name)
            if info.islnk():  # a second hard link: pack the content, the first may have been skipped
                info.type, info.linkname, info.size = tarfile.REGTYPE, "", path.stat().st_size
            _owned(info, None if info.issym() else mode, uid, gid)
            if info.isreg():
                with path.open("rb") as content:
                    tar.addfile(info, content)
            else:
                tar.addfile(info)
        if empty and base:
            tar.addfile(_folder(base, 0o755))
    archive.seek(0)
    return archive


def pack_folders(targets: list[str], mode: int) -> bytes:
    """A tar archive, to be unpacked at `/`, that makes the folders `targets`."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for target in targets:
            tar.addfile(_folder(_relative(target), mode))
    return archive.getvalue()


@dataclass
class Unpacked:
    """What a download wrote, and how many members it left out."""

    written: list[Path] = field(default_factory=list)
    skipped: int = 0


def unpack(
    archive: IO[bytes],
    target: Path,
    *,
    may_write: Callable[[Path], bool] = lambda _: True,
    max_bytes: int = MAX_DOWNLOAD,
) -> Unpacked:
    """Unpack an archive made in a container into the host folder `target`, safely (see the module).

    Hard links become copies. Existing files are replaced, unless `may_write` says no.

    Raises:
        TransferRefused: more than `max_bytes` or `MAX_MEMBERS`; what was unpacked before stays.
    """
    target.mkdir(parents=True, exist_ok=True)
    result, total = Unpacked(), 0
    with tarfile.open(fileobj=archive, mode="r|") as tar:
        for count, member in enumerate(tar):
            if count >= MAX_MEMBERS:
                raise TransferRefused(f"more than {MAX_MEMBERS} files")
            parts = [p for p in member.name.split("/") if p not in ("", ".")]
            if ".." in parts or member.name.startswith("/") or not (member.isreg() or member.isdir() or member.islnk()):
                result.skipped += 1
                continue
            path = target.joinpath(*parts)
            try:
                if member.isdir():
                    _make_folder(path, target)
                    continue
                if not parts or not may_write(path):
                    result.skipped += 1
                    continue
                if member.islnk():
                    source = target.joinpath(*PurePosixPath(member.linkname).parts)
                    if source not in result.written:
                        result.skipped += 1
                        continue
                    total += source.stat().st_size
                    _check_size(total, max_bytes)
                    content: IO[bytes] | None = source.open("rb")
                else:
                    total += member.size
                    _check_size(total, max_bytes)
                    content = tar.extractfile(member)
                assert content is not None
                with content:
                    _write_file(path, target, content, member)
                result.written.append(path)
            except OSError as error:
                if error.errno in _NO_ROOM:
                    raise
                result.skipped += 1  # a name too long for this host, a file where a folder is needed
    return result


def read_single(archive: IO[bytes], target: Path, *, max_bytes: int = MAX_DOWNLOAD) -> None:
    """Write the one regular file in `archive` to `target`.

    Raises:
        FileNotFoundError: the archive's first member is no regular file.
    """
    with tarfile.open(fileobj=archive, mode="r|") as tar:
        member = tar.next()
        if member is None or not member.isreg():
            raise FileNotFoundError("not a regular file")
        _check_size(member.size, max_bytes)
        content = tar.extractfile(member)
        assert content is not None
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_file(target, target.parent, content, member)


_NO_ROOM = {28, 122, 30, 5}  # ENOSPC, EDQUOT, EROFS, EIO: the host's trouble, not the archive's


def _check_size(total: int, max_bytes: int) -> None:
    if total > max_bytes:
        raise TransferRefused(f"more than {max_bytes} bytes")


def _make_folder(path: Path, top: Path) -> None:
    """Make a folder below `top`, putting it in the place of anything that is none."""
    missing = []
    while path != top and not (path.is_dir() and not path.is_symlink()):
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        if folder.is_symlink() or folder.exists():
            folder.unlink()
        folder.mkdir()


def _write_file(path: Path, top: Path, content: IO[bytes], member: tarfile.TarInfo) -> None:
    _make_folder(path.parent, top)
    if path.is_symlink() or path.exists():
        path.unlink()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        while block := content.read(1 << 20):
            out.write(block)
        os.fchmod(out.fileno(), (member.mode & 0o755) | 0o600)
        os.utime(out.fileno(), (max(0, member.mtime),) * 2)


def _walk(folder: Path) -> list[Path]:
    """Everything below `folder`, sorted, without following links."""
    found: list[Path] = []
    for root, dirs, files in os.walk(folder):
        found += [Path(root, name) for name in (*dirs, *files)]
    return sorted(found)


def _relative(target: str) -> str:
    parts = [p for p in target.split("/") if p not in ("", ".")]
    if ".." in parts:
        raise ValueError(f"not a plain path: {target}")
    return "/".join(parts)


def _owned(info: tarfile.TarInfo, mode: int | None, uid: int, gid: int) -> tarfile.TarInfo:
    info.uid, info.gid, info.uname, info.gname = uid, gid, "", ""
    info.mode = stat.S_IMODE(info.mode) if mode is None else mode
    return info


def _folder(name: str, mode: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, mode
    return info
