"""Blocking calls from asyncio, with cancellation that reaches the thread.

asyncio's own pool has cpu + 4 threads; a few long commands would then hold up every other trial.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

POOL = ThreadPoolExecutor(64, thread_name_prefix="termdepth-env")


class Cancelled(Exception):
    """Raised in a thread that gave up because its caller was cancelled; nobody sees it but the caller's shield."""


class Cancel:
    """A cancellation flag that a thread can also wait for: `fd` becomes readable."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._set = False
        self._wake: Callable[[], None] | None = None

    @property
    def is_set(self) -> bool:
        return self._set

    def on_set(self, wake: Callable[[], None]) -> None:
        """Call `wake` (once, from the thread that cancels) to end a call that does not watch `fd`."""
        self._wake = wake
        if self._set:
            wake()

    def set(self) -> None:
        if not self._set:
            self._set = True
            os.eventfd_write(self.fd, 1)
            if self._wake:
                self._wake()

    def check(self) -> None:
        """Raise `Cancelled` if the caller was cancelled."""
        if self._set:
            raise Cancelled

    def close(self) -> None:
        os.close(self.fd)


async def run_blocking[**P, T](work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run short blocking work in the pool."""
    return await asyncio.get_running_loop().run_in_executor(POOL, lambda: work(*args, **kwargs))


async def run_cancellable[T](work: Callable[[Cancel], T]) -> T:
    """Run `work` in the pool. On cancellation set its flag and wait for its end, so that it leaves nothing behind.

    `work` must return or raise soon after the flag is set.
    """
    cancel = Cancel()
    future = asyncio.get_running_loop().run_in_executor(POOL, work, cancel)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        cancel.set()
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError:
                continue
        if not future.cancelled():
            future.exception()  # seen: the cancellation is what counts
        raise
    finally:
        if future.done():
            cancel.close()
