"""The two-way byte stream of `exec` and `attach`, and the engine's framing of stdout and stderr in it."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Iterator
from typing import Any

from termdepth.environments.threads import Cancel

STDOUT, STDERR = 1, 2
_BLOCK = 1 << 16


class Stream:
    """A connection that the engine has turned over to a process."""

    def __init__(self, api: Any, response: Any) -> None:
        api._raise_for_status(response)
        # docker-py hands out the socket below the buffer that http.client read the headers with. What that buffer
        # already holds of the stream would be lost, so it is taken out here.
        buffered = response.raw._fp.fp
        self._response = response  # else it is closed when collected
        self._sock: socket.socket = buffered.raw._sock
        self._sock.setblocking(False)
        self._early = bytes(buffered.peek())
        self._pending = b""

    def read(self, timeout: float | None, cancel: Cancel | None = None) -> bytes | None:
        """What has come: b"" at the end, None if nothing came in `timeout` seconds or `cancel` was set."""
        if self._early:
            data, self._early = self._early, b""
            return data
        while True:
            with contextlib.suppress(BlockingIOError):
                try:
                    return self._sock.recv(_BLOCK)
                except ConnectionError:
                    return b""
            watched: list[Any] = [self._sock, cancel.fd] if cancel else [self._sock]
            poll = select.poll()
            for item in watched:
                poll.register(item, select.POLLIN)
            ready = [fd for fd, _ in poll.poll(None if timeout is None else timeout * 1000)]
            if not ready or (cancel and cancel.fd in ready):
                return None

    def frames(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Split into (STDOUT or STDERR, bytes); an incomplete frame's bytes are given out as they come."""
        self._pending += data
        while len(self._pending) >= 8:
            size = int.from_bytes(self._pending[4:8], "big")
            have = min(size, len(self._pending) - 8)
            if have < size and have < _BLOCK:
                if have == 0:
                    return
                yield self._pending[0], self._pending[8:]
                self._pending = self._pending[:4] + (size - have).to_bytes(4, "big")
                return
            yield self._pending[0], self._pending[8 : 8 + have]
            rest = self._pending[8 + have :]
            self._pending = rest if have == size else self._pending[:4] + (size - have).to_bytes(4, "big") + rest

    def write(self, data: bytes) -> None:
        """Send all of `data` to the process's stdin."""
        view = memoryview(data)
        while view:
            try:
                view = view[self._sock.send(view) :]
            except BlockingIOError:
                poll = select.poll()
                poll.register(self._sock, select.POLLOUT)
                poll.poll(10_000)

    @property
    def ended(self) -> bool:
        """Whether the other side has closed it (what it sent before may still be unread)."""
        try:
            return not self._early and self._sock.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(Exception):
            self._response.close()


def start_exec(api: Any, exec_id: str) -> Stream:
    """Start an exec that was created, and get its stream."""
    headers = {"Connection": "Upgrade", "Upgrade": "tcp"}
    body = {"Tty": False, "Detach": False}
    return Stream(api, api._post_json(api._url("/exec/{0}/start", exec_id), headers=headers, data=body, stream=True))


def attach_stdin(api: Any, container: str) -> Stream:
    """A stream whose end closes the container's stdin."""
    headers = {"Connection": "Upgrade", "Upgrade": "tcp"}
    url = api._url("/containers/{0}/attach", container)
    return Stream(api, api._post(url, params={"stdin": 1, "stream": 1}, headers=headers, stream=True))
