"""The embedded sandbox: a container made of Linux namespaces by the standard library alone.

One helper process per sandbox (`_init.py`) does the work and ends with its caller, whatever way the caller ends.
"""

from __future__ import annotations

import contextlib
import io
import marshal
import os
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from termdepth.environments import transfer
from termdepth.environments.output import MAX_OUTPUT, BoundedOutput
from termdepth.environments.threads import Cancel

INIT = Path(__file__).with_name("_init.py")
_KILL_GRACE = 5.0  # seconds that a killed command may take to end
_START_TIMEOUT = 20.0
_BLOCK = 1 << 16


class SandboxUnavailable(RuntimeError):
    """This host cannot start a sandbox; the message says at what it failed."""


class SandboxError(RuntimeError):
    """A sandbox ended, or a command of ours in it failed."""


@dataclass(frozen=True)
class Limits:
    """What one sandbox may use. Memory, processes and processor time need a writable cgroup (root); disk always holds.

    `disk_mb` is memory: the root file system is a tmpfs. `cpus` of None means no limit.
    """

    memory_mb: int = 2048
    disk_mb: int = 1024
    pids: int = 512
    cpus: float | None = None


@dataclass(frozen=True)
class Result:
    """How a command ended. `return_code` is 128 + n for signal n, 126 if it could not start."""

    stdout: str
    stderr: str
    return_code: int
    timed_out: bool = False


class Sandbox:
    """A running sandbox; use as a context manager, or `start()` and `stop()`.

    Methods block and may be called from several threads at once.
    """

    def __init__(
        self,
        *,
        root: Path | None = None,
        env: Mapping[str, str] | None = None,
        workdir: str = "/",
        limits: Limits | None = None,
        folders: Mapping[str, int] | None = None,
    ) -> None:
        """
        Args:
            root: a tar archive unpacked over the plain root file system at the start (an image).
            env: environment of every command.
            workdir: folder in which commands run unless told otherwise.
            limits: what the sandbox may use.
            folders: absolute paths of folders to make, and their modes.
        """
        self.workdir, self.env = workdir, dict(env or {})
        self._root, self._limits, self._folders = root, limits or Limits(), dict(folders or {})
        self._sock: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock, self._requests = threading.Lock(), 0

    # ---- life

    def start(self) -> Self:
        """Start it.

        Raises:
            SandboxUnavailable: this host does not allow it.
        """
        self._sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(INIT), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath)},
                start_new_session=True,  # Ctrl-C in the terminal is for us, not for it
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        limits = self._limits
        config = {
            "disk_mb": limits.disk_mb,
            "memory_mb": limits.memory_mb,
            "pids": limits.pids,
            "cpus": limits.cpus,
            "folders": self._folders,
        }
        try:
            self._sock.settimeout(_START_TIMEOUT)
            self._sock.send(marshal.dumps(config))
            reply = self._sock.recv(4096)
            if reply != b"ready":
                raise SandboxUnavailable(reply.decode(errors="replace") or "its helper ended during set-up")
            self._sock.settimeout(None)
            if self._root:
                with self._root.open("rb") as archive:
                    self.check(["/bin/tar", "-xpf", "-", "-C", "/", "--numeric-owner"], cwd="/", stdin=archive)
        except OSError as error:
            self.stop()
            raise SandboxUnavailable(str(error) or type(error).__name__) from error
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End every process in it and wait until that is done. May be called again."""
        with self._lock:
            sock, self._sock = self._sock, None
        if sock is None or self._process is None:
            return
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)  # ends it even if another process inherited a copy of the socket
        sock.close()
        self._process.wait()

    @property
    def running(self) -> bool:
        """Whether it was started and its helper is alive."""
        return self._sock is not None and self._process is not None and self._process.poll() is None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # ---- commands

    def exec(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | int | None = None,
        timeout: float | None = None,
        stdin: bytes | IO[bytes] | None = None,
        sink: Callable[[bytes], None] | None = None,
        cancel: Cancel | None = None,
        max_output: int = MAX_OUTPUT,
    ) -> Result:
        """Run a command (a string is for bash) and return when its process ends, even if children keep its pipes.

        On timeout and cancellation the command's whole session and all its descendants are killed.

        Args:
            sink: receives stdout instead of the result.
            max_output: bytes kept per stream, the middle is cut.

        Raises:
            SandboxError: the sandbox is not running, or ended meanwhile.
        """
        argv = ["/bin/bash", "-c", command] if isinstance(command, str) else list(command)
        request: dict[str, object] = {
            "argv": argv,
            "cwd": str(cwd or self.workdir),
            "fallback": cwd is None,
            "user": None if user is None else str(user),
            "env": {str(name): str(value) for name, value in {**self.env, **(env or {})}.items()},
        }
        run = _Run(self, request, io.BytesIO(stdin) if isinstance(stdin, bytes) else stdin, sink, max_output)
        try:
            return run.wait(timeout, cancel)
        finally:
            run.close()

    def check(self, command: str | Sequence[str], **options: object) -> Result:
        """`exec`, and raise `SandboxError` unless it succeeds."""
        result = self.exec(command, **options)  # type: ignore[arg-type]
        if result.return_code:
            detail = (result.stderr or result.stdout)[-2000:].strip()
            raise SandboxError(f"{command!r:.200} failed with {result.return_code}: {detail}")
        return result

    def _send(self, message: dict[str, object], fds: Sequence[int] = ()) -> int:
        """Send a request; returns its id."""
        with self._lock:
            if self._sock is None:
                raise SandboxError("the sandbox is not running")
            self._requests += 1
            data = marshal.dumps({"id": self._requests, **message})
            try:
                socket.send_fds(self._sock, [data], list(fds))
            except OSError as error:
                if error.errno == 90:  # EMSGSIZE
                    raise CommandTooLong from None
                raise SandboxError(f"the sandbox ended: {error}") from error
            return self._requests

    # ---- files: as tar streams through processes inside, so that the host resolves no path in an untrusted folder

    def put(self, archive: IO[bytes]) -> None:
        """Unpack a tar archive at `/`; it is closed."""
        with archive:
            self.check(["/bin/tar", "-xpf", "-", "-C", "/", "--numeric-owner"], cwd="/", stdin=archive)

    def get(self, source: str) -> IO[bytes]:
        """A tar archive of the content of a folder.

        Raises:
            FileNotFoundError: there is no such folder.
        """
        archive = transfer.new_archive()
        argv = ["/bin/tar", "-C", source, "--ignore-failed-read", "--hard-dereference", "-cf", "-", "."]
        result = self.exec(argv, cwd="/", sink=_limited(archive))
        if result.return_code not in (0, 1):  # 1: a file changed while it was read
            raise FileNotFoundError(f"{source}: {result.stderr.strip()[-500:]}")
        archive.seek(0)
        return archive

    def get_file(self, source: str) -> IO[bytes]:
        """A tar archive of one file; links are followed, inside.

        Raises:
            FileNotFoundError: there is no such regular file.
        """
        archive = transfer.new_archive()
        script = '[ -f "$1" ] || { echo "no such file: $1" >&2; exit 2; }; exec /bin/tar -chf - -C / -- "${1#/}"'
        result = self.exec(["/bin/bash", "-c", script, "-", source], cwd="/", sink=_limited(archive))
        if result.return_code not in (0, 1):
            raise FileNotFoundError(result.stderr.strip()[-500:])
        archive.seek(0)
        return archive

    def snapshot(self, out: IO[bytes]) -> None:
        """Write the root file system as it differs from a plain one's `/usr` to `out`, as tar: an image."""
        mounts = [line.split()[1] for line in self.check("cat /proc/mounts", cwd="/").stdout.splitlines()]
        skip = [f"--exclude=.{m}" for m in mounts if m != "/"]
        skip += ["--exclude=./dev", "--exclude=./proc", "--exclude=./etc/ld.so.cache"]
        argv = ["/bin/tar", "-C", "/", *skip, "--one-file-system", "--numeric-owner", "-cpf", "-", "."]
        self.check(argv, cwd="/", sink=out.write)


class CommandTooLong(ValueError):
    """The request does not fit into a message to the helper (about 200 kB)."""


def _limited(archive: IO[bytes]) -> Callable[[bytes], None]:
    """A sink that refuses more than a download may be (see `transfer`), tar's own padding aside."""

    def write(data: bytes) -> None:
        if archive.tell() > transfer.MAX_DOWNLOAD + (64 << 20):
            raise transfer.TransferRefused(f"more than {transfer.MAX_DOWNLOAD} bytes")
        archive.write(data)

    return write


class _Run:
    """One command: its pipes, and the loop that serves them until its process has ended."""

    def __init__(
        self,
        sandbox: Sandbox,
        request: dict[str, object],
        stdin: IO[bytes] | None,
        sink: Callable[[bytes], None] | None,
        max_output: int,
    ) -> None:
        self._sandbox, self._stdin, self._sink = sandbox, stdin, sink
        pipes = [os.pipe() for _ in range(4)]
        (in_r, self._in), (self._out, out_w), (self._err, err_w), (self._status, status_w) = pipes
        theirs = [in_r, out_w, err_w, status_w]
        self._open = {self._in, self._out, self._err, self._status}
        self._kept = {self._out: BoundedOutput(max_output), self._err: BoundedOutput(max_output)}
        self._selector = selectors.DefaultSelector()
        self._failed_to_send = ""
        self._id = 0
        try:
            self._id = sandbox._send(request, theirs)
        except CommandTooLong:
            self._failed_to_send = "sandbox: cannot start the command: argument list too long\n"
        except BaseException:
            self.close()
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        for fd in self._open:
            os.set_blocking(fd, False)
        for fd in (self._out, self._err, self._status):
            self._selector.register(fd, selectors.EVENT_READ)
        if stdin is None:
            self._close_one(self._in)
        else:
            self._selector.register(self._in, selectors.EVENT_WRITE)

    def wait(self, timeout: float | None, cancel: Cancel | None) -> Result:
        if self._failed_to_send:
            return Result("", self._failed_to_send, 126)
        if cancel:
            self._selector.register(cancel.fd, selectors.EVENT_READ)
        end = None if timeout is None else time.monotonic() + timeout
        killed, status, pending = False, b"", memoryview(b"")
        while True:
            left = None if end is None else max(0.0, end - time.monotonic())
            if left == 0:
                if killed:
                    break  # even SIGKILL did not help: it waits in the kernel
                killed, end = True, time.monotonic() + _KILL_GRACE
                self._sandbox._send({"kill": self._id})
                continue
            ready = {key.fd for key, _ in self._selector.select(left)}
            if cancel and cancel.fd in ready:
                self._selector.unregister(cancel.fd)
                end = time.monotonic() if not killed else end
            if self._in in ready:
                pending = self._feed(pending)
            for fd in (self._out, self._err):
                if fd in ready:
                    self._drain(fd)
            if self._status in ready:
                status = os.read(self._status, 16)
                break
        for fd in (self._out, self._err):  # all that the process itself wrote is in the pipes by now
            while self._drain(fd):
                pass
        if not status and not killed:
            raise SandboxError("the sandbox ended")
        out, err = self._kept[self._out].text(), self._kept[self._err].text()
        return Result(out, err, int(status or 137), killed)

    def _feed(self, pending: memoryview) -> memoryview:
        assert self._stdin is not None
        try:
            pending = pending or memoryview(self._stdin.read(_BLOCK))
            if pending:
                return pending[os.write(self._in, pending) :]
        except BlockingIOError:
            return pending
        except BrokenPipeError:
            pass
        self._close_one(self._in)
        return memoryview(b"")

    def _drain(self, fd: int) -> bool:
        """Read once. False at the end, or when nothing is there."""
        if fd not in self._open:
            return False
        try:
            data = os.read(fd, _BLOCK)
        except BlockingIOError:
            return False
        if not data:
            self._close_one(fd)
            return False
        if self._sink and fd == self._out:
            self._sink(data)
        else:
            self._kept[fd].add(data)
        return True

    def _close_one(self, fd: int) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(fd)
        self._open.discard(fd)
        os.close(fd)

    def close(self) -> None:
        self._selector.close()
        for fd in self._open:
            os.close(fd)
        self._open.clear()
