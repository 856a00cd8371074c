"""`make bench`: how fast, in one table. Ratios are of one run on one machine; what has no engine here is left out.

python tests/bench/bench.py [--quick]      --quick: without the pipeline
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from termdepth.config.load import load_config
from termdepth.environments import backend
from termdepth.environments.backend import BackendChoice, environment_config

ROOT = Path(__file__).resolve().parents[2]
TASK = ROOT / "resources/tasks/calibration/control-10-a"
Row = tuple[str, str, str]


def start_and_stop(name: str, folder: Path, times: int = 8) -> float:
    """Median seconds of start + stop of a container of the bundled image."""
    from harbor.environments.factory import EnvironmentFactory
    from harbor.models.task.config import EnvironmentConfig
    from harbor.models.trial.paths import TrialPaths

    async def once(i: int) -> float:
        paths = TrialPaths(folder / f"{name}-{i}")
        paths.mkdir()
        environment = EnvironmentFactory.create_environment_from_config(
            config=environment_config(BackendChoice(name, "bench"), cache_dir=folder / "cache"),  # type: ignore[arg-type]
            environment_dir=TASK / "environment",
            environment_name="bench",
            session_id=f"bench-{os.getpid()}-{i}",
            trial_paths=paths,
            task_env_config=EnvironmentConfig(),
        )
        started = time.perf_counter()
        await environment.start(force_build=False)
        await environment.stop(delete=True)
        return time.perf_counter() - started

    async def work() -> list[float]:
        return [await once(i) for i in range(times + 1)]

    return statistics.median(asyncio.run(work())[1:])


def overhead_per_turn(name: str, folder: Path, *, plain: bool = False) -> float:
    """Milliseconds of the agent's time per turn beyond the waits it asked for and the model's own time.

    plain: every command is an exec of its own, as Harbor's environments do it.
    """
    from termdepth.config.models import Harness, ModelEntry
    from termdepth.environments.docker import environment as docker_environment
    from termdepth.harness.record import RunSpec, TaskRef
    from termdepth.harness.runner import harness_identity, run_once
    from termdepth.tasks.reading import read_task

    info: Any = read_task(TASK, TASK)
    task = TaskRef("bench", info.task, TASK, 1, info.digest, f"{name}:bench-{plain}", 600.0)
    limits = Harness()
    model = ModelEntry(id="merge", litellm="scripted/merge", roles=["first"])
    config = environment_config(BackendChoice(name, "bench"), cache_dir=folder / "cache")  # type: ignore[arg-type]
    channel = docker_environment.DockerEnvironment._run_short
    if plain:
        docker_environment.DockerEnvironment._run_short = lambda *_, **__: None
    try:
        found = []
        for attempt in range(1, 4):
            spec = RunSpec(task, model, "uncapped", None, attempt, 150, limits, harness_identity(limits))
            record = asyncio.run(run_once(spec, config, folder / "runs"))
            assert record.row["passed"], record.row
            waited = sum(t["wait_seconds"] + t["model_seconds"] for t in record.turns)
            found.append((record.row["minutes"] * 60 - waited) / record.row["turns"] * 1000)
    finally:
        docker_environment.DockerEnvironment._run_short = channel
    return statistics.median(found)


def pipeline(folder: Path) -> list[Row]:
    """`make tables` after set-up, and a second, no-op `snakemake --cores 2`, in a copy of the checkout."""
    copy = folder / "checkout"
    copy.mkdir()
    for name in ("Snakefile", "workflow", "config", "profiles", "resources", "requirements.lock"):
        (copy / name).symlink_to(ROOT / name)
    command = [str(Path(sys.executable).with_name("snakemake")), "--cores", "2"]
    rows: list[Row] = []
    for what, target in (
        ("default tables, 2 cores", "under 480 s"),
        ("second, no-op snakemake --cores 2", "under 10 s"),
    ):
        peak, started = 0, time.perf_counter()
        process = subprocess.Popen(command, cwd=copy, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            time.sleep(0.5)
        if process.returncode:
            raise SystemExit(f"{what}: snakemake failed in {copy}")
        rows.append((what, f"{time.perf_counter() - started:.1f} s", target))
        if not rows[1:]:
            rows.append(("resident memory of all its processes", f"{peak / 2**30:.2f} GiB", "under 1.5 GB"))
    return rows


def resident(pid: int) -> int:
    """Proportional memory in bytes of a process and its descendants, containers included where they are its children."""
    total, todo = 0, [pid]
    while todo:
        current = todo.pop()
        try:
            rollup = Path(f"/proc/{current}/smaps_rollup").read_text()
            total += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) * 1024
            for thread in Path(f"/proc/{current}/task").iterdir():
                todo += [int(child) for child in (thread / "children").read_text().split()]
        except (OSError, StopIteration):
            continue
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    os.chdir(ROOT)
    load_config("config/config.yaml")
    rows: list[Row] = []
    folder = Path(tempfile.mkdtemp(prefix="termdepth-bench-"))
    try:
        times, turns = {}, {}
        for name, trouble in (("sandbox", backend.sandbox_trouble()), ("docker", backend.docker_trouble())):
            if trouble:
                rows.append((name, "left out", trouble))
                continue
            times[name] = start_and_stop(name, folder)
            rows.append((f"{name}: start + stop", f"{times[name] * 1000:.0f} ms", ""))
            turns[name] = overhead_per_turn(name, folder)
            rows.append((f"{name}: overhead per turn", f"{turns[name]:.1f} ms", "under 40 ms"))
        if len(times) == 2:
            rows.append(("sandbox / docker, start + stop", f"{times['sandbox'] / times['docker']:.2f}", "at most 0.25"))
            plain = overhead_per_turn("docker", folder, plain=True)
            rows.append(("docker: overhead per turn with plain execs", f"{plain:.1f} ms", ""))
            rows.append(("docker / plain execs, per turn", f"{turns['docker'] / plain:.2f}", "at most 0.33"))
        if not quick:
            rows += pipeline(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rows.append(
        (
            "this benchmark's own peak memory",
            f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB",
            "",
        )
    )
    load = os.getloadavg()[0]
    width = max(len(r[0]) for r in rows)
    print(f"{'what':<{width}}  {'measured':>10}  target   (load at the end {load:.1f})")
    for what, value, target in rows:
        print(f"{what:<{width}}  {value:>10}  {target}")


if __name__ == "__main__":
    main()
