"""Command output in bounded memory."""

from __future__ import annotations

from collections import deque

MAX_OUTPUT = 16 << 20
"""Bytes kept of each stream of one command; more is cut in the middle."""


class BoundedOutput:
    """Collects bytes; beyond `limit` it keeps the first and the last half and says how much is missing."""

    def __init__(self, limit: int = MAX_OUTPUT) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._cut = 0

    def add(self, data: bytes) -> None:
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if not data:
            return
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) >= self._half:
            gone = len(self._tail.popleft())
            self._tail_size -= gone
            self._cut += gone

    def text(self) -> str:
        """What was kept, as UTF-8; bytes that are not are replaced."""
        tail = b"".join(self._tail)
        extra = max(0, len(tail) - self._half)
        cut = self._cut + extra
        middle = f"\n[... {cut} bytes cut ...]\n".encode() if cut else b""
        return (bytes(self._head) + middle + tail[extra:]).decode(errors="replace")
