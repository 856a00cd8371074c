"""Replays per minute in both backends, and how they grow with the number of segments.

    python tests/bench/bench_replays.py [BACKEND...]

The tasks are made here: segments of one command and five checks. What a real task's commands and checks take comes on top.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))

from test_replay import Study, write_task

from termdepth.replay.changes import Part, Work, branches

SEGMENTS = (1, 2, 3, 4, 6, 8)
CHECKS = "".join(f'expect_eq "line {n}" "$(sed -n {n}p /app/part-$S)" "$S.{n}"\n' for n in range(1, 6))


def task(folder: Path, k: int) -> None:
    """A chain: each segment's file is made from the one before."""
    segments = []
    for s in range(1, k + 1):
        needs = f"[ -e part-{s - 1} ] || exit 1\n" if s > 1 else ""
        solution = f"{needs}# key-step: begin\nfor n in 1 2 3 4 5; do echo {s}.$n; done > part-{s}\n# key-step: end\n"
        segments.append({"solution": solution, "tests/check.sh": f"S={s}\n{CHECKS}"})
    write_task(folder, segments)


def main() -> None:
    print(
        f"{'backend':8} {'segments':>8} {'containers':>10} {'scripts':>8} {'replays':>8} {'seconds':>8} {'a minute':>8}"
    )
    for backend in sys.argv[1:] or ["sandbox", "docker"]:
        with tempfile.TemporaryDirectory() as tmp:
            for k in SEGMENTS:
                task(Path(tmp) / f"tasks/chain-{k}", k)
            study = Study(backend, Path(tmp) / "tasks", Path(tmp) / "results")
            for k in SEGMENTS:
                study.refs(f"chain-{k}")  # the image
                started = time.monotonic()
                rows = study.replay(f"chain-{k}")
                seconds = time.monotonic() - started
                assert all(row["holds"] for row in rows)
                found = branches([Part("")] * k)
                scripts = sum(isinstance(step, Work) for branch in found for step in branch.steps)
                print(
                    f"{backend:8} {k:8} {len(found):10} {scripts:8} {len(rows):8} {seconds:8.1f} "
                    f"{60 * len(rows) / seconds:8.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
