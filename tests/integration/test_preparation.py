"""Images, light dependencies by the measured build, and oracle and no-op, on small tasks in a real engine."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import BASE_IMAGE
from task_builders import multi, single
from termdepth.config.models import Config
from termdepth.data import TABLES
from termdepth.data.io import to_arrow
from termdepth.environments.docker import disk, engine, images
from termdepth.pipeline.batches import admission_table
from termdepth.pipeline.listing import list_tasks
from termdepth.pipeline.prepare import build_images, validate_tasks

pytestmark = pytest.mark.docker

TEST = "#!/bin/bash\nif test -f /app/done; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"


def admission(tmp_path: Path, **dataset: Any) -> dict[str, dict[str, Any]]:
    """Rows of `admission` by task, of the tasks in tmp_path/tasks."""
    config = Config.model_validate(
        {
            "datasets": [{"name": "d", "path": tmp_path / "tasks", "kind": "human", **dataset}],
            "models": [{"id": "m", "litellm": "scripted/merge", "roles": ["first"]}],
            "backend": "docker",
            "results": tmp_path / "results",
        }
    )
    (d,) = config.datasets
    tasks = list_tasks(config, d)
    batch = [t for t in tasks if t["order"] is not None]
    built = build_images(config, d, batch, say=print)
    assert to_arrow(built, TABLES["images"]).num_rows == len(batch)
    rows = admission_table(tasks, validate_tasks(config, d, batch, built, threads=2, say=print), d.sample)
    assert to_arrow(rows, TABLES["admission"]).num_rows == len(tasks)
    return {r["task"]: r for r in rows}


def test_each_task_is_admitted_or_says_why_not(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    single(tasks / "good", {"tests/test.sh": TEST})
    never = TEST.replace("/app/done", "/app/never")
    multi(tasks / "parts", 2, {"steps/s1/tests/test.sh": TEST, "steps/s2/tests/test.sh": never})
    single(tasks / "lazy", {"tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n"})
    single(tasks / "wrong", {"solution/solve.sh": "#!/bin/bash\ntrue\n", "tests/test.sh": TEST})
    single(tasks / "broken-build", {"environment/Dockerfile": f"FROM {BASE_IMAGE}\nRUN echo no luck; false\n"})
    single(tasks / "online", {"tests/test.sh": "#!/bin/bash\ncurl -sSf https://example.org/check.sh | bash\n"})
    single(tasks / "gpu", {"environment/Dockerfile": "FROM nvidia/cuda:12.0-base\n"})
    rows = admission(tmp_path)
    reasons = {t: r["reason"] for t, r in rows.items()}
    assert rows["good"]["admitted"] and reasons["good"] is None
    assert reasons["parts"] == "oracle failed: segment 2 of 2, not full marks"
    assert reasons["lazy"] == "no-op passed: reward 1"
    assert reasons["wrong"] == "oracle failed: not full marks"
    assert reasons["broken-build"].startswith("no build: ") and "no luck" in reasons["broken-build"]
    assert reasons["online"].startswith("needs network: verifier/test-stdout.txt: curl: (6) Could not resolve host")
    assert reasons["gpu"] == "not light: gpu: environment/Dockerfile:1: FROM nvidia/cuda:12.0-base"
    assert rows["gpu"]["order"] is None and rows["gpu"]["image"] is None, "what its text says is not light is not built"
    assert rows["good"]["light"] is True and rows["good"]["build_bytes"] > 10**7


def test_the_measured_build_decides(tmp_path: Path) -> None:
    single(tmp_path / "tasks/big")
    single(tmp_path / "tasks/slow", {"environment/Dockerfile": f"FROM {BASE_IMAGE}\nRUN sleep 60 # {time.time()}\n"})
    started = time.monotonic()
    rows = admission(tmp_path, light={"build_mb": 20, "build_sec": 3})
    assert time.monotonic() - started < 40, "a build is stopped at its limit"
    assert rows["big"]["reason"].startswith("not light: build_size: image: ")
    assert rows["big"]["reason"].endswith("above 20 MB")
    assert rows["slow"]["reason"].startswith("not light: build_time: ") and "within 3 s" in rows["slow"]["reason"]
    assert [r["light"] for r in rows.values()] == [False, False]
    assert not any(r["oracle_passed"] for r in rows.values()), "what is not light is not run"


def test_a_verifier_that_changes_its_mind_is_caught_by_repeats(tmp_path: Path) -> None:
    # Where the work was done, a coin that the container's name throws decides.
    coin = TEST.replace(
        "if test -f /app/done", "if test -f /app/done && (( 0x$(hostname | sha256sum | cut -c1-8) % 2 ))"
    )
    single(tmp_path / "tasks/coin", {"tests/test.sh": coin})
    single(tmp_path / "tasks/good", {"tests/test.sh": TEST})
    # 11 runs agree by chance once in 1,024 times.
    rows = admission(tmp_path, oracle_repeats=10)
    assert rows["coin"]["reason"].startswith("flaky verifier: the reference solution passed ")
    assert rows["good"]["admitted"] and rows["good"]["oracle_passed"]


def test_a_dataset_without_solutions(tmp_path: Path) -> None:
    single(tmp_path / "tasks/a", {"solution/solve.sh": None, "tests/test.sh": TEST})
    single(tmp_path / "tasks/b", {"solution/solve.sh": None, "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n"})
    assert {r["reason"] for r in admission(tmp_path, needs_solution=False, tasks=["a"]).values()} == {
        None,
        "name not asked for",
    }
    rows = admission(tmp_path, needs_solution=False)
    assert rows["a"]["admitted"] and rows["a"]["oracle_passed"] is None and rows["a"]["noop_reward"] == 0
    assert rows["b"]["reason"] == "no-op passed: reward 1"


# --- disk


def test_least_recently_used_images_go_first() -> None:
    base, mb = {1: 100}, 10
    stored = [
        disk.Stored("old", base | {2: mb}, 1.0),
        disk.Stored("twin of old", base | {2: mb}, 2.0),
        disk.Stored("new", base | {3: mb}, 3.0),
        disk.Stored("just now", base | {4: mb}, 999.0),
    ]
    assert disk.to_remove(stored, 130, now=1000, grace_seconds=60) == []
    assert disk.to_remove(stored, 120, now=1000, grace_seconds=60) == ["old", "twin of old"], (
        "shared layers free nothing"
    )
    assert disk.to_remove(stored, 0, now=1000, grace_seconds=60) == ["old", "twin of old", "new"], (
        "what is in use stays"
    )


def test_a_disk_budget_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        disk, "REPOSITORY", "termdepth/trimmed"
    )  # the other images of this engine are not ours to remove
    tags = []
    for name in ("a", "b", "c"):
        context = tmp_path / name
        context.mkdir()
        text = f"FROM {BASE_IMAGE}\nRUN head -c 20000000 /dev/urandom > /{name} # {os.getpid()}\n"
        (context / "Dockerfile").write_text(text)
        tags.append(images.ensure(images.Source(context), tmp_path)[0])
    folder = tmp_path / "docker"
    base = sum(disk._layers(engine.api().inspect_image(BASE_IMAGE)["Id"]).values())
    assert sum({k: v for s in disk.stored(folder) for k, v in s.layers.items()}.values()) == pytest.approx(
        base + 60e6, rel=0.01
    )
    for age, tag in enumerate(reversed(tags)):
        used = time.time() - 3600 * (age + 1)
        os.utime(folder / f"{tag.rpartition(':')[2]}.used", (used, used))
    images.ensure(images.Source(tmp_path / "a"), tmp_path)  # the oldest is used again
    assert disk.trim(base + 45e6, folder) == [tags[1]]
    assert disk.trim(base + 45e6, folder) == []
    assert sorted(s.tag for s in disk.stored(folder)) == sorted([tags[0], tags[2]])
    assert disk.trim(0, folder) == [tags[2]], "one that was used a moment ago stays"
    removed, freed = disk.remove_all()
    assert removed == 1 and freed == pytest.approx(20e6, rel=0.01)
    assert disk.stored(folder) == []
