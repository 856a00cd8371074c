"""Running commands in a container: one engine exec each, or through a channel that stays open for short ones.

An exec costs 50 ms, nearly all of it processor time of the engine. The channel is one exec of bash that runs what it
is sent, for a few milliseconds each. tmux's commands are what matters: an agent's turn consists of them.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docker.errors import APIError, NotFound

from termdepth.environments.docker.stream import STDERR, STDOUT, Stream, start_exec
from termdepth.environments.output import BoundedOutput
from termdepth.environments.threads import Cancel

_FIRST_POLL, _LONGEST_POLL = 0.05, 0.5  # seconds without output after which the engine is asked whether it runs
_DRAIN = 0.2  # seconds without output after the process's end: children keep the pipe, nothing more is its own
_START_GRACE = 10.0

# The command's process says which it is, then becomes the command. The engine makes it a session's leader.
_WHO = 'echo $$ >&2; exec "$@"'

# Kills the session that $1 leads and all descendants, with nothing but sh: field 3 on of /proc/*/stat, after the name
# (which may hold anything) are state, parent, group, session. Again until none is left, for those that fork meanwhile.
_KILL = r"""
leader=$1 round=0
while [ $round -lt 20 ]; do
  round=$((round + 1)) doomed=" $leader " found=
  for pass in 1 2 3 4 5; do
    for f in /proc/[0-9]*/stat; do
      s=; read -r s <"$f" || [ -n "$s" ] || continue
      pid=${s%% *}; set -- ${s##*) }
      case $1 in Z|X) continue ;; esac
      case $doomed in *" $pid "*) [ "$pid" = "$leader" ] && found=1; continue ;; esac
      case $doomed in *" $2 "*) doomed="$doomed$pid "; found=1; continue ;; esac
      [ "$4" = "$leader" ] && doomed="$doomed$pid " found=1
    done
  done 2>/dev/null
  [ -n "$found" ] || break
  for p in $doomed; do kill -9 "$p"; done 2>/dev/null
done
echo done
"""

# What the channel's bash evaluates. Each answer ends, on both streams, with NUL token [status] NUL. Sent over stdin
# first, so that `ps` shows none of it.
_BOOT = 'IFS= read -r -d "" s; eval "$s"'
_SERVE = (
    'while IFS= read -r -d "" c; do bash -c "$c" </dev/null; '
    r"printf '\0%s %s\0' {token} $?; printf '\0%s \0' {token} >&2; done"
)


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    stdout: str
    stderr: str
    return_code: int
    timed_out: bool = False


class ContainerGone(RuntimeError):
    """The container has ended, for whatever reason (the memory limit, a `kill -9 -1` inside)."""


def run(
    api: Any,
    container: str,
    argv: list[str],
    *,
    user: str = "",
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    cancel: Cancel | None = None,
) -> Result:
    """Run a command; return when its process ends, even if children keep its pipes.

    On timeout and cancellation its session and all its descendants are killed. A command that cannot be started
    (unknown user, no such folder) gives return code 126.

    Raises:
        ContainerGone
    """
    wrapped = ["/bin/sh", "-c", _WHO, "sh", *argv]
    try:
        exec_id = api.exec_create(container, wrapped, user=user, workdir=cwd, environment=dict(env or {}))["Id"]
        stream = start_exec(api, exec_id)
    except APIError as error:
        return _not_started(api, container, error)
    try:
        return _Run(api, container, exec_id, stream).wait(timeout, cancel)
    finally:
        stream.close()


def _not_started(api: Any, container: str, error: APIError) -> Result:
    if is_running(api, container):
        return Result("", f"cannot start the command: {error.explanation}\n", 126)
    raise ContainerGone("the container has ended") from error


def is_running(api: Any, container: str) -> bool:
    """Whether the container is there and runs."""
    try:
        return bool(api.inspect_container(container)["State"]["Running"])
    except NotFound:
        return False


class _Run:
    """One exec: its output, the process's number inside, and the loop until it has ended."""

    def __init__(self, api: Any, container: str, exec_id: str, stream: Stream) -> None:
        self._api, self._container, self._exec_id, self._stream = api, container, exec_id, stream
        self._out, self._err = BoundedOutput(), BoundedOutput()
        self._who = bytearray()  # until its line is complete
        self._leader: str | None = None

    def wait(self, timeout: float | None, cancel: Cancel | None) -> Result:
        end = None if timeout is None else time.monotonic() + timeout
        poll, killed = _FIRST_POLL, False
        while True:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                killed = True
                break
            data = self._stream.read(poll if left is None else min(poll, left), cancel)
            if data == b"":
                break
            if data:
                self._take(data)
                poll = _FIRST_POLL
            elif cancel and cancel.is_set:
                killed = True
                break
            elif self._exit_code() is not None:
                self._drain()
                break
            else:
                poll = min(poll * 2, _LONGEST_POLL)
        if killed:
            self._kill()
        code = 137 if killed else self._final_code()
        if not (self._leader or "").isdigit() and not killed:  # never ran; what comes is the engine's own message
            why = self._out.text().strip() or self._leader or f"the engine gave {code}"
            return Result("", f"cannot start the command: {why}\n", 126)
        return Result(self._out.text(), self._err.text(), code, killed)

    def _take(self, data: bytes) -> None:
        for stream, payload in self._stream.frames(data):
            if stream == STDOUT:
                self._out.add(payload)
            elif self._leader is not None:
                self._err.add(payload)
            else:
                self._who += payload
                line, newline, rest = bytes(self._who).partition(b"\n")
                if newline:
                    self._leader = line.decode(errors="replace")
                    self._err.add(rest)

    def _drain(self) -> None:
        while data := self._stream.read(_DRAIN):
            self._take(data)

    def _exit_code(self) -> int | None:
        try:
            state = self._api.exec_inspect(self._exec_id)
        except APIError as error:
            raise ContainerGone("the container has ended") from error
        code = state.get("ExitCode")
        return None if state.get("Running") or code is None else int(code)

    def _final_code(self) -> int:
        end = time.monotonic() + 5
        while (code := self._exit_code()) is None:
            if time.monotonic() > end:
                raise ContainerGone("the engine lost the command")
            time.sleep(0.01)
        if code == 137 and not is_running(self._api, self._container):
            raise ContainerGone("the container has ended")
        return code

    def _kill(self) -> None:
        end = time.monotonic() + _START_GRACE
        while self._leader is None and time.monotonic() < end:  # killed before it said who it is
            data = self._stream.read(0.1)
            if data == b"":
                return
            self._take(data or b"")
        if self._leader and self._leader.isdigit():
            kill_family(self._api, self._container, self._leader)


def kill_family(api: Any, container: str, leader: str) -> None:
    """Kill the processes of the session that `leader` (a number inside) leads, and all its descendants."""
    with contextlib.suppress(APIError):
        exec_id = api.exec_create(container, ["/bin/sh", "-c", _KILL, "sh", leader], user="0")["Id"]
        stream = start_exec(api, exec_id)
        # Its word is enough: its end can be reported seconds late, when a daemon holds the killed command's pipes.
        said = b""
        while b"done" not in said and (data := stream.read(_START_GRACE)):
            said += data
        stream.close()


class ChannelBroken(RuntimeError):
    """The channel ended; `sent` says whether the command may have been run."""

    def __init__(self, sent: bool) -> None:
        super().__init__("the command channel ended")
        self.sent = sent


class Channel:
    """A bash in the container that runs commands one after the other. Not for several threads at once."""

    def __init__(self, api: Any, container: str, *, user: str = "", env: Mapping[str, str] | None = None) -> None:
        self._api, self._container, self._token = api, container, uuid.uuid4().hex.encode()
        wrapped = ["/bin/sh", "-c", _WHO, "sh", "bash", "-c", _BOOT]
        exec_id = api.exec_create(container, wrapped, stdin=True, user=user, environment=dict(env or {}))["Id"]
        self._stream = start_exec(api, exec_id)
        self._leader = ""
        try:
            self._stream.write(_SERVE.format(token=self._token.decode()).encode() + b"\0")
            who = bytearray()
            while b"\n" not in who:
                data = self._stream.read(_START_GRACE)
                if not data:
                    raise ChannelBroken(sent=False)
                for stream, payload in self._stream.frames(data):
                    who += payload if stream == STDERR else b""
            self._leader = who.partition(b"\n")[0].decode(errors="replace")
        except BaseException:
            self._stream.close()
            raise

    @property
    def alive(self) -> bool:
        return not self._stream.ended

    def run(self, command: str, *, timeout: float, cancel: Cancel | None = None) -> Result:
        """Run a command with bash.

        Raises:
            ChannelBroken: it ended, or the command took longer than `timeout` seconds or was cancelled (and was
                killed).
        """
        if not self.alive:
            raise ChannelBroken(sent=False)
        try:
            self._stream.write(command.encode() + b"\0")
        except OSError as error:
            raise ChannelBroken(sent=False) from error
        end = time.monotonic() + timeout
        out, err = _Answer(self._token), _Answer(self._token)
        while not (out.complete and err.complete):
            data = self._stream.read(max(0.0, end - time.monotonic()), cancel)
            if data is None:
                kill_family(self._api, self._container, self._leader)
            if not data:
                raise ChannelBroken(sent=True)
            for stream, payload in self._stream.frames(data):
                (out if stream == STDOUT else err).add(payload)
        return Result(out.text(), err.text(), out.status)

    def close(self) -> None:
        self._stream.close()


class _Answer:
    """One stream's bytes until its end mark."""

    def __init__(self, token: bytes) -> None:
        self._mark, self._kept, self._tail = b"\0" + token + b" ", BoundedOutput(), b""
        self.complete, self.status = False, 0

    def add(self, data: bytes) -> None:
        """Give out all but what may be the beginning of the mark."""
        data = self._tail + data
        at = data.rfind(self._mark)
        if at >= 0 and data.endswith(b"\0") and len(data) > at + len(self._mark):
            self._kept.add(data[:at])
            status = data[at + len(self._mark) : -1]
            self.status, self.complete = int(status) if status.isdigit() else 0, True
            return
        keep = len(self._mark) + 8
        self._kept.add(data[:-keep])
        self._tail = data[-keep:]

    def text(self) -> str:
        return self._kept.text()
