"""Which backend runs a dataset, and the little that callers need of either.

Light to import: Harbor and docker-py are imported where they are used.
"""

from __future__ import annotations

import functools
import shutil
import threading
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from termdepth.environments.content import default_cache_dir
from termdepth.environments.image import ImageRecord
from termdepth.environments.threads import Cancel, Cancelled
from termdepth.errors import UserError

if TYPE_CHECKING:
    from harbor.models.trial.config import EnvironmentConfig

type Backend = Literal["auto", "docker", "sandbox"]

_LOCAL_MODELS = "scripted/"
_CLASSES = {
    "docker": "termdepth.environments.docker:DockerEnvironment",
    "sandbox": "termdepth.environments.sandbox.environment:SandboxEnvironment",
}


@dataclass(frozen=True)
class BackendChoice:
    """The backend that was chosen, and why, in words for the log and the report."""

    name: Literal["docker", "sandbox"]
    reason: str


class BuildTooLong(UserError):
    """A build was stopped at its time limit."""


def select_backend(backend: Backend, *, trusted: bool) -> BackendChoice:
    """Choose the backend of a dataset.

    `auto` takes the sandbox for trusted datasets where it can start, else Docker; for others Docker only. What can
    start is tried out once per process.

    Raises:
        UserError: what was asked for, or all that is allowed, cannot start here; or the sandbox was asked for a dataset
            that is not trusted.
    """
    return choose(backend, trusted, sandbox_trouble, docker_trouble)


def choose(
    backend: Backend, trusted: bool, sandbox: Callable[[], str | None], docker: Callable[[], str | None]
) -> BackendChoice:
    """The rule behind `select_backend`. `sandbox` and `docker` say why they cannot start; asked only if it matters."""
    if backend == "sandbox" and not trusted:
        raise UserError(
            "the embedded sandbox is for trusted datasets only",
            where="backend: sandbox",
            hint="use backend: docker, or say trusted: true if you wrote or read all of the dataset",
        )
    if backend == "sandbox" or (backend == "auto" and trusted):
        trouble = sandbox()
        if not trouble:
            return BackendChoice("sandbox", "asked for" if backend == "sandbox" else "the dataset is trusted")
        if backend == "sandbox":
            raise UserError(f"the embedded sandbox cannot start: {trouble}", where="backend: sandbox", hint=_ENABLE)
    else:
        trouble = None
    if not docker():
        if backend == "docker":
            return BackendChoice("docker", "asked for")
        if trouble:
            return BackendChoice("docker", f"the embedded sandbox cannot start: {trouble}")
        return BackendChoice("docker", "the dataset is not trusted")
    if trouble:
        raise UserError(
            f"nothing can run containers here: no Docker engine answers, and no embedded sandbox can start ({trouble})",
            where=f"backend: {backend}",
            hint=f"start Docker, or {_ENABLE}",
        )
    raise UserError(
        "no Docker engine answers",
        where=f"backend: {backend}",
        hint="start Docker or Podman's socket and see that you may use it (docker version)"
        + ("; only trusted datasets can do without" if backend == "auto" else ""),
    )


_ENABLE = (
    "enable user namespaces (sysctl user.max_user_namespaces > 0; on Ubuntu "
    "kernel.apparmor_restrict_unprivileged_userns=0; not possible in a default Docker container)"
)


@functools.cache
def sandbox_trouble() -> str | None:
    """Why no sandbox can start here; None if one can. Tries it."""
    from termdepth.environments.sandbox.sandbox import Sandbox, SandboxError, SandboxUnavailable

    try:
        with Sandbox() as box:
            box.check("command -v tmux tar >/dev/null || { echo 'tmux or tar is not installed' >&2; exit 1; }")
    except SandboxUnavailable as error:
        return str(error)
    except SandboxError as error:
        return str(error).rpartition(": ")[2]
    return None


@functools.cache
def docker_trouble() -> str | None:
    """Why no engine can be used; None if one answers."""
    from termdepth.environments.docker import engine

    try:
        engine.api()
    except UserError as error:
        return error.problem
    return None


def check_model_allowed(choice: BackendChoice, model: str, allow_remote_models: bool) -> None:
    """The sandbox runs no commands of a remote model, unless that is allowed. Scripted models are local.

    Raises:
        UserError
    """
    if choice.name == "sandbox" and not model.startswith(_LOCAL_MODELS) and not allow_remote_models:
        raise UserError(
            f"the embedded sandbox does not run commands of {model}: its walls are thinner than Docker's",
            where="backend: sandbox",
            hint="use backend: docker, or accept it with allow_remote_models: true",
        )


def environment_config(choice: BackendChoice, **options: Any) -> EnvironmentConfig:
    """The Harbor environment of `choice`; `options` as in `termdepth.environments.options.BackendOptions`."""
    from harbor.models.trial.config import EnvironmentConfig

    given = {k: str(v) if isinstance(v, Path) else v for k, v in options.items() if v is not None}
    return EnvironmentConfig(import_path=_CLASSES[choice.name], kwargs=given)


def ensure_image(
    choice: BackendChoice,
    task_dir: Path,
    *,
    cache_dir: Path | None = None,
    base_images: dict[str, str] | None = None,
    build_network: str = "host",
    timeout: float | None = None,
    force: bool = False,
) -> ImageRecord:
    """Build a task's image, or find it built. `timeout` in seconds.

    Raises:
        UserError: it cannot be built: a mistake in the Dockerfile (file and line), a failed command with its last
            lines, a base image that cannot be had or that the sandbox cannot stand in for, or several containers (compose).
        BuildTooLong: it was not built within the timeout.
    """
    context, cache = task_dir / "environment", cache_dir or default_cache_dir()
    for name in ("docker-compose.yaml", "docker-compose.yml", "compose.yaml"):
        if (context / name).exists():
            raise UserError("tasks of several containers are not supported", where=context / name)
    cancel = Cancel()
    timer = threading.Timer(timeout, cancel.set) if timeout else None
    try:
        if timer:
            timer.start()
        if choice.name == "sandbox":
            from termdepth.environments.sandbox import image

            prebuilt = None if (context / "Dockerfile").is_file() else _docker_image(task_dir)
            built = image.build(
                context, cache, base_images=base_images, docker_image=prebuilt, force=force, cancel=cancel
            )
            return built.record
        from termdepth.environments.docker import images

        source = images.Source(context, _docker_image(task_dir), base_images or {}, build_network)
        return images.ensure(source, cache, force=force, cancel=cancel)[1]
    except Cancelled:
        raise BuildTooLong(f"the image was not built within {timeout:.0f} s", where=context) from None
    finally:
        if timer:
            timer.cancel()
            timer.join()
        cancel.close()


def _docker_image(task_dir: Path) -> str | None:
    """`[environment] docker_image` of task.toml."""
    path = task_dir / "task.toml"
    try:
        value = tomllib.loads(path.read_text()).get("environment", {}).get("docker_image")
    except FileNotFoundError:
        raise UserError("file is missing", where=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"not valid TOML: {error}", where=path) from None
    return value if isinstance(value, str) else None


def sweep_all(*, everything: bool = False) -> list[str]:
    """Remove containers that killed processes left (with `everything`, all of ours, running or not).

    Returns their names. Sandboxes need none of this: they end with their process. Does nothing without an engine.
    """
    if docker_trouble():
        return []
    from termdepth.environments.docker import engine

    return engine.sweep(everything=everything)


def trim_images(budget_bytes: float, cache_dir: Path) -> list[str]:
    """Remove the Docker images of ours that were used least recently, until they fit into the budget. Returns their tags.

    Images in use, and those used within the last minutes, stay. Does nothing without an engine.
    """
    if docker_trouble():
        return []
    from termdepth.environments.docker import disk

    return disk.trim(budget_bytes, cache_dir / "docker")


def remove_images(cache_dir: Path) -> tuple[int, int]:
    """Remove all images of ours, those of the sandbox and, where an engine answers, Docker's. Returns how many Docker images
    went, and the bytes freed."""
    freed = sum(p.stat().st_size for p in cache_dir.rglob("*") if p.is_file()) if cache_dir.is_dir() else 0
    removed, of_docker = 0, 0
    if not docker_trouble():
        from termdepth.environments.docker import disk

        removed, of_docker = disk.remove_all()
    shutil.rmtree(cache_dir, ignore_errors=True)
    return removed, freed + of_docker
