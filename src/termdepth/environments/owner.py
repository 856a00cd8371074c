"""Who started a container, so that a later process can tell whether the starter is still alive."""

from __future__ import annotations

import functools
import hashlib
import os
import socket
from pathlib import Path


@functools.cache
def _place() -> tuple[str, str, str]:
    """This machine, this boot, and this process-id namespace (process ids mean something only within it)."""
    try:
        machine = Path("/etc/machine-id").read_text().strip() or socket.gethostname()
    except OSError:
        machine = socket.gethostname()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return (
        hashlib.sha256(machine.encode()).hexdigest()[:12],
        boot,
        str(Path("/proc/self/ns/pid").readlink()).strip("pid:[]"),
    )


def _start_time(pid: int) -> str | None:
    """When a process started, in clock ticks since boot; None if it is gone or only waits to be reaped."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return None if state in "ZX" else fields[18]


def current() -> str:
    """The token of this process: machine/boot/namespace/pid/start time."""
    return "/".join((*_place(), str(os.getpid()), _start_time(os.getpid()) or "?"))


def is_gone(token: str) -> bool:
    """Whether the process of `token` has certainly ended.

    False for processes of other machines and of other process-id namespaces: nothing can be known about them here.
    """
    try:
        machine, boot, namespace, pid, start = token.split("/")
    except ValueError:
        return False
    here = _place()
    if machine != here[0]:
        return False
    if boot != here[1]:
        return True
    return namespace == here[2] and _start_time(int(pid)) != start
