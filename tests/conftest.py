"""Fixtures for tests that need a Docker engine or the embedded sandbox.

Tests marked `docker` or `sandbox` are skipped, with the reason, where that backend cannot start. With
TERMDEPTH_REQUIRE=docker,sandbox (as in CI) they fail instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

# What a shell starts in the background ignores SIGINT, and so do its children: tests that send one would wait forever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples each time, and no limit of time for one: the machine may be busy.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

BASE_IMAGE = "debian:bookworm-slim"
BACKENDS = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("sandbox", marks=pytest.mark.sandbox),
]


def _trouble(marker: str) -> str | None:
    from termdepth.environments import backend

    if marker == "sandbox":
        return backend.sandbox_trouble()
    if trouble := backend.docker_trouble():
        return f"{trouble} (tests/docker-engine.sh starts one)"
    from termdepth.environments.docker import engine

    if not engine.api().images(BASE_IMAGE):
        return f"the engine has no {BASE_IMAGE} (tests/docker-engine.sh makes it)"
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in ("docker", "sandbox"):
        if item.get_closest_marker(marker) and (trouble := _trouble(marker)):
            if marker in os.environ.get("TERMDEPTH_REQUIRE", "").split(","):
                pytest.fail(f"{marker} is required: {trouble}", pytrace=False)
            pytest.skip(f"{marker}: {trouble}")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend in turn."""
    return str(request.param)


class Lab:
    """Makes environments of one backend in a temporary folder."""

    def __init__(self, backend: str, folder: Path) -> None:
        self.backend, self.folder, self.count = backend, folder, 0

    def context(self, dockerfile: str = "WORKDIR /app\n", files: dict[str, str | bytes] | None = None) -> Path:
        """A task folder's `environment/`; FROM is added."""
        self.count += 1
        context = self.folder / f"task{self.count}" / "environment"
        context.mkdir(parents=True)
        if "FROM" not in dockerfile:
            dockerfile = f"FROM {BASE_IMAGE}\n{dockerfile}"
        for name, content in {"Dockerfile": dockerfile, **(files or {})}.items():
            path = context / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        (context.parent / "task.toml").write_text("")
        return context

    def make(self, context: Path | None = None, task: dict[str, Any] | None = None, **options: Any) -> Any:
        """A Harbor environment that is not started."""
        from harbor.environments.factory import EnvironmentFactory
        from harbor.models.task.config import EnvironmentConfig as TaskEnvironment
        from harbor.models.trial.paths import TrialPaths

        from termdepth.environments.backend import BackendChoice, environment_config

        context = context or self.context()
        paths = TrialPaths(self.folder / f"trial{self.count}")
        paths.mkdir()
        config = environment_config(BackendChoice(self.backend, "test"), cache_dir=self.folder / "cache", **options)
        return EnvironmentFactory.create_environment_from_config(
            config=config,
            environment_dir=context,
            environment_name="lab",
            session_id=f"lab-{self.folder.name}-{self.count}",
            trial_paths=paths,
            task_env_config=TaskEnvironment(**(task or {})),
        )

    @contextlib.asynccontextmanager
    async def started(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """A running environment."""
        environment = self.make(*args, **kwargs)
        try:
            await environment.start(force_build=False)
            yield environment
        finally:
            await environment.stop(delete=True)


@pytest.fixture
def lab(backend: str, tmp_path: Path) -> Lab:
    return Lab(backend, tmp_path)


@pytest.fixture
def docker_lab(tmp_path: Path) -> Lab:
    return Lab("docker", tmp_path)


@pytest.fixture
def sandbox_lab(tmp_path: Path) -> Lab:
    return Lab("sandbox", tmp_path)


@pytest.fixture
def inside(lab: Lab) -> Callable[..., Any]:
    """`inside(work, **how)` runs `await work(environment)` in a fresh environment."""

    def run(work: Callable[[Any], Coroutine[Any, Any, Any]], *args: Any, **how: Any) -> Any:
        async def main() -> Any:
            async with lab.started(*args, **how) as environment:
                return await work(environment)

        return asyncio.run(main())

    return run


def processes_with(text: str) -> Iterator[int]:
    """Process ids on this host whose command line holds `text`. (Containers' processes are the host's, too.)"""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if text.encode() in (entry / "cmdline").read_bytes().replace(b"\0", b" "):
                    yield int(entry.name)
