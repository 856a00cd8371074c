"""The environments as the config asks for them: one place where config and environments meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from termdepth.config.models import Config, Dataset
from termdepth.environments import backend
from termdepth.environments.backend import BackendChoice, sweep_all
from termdepth.environments.dockerfile import DOCKER_HUB
from termdepth.environments.image import ImageRecord
from termdepth.errors import UserError

__all__ = ["backend_for", "ensure_image", "environment_for", "sweep_all", "trim_images"]


def backend_for(config: Config, dataset: Dataset) -> BackendChoice:
    """The backend of a dataset and why.

    Raises:
        UserError: none works here, or a remote model would run in the sandbox without permission.
    """
    if config.backend == "auto" and dataset.trusted and not config.sandbox_allowed:
        try:
            choice = backend.select_backend("docker", trusted=True)
        except UserError as e:
            raise UserError(
                f"{e.problem}, and remote models do not run in the embedded sandbox",
                where="backend: auto",
                hint="start Docker, or accept the sandbox for trusted datasets with allow_remote_models: true",
            ) from None
        return BackendChoice(choice.name, "the dataset is trusted, but a remote model's commands will run in it")
    choice = backend.select_backend(config.backend, trusted=dataset.trusted)
    for model in config.models:
        backend.check_model_allowed(choice, model.litellm, config.allow_remote_models)
    return choice


_NETWORKS = {"none": "none", "full": "bridge"}
_BUILD_NETWORKS = {"none": "none", "full": "host"}


def _base_images(dataset: Dataset) -> dict[str, str]:
    mirror = {DOCKER_HUB: dataset.registry_mirror} if dataset.registry_mirror else {}
    return mirror | dataset.base_images


def _cache(config: Config) -> Path:
    return (config.results / "images" / "cache").resolve()


def ensure_image(config: Config, dataset: Dataset, task_dir: Path) -> ImageRecord:
    """Build the image of a task, or find it built.

    Raises:
        UserError: it cannot be built, with the reason.
        BuildTooLong: it was not built within the dataset's limit.
    """
    return backend.ensure_image(
        backend_for(config, dataset),
        task_dir,
        cache_dir=_cache(config),
        base_images=_base_images(dataset),
        build_network=_BUILD_NETWORKS[dataset.build_network],
        timeout=dataset.light.build_sec,
    )


def trim_images(config: Config) -> None:
    """Keep the built images within the disk budget, if there is one."""
    if config.disk_budget_gb is not None:
        backend.trim_images(config.disk_budget_gb * 1e9, _cache(config))


def environment_for(config: Config, dataset: Dataset) -> Any:
    """Harbor's EnvironmentConfig for the tasks of a dataset."""
    return backend.environment_config(
        backend_for(config, dataset),
        network=_NETWORKS[dataset.network],
        memory_mb=dataset.memory_mb,
        cpus=dataset.cpus,
        pids=dataset.pids,
        base_images=_base_images(dataset),
        build_network=_BUILD_NETWORKS[dataset.build_network],
        cache_dir=_cache(config),
    )
