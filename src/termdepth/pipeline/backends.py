"""The environments as the config asks for them: one place where config and environments meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from termdepth.config.models import Config, Dataset
from termdepth.environments import backend
from termdepth.environments.backend import sweep_all

__all__ = ["backend_for", "ensure_image", "environment_for", "sweep_all"]


def backend_for(config: Config, dataset: Dataset) -> Any:
    """The backend of a dataset and why.

    Raises:
        UserError: none works here, or a remote model would run in the sandbox without permission.
    """
    choice = backend.select_backend(config.backend, trusted=dataset.trusted)
    for model in config.models:
        backend.check_model_allowed(choice, model.litellm, config.allow_remote_models)
    return choice


def _options(config: Config, dataset: Dataset) -> dict[str, Any]:
    return {
        "network": dataset.network,
        "memory_mb": dataset.memory_mb,
        "cpus": dataset.cpus,
        "pids": dataset.pids,
        "base_images": dict(dataset.base_images),
        "cache_dir": str((config.results / "images" / "cache").resolve()),
    }


def ensure_image(config: Config, dataset: Dataset, task_dir: Path) -> Any:
    """Build the image of a task, or find it built."""
    return backend.ensure_image(backend_for(config, dataset), task_dir, **_options(config, dataset))


def environment_for(config: Config, dataset: Dataset, image: str) -> Any:
    """Harbor's EnvironmentConfig for a task whose image is built."""
    return backend.environment_config(backend_for(config, dataset), **_options(config, dataset))
