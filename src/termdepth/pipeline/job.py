"""The frame of every workflow script: messages, errors for people, and an end when the pipeline is gone."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from termdepth.errors import UserError
from termdepth.pipeline.ending import note_error


class Log:
    """Lines go to the rule's log file, and those for the person who waits also to the terminal."""

    def __init__(self, path: Path | None) -> None:
        self._file = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", buffering=1)

    def detail(self, line: str) -> None:
        """To the log file only."""
        if self._file:
            self._file.write(f"{time.strftime('%H:%M:%S')} {line}\n")

    def say(self, line: str) -> None:
        """To the terminal and the log file."""
        print(line, file=sys.stderr, flush=True)
        self.detail(line)


@contextmanager
def job(snakemake: Any) -> Iterator[Log]:
    """Run a script's body. A `UserError` is printed as it is and ends the job; anything else keeps its traceback in the log."""
    log = Log(Path(snakemake.log[0]) if snakemake.log else None)
    end_with_pipeline()
    try:
        yield log
    except UserError as e:
        for line in str(e).splitlines():
            log.say(f"termdepth: {line}")
            note_error(snakemake.config.get("results", "results"), line)
        sys.exit(1)
    except KeyboardInterrupt:
        log.detail("stopped")
        sys.exit(130)
    except BaseException:
        log.detail(traceback.format_exc())
        raise


def end_with_pipeline() -> None:
    """End this process when the snakemake that started it is gone: after a SIGKILL it would go on and write behind its back.

    The first signal lets containers be removed; after five seconds nothing is waited for (the sandbox ends with its parent,
    and what Docker still runs is swept by the next job).
    """
    parent = _pipeline_process()
    if parent is None:
        return
    try:
        fd = os.pidfd_open(parent)
    except OSError:
        os._exit(1)

    def watch() -> None:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        poll.poll()
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _pipeline_process() -> int | None:
    """The nearest ancestor that is a snakemake."""
    pid = os.getppid()
    while pid > 1:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if any(Path(os.fsdecode(w)).name == "snakemake" for w in words[:3]) or b"snakemake" in words[:4]:
                return pid
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return None
    return None
