"""The parts of the environments that need no container: output, archives, keys, owners, the choice of a backend."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from termdepth.environments import backend, content, owner, threads, transfer
from termdepth.environments.backend import BackendChoice, check_model_allowed
from termdepth.environments.output import BoundedOutput
from termdepth.errors import UserError


@given(st.lists(st.binary(max_size=40)), st.integers(2, 60).map(lambda n: 2 * n))
def test_bounded_output_keeps_both_ends(blocks: list[bytes], limit: int) -> None:
    blocks = [b.replace(b"\n", b"x").translate(bytes(i % 90 + 33 for i in range(256))) for b in blocks]
    out = BoundedOutput(limit)
    for block in blocks:
        out.add(block)
    whole = b"".join(blocks).decode()
    if len(whole) <= limit:
        assert out.text() == whole
    else:
        head, middle, tail = out.text().split("\n")
        assert head == whole[: limit // 2] and tail == whole[-limit // 2 :]
        assert middle == f"[... {len(whole) - limit} bytes cut ...]"


# ---- archives


def archive(*members: tuple[str, str, str | bytes]) -> io.BytesIO:
    """Members (kind, name, content or link target)."""
    kinds = {"f": tarfile.REGTYPE, "d": tarfile.DIRTYPE, "s": tarfile.SYMTYPE, "l": tarfile.LNKTYPE}
    kinds |= {"p": tarfile.FIFOTYPE, "c": tarfile.CHRTYPE}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for kind, name, what in members:
            info = tarfile.TarInfo(name)
            info.type, info.mode = kinds[kind], 0o4777
            if kind == "f":
                data = what.encode() if isinstance(what, str) else what
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
            else:
                info.linkname = str(what)
                tar.addfile(info)
    buffer.seek(0)
    return buffer


def test_unpack_takes_only_folders_and_content(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("untouched")
    target = tmp_path / "t"
    result = transfer.unpack(
        archive(
            ("f", "./a", "1"),
            ("s", "link", "../victim"),
            ("f", "link", "through the link"),  # is then a plain file of that name
            ("s", "dir", ".."),
            ("f", "dir/victim", "through the folder link"),
            ("l", "hard", "a"),
            ("l", "steal", "../victim"),
            ("l", "steal2", str(tmp_path / "victim")),
            ("f", "../victim", "up"),
            ("f", "x/../../victim", "up"),
            ("f", str(tmp_path / "victim"), "absolute"),
            ("p", "pipe", ""),
            ("c", "device", ""),
            ("d", "empty", ""),
            ("f", "n" * 300, "name too long"),
        ),
        target,
    )
    assert (tmp_path / "victim").read_text() == "untouched"
    found = {p.relative_to(target).as_posix(): p for p in target.rglob("*")}
    assert set(found) == {"a", "link", "dir", "dir/victim", "hard", "empty"}
    assert not any(p.is_symlink() for p in found.values())
    assert found["hard"].read_text() == "1" and found["hard"].stat().st_nlink == 1
    assert found["a"].stat().st_mode & 0o7777 == 0o755  # no setuid, not writable by others
    assert result.skipped == 10


def test_unpack_replaces_links_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("untouched")
    target = tmp_path / "t"
    target.mkdir()
    (target / "file").symlink_to("../victim")
    (target / "folder").symlink_to("..")
    transfer.unpack(archive(("f", "file", "new"), ("f", "folder/victim", "new")), target)
    assert (tmp_path / "victim").read_text() == "untouched"
    assert (target / "file").read_text() == (target / "folder/victim").read_text() == "new"


def test_unpack_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(transfer.TransferRefused):
        transfer.unpack(archive(("f", "a", b"x" * 600), ("f", "b", b"x" * 600)), tmp_path / "t", max_bytes=1000)
    with pytest.raises(transfer.TransferRefused):  # copies of a hard link count
        transfer.unpack(archive(("f", "a", b"x" * 600), ("l", "b", "a")), tmp_path / "u", max_bytes=1000)
    with pytest.raises(transfer.TransferRefused):
        transfer.read_single(archive(("f", "a", b"x" * 600)), tmp_path / "v", max_bytes=500)


def test_pack_and_unpack_are_inverse(tmp_path: Path) -> None:
    source = tmp_path / "s"
    (source / "a/b").mkdir(parents=True)
    (source / "a/f").write_bytes(os.urandom(1000))
    os.link(source / "a/f", source / "a/second")
    (source / "run").write_text("x")
    (source / "run").chmod(0o755)
    os.mkfifo(source / "pipe")
    with transfer.pack_dir(source, "/deep/er") as packed:
        transfer.unpack(packed, tmp_path / "t")
    got = tmp_path / "t/deep/er"
    assert (got / "a/f").read_bytes() == (got / "a/second").read_bytes() == (source / "a/f").read_bytes()
    assert (got / "a/b").is_dir() and os.access(got / "run", os.X_OK) and not (got / "pipe").exists()


# ---- keys


def test_content_key(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / "d").mkdir()
    keys = [content.content_key(tmp_path)]

    def changed() -> bool:
        keys.append(content.content_key(tmp_path))
        return keys[-1] not in keys[:-1]

    os.utime(tmp_path / "a", (0, 0))
    (tmp_path / "a").chmod(0o600)
    assert not changed()  # neither times nor who may read it
    (tmp_path / "a").chmod(0o755)
    assert changed()
    (tmp_path / "a").write_text("2")
    assert changed()
    (tmp_path / "a").rename(tmp_path / "b")
    assert changed()
    (tmp_path / "l").symlink_to("b")
    assert changed()
    (tmp_path / "d/e").mkdir()
    assert changed()
    assert content.content_key(tmp_path, "seed") != keys[-1]
    assert content.content_key(tmp_path, "ab", "c") != content.content_key(tmp_path, "a", "bc")
    (tmp_path / ".dockerignore").write_text("b\n!l\n")
    assert content.context_files(tmp_path) == [".dockerignore", "d/e", "l"]


def test_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        with content.only_one(tmp_path / "lock"):
            inside += 1
            most = max(most, inside)
            time.sleep(0.02)
            inside -= 1

    workers = [threading.Thread(target=work) for _ in range(5)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert most == 1


# ---- owners


def test_owner_of_a_process_that_ended_is_gone() -> None:
    code = "from termdepth.environments import owner; print(owner.current(), flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    token = child.stdout.readline().strip()
    assert not owner.is_gone(token) and not owner.is_gone(owner.current())
    child.kill()
    time.sleep(0.1)
    assert owner.is_gone(token)  # though it still waits to be reaped
    child.wait()
    assert owner.is_gone(token)
    assert not owner.is_gone("") and not owner.is_gone("a/b/c")


# ---- cancellation


def test_cancelled_work_is_waited_for() -> None:
    ended = threading.Event()

    def work(cancel: threads.Cancel) -> None:
        while not cancel.is_set:
            time.sleep(0.01)
        time.sleep(0.1)
        ended.set()
        cancel.check()

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(threads.run_cancellable(work), 0.05)
        assert ended.is_set()

    fds = len(list(Path("/proc/self/fd").iterdir()))
    asyncio.run(main())
    assert len(list(Path("/proc/self/fd").iterdir())) <= fds


# ---- the choice


@pytest.mark.parametrize(
    ("asked", "trusted", "sandbox", "docker", "expected"),
    [
        ("auto", True, None, None, "sandbox: the dataset is trusted"),
        ("auto", True, "no user namespaces", None, "docker: the embedded sandbox cannot start: no user namespaces"),
        ("auto", False, None, None, "docker: the dataset is not trusted"),
        ("docker", True, None, None, "docker: asked for"),
        ("sandbox", True, None, "none", "sandbox: asked for"),
        ("sandbox", False, None, None, "for trusted datasets only"),
        ("sandbox", True, "denied", None, "cannot start: denied .*user namespaces"),
        ("docker", True, None, "none", "no Docker engine answers"),
        ("auto", False, None, "none", "no Docker engine answers.*only trusted datasets can do without"),
        ("auto", True, "denied", "none", r"nothing can run containers here.*\(denied\).*start Docker, or enable"),
    ],
)
def test_choose(asked: backend.Backend, trusted: bool, sandbox: str | None, docker: str | None, expected: str) -> None:
    if expected.startswith(("docker:", "sandbox:")):
        choice = backend.choose(asked, trusted, lambda: sandbox, lambda: docker)
        assert f"{choice.name}: {choice.reason}" == expected
    else:
        with pytest.raises(UserError, match=expected) as error:
            backend.choose(asked, trusted, lambda: sandbox, lambda: docker)
        assert "\n" not in str(error.value)


def test_sandbox_refuses_remote_models() -> None:
    sandbox, docker = BackendChoice("sandbox", ""), BackendChoice("docker", "")
    with pytest.raises(UserError, match="allow_remote_models"):
        check_model_allowed(sandbox, "anthropic/some-model", False)
    check_model_allowed(sandbox, "anthropic/some-model", True)
    check_model_allowed(sandbox, "scripted/merge", False)
    check_model_allowed(docker, "anthropic/some-model", False)
    with pytest.raises(UserError):
        check_model_allowed(sandbox, "not-scripted/merge", False)
