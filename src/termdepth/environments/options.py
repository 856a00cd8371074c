"""The options of both backends: the `kwargs` of Harbor's `EnvironmentConfig`."""

from __future__ import annotations

from pathlib import Path

from harbor.environments.options import EnvironmentOptions
from pydantic import Field


class BackendOptions(EnvironmentOptions):  # type: ignore[misc]
    """Everything but `auto_mounting` (Harbor's; accepted, without effect: no folder of the host is ever mounted).

    What a task says in its task.toml (memory, processors) goes before what stands here.
    """

    network: str = Field(
        "none",
        description="'none', or the name of a Docker network ('bridge', 'host'). The sandbox knows only 'none'. "
        "What task.toml asks for is not looked at: the dataset's entry in the config decides.",
    )
    memory_mb: int = Field(2048, gt=0, description="Memory limit in MiB for tasks that state none. No swap.")
    pids: int = Field(1024, gt=0, description="Limit of processes and threads.")
    cpus: float | None = Field(
        None, gt=0, description="Processor limit for tasks that state none; never more than the host has."
    )
    cache_dir: Path | None = Field(
        None, description="Images, build records and locks. Default: $TERMDEPTH_CACHE, else ~/.cache/termdepth."
    )
    base_images: dict[str, str] = Field(
        default_factory=dict,
        description="Base images to put in the place of others: {'ubuntu:24.04': 'registry.local/ubuntu:24.04'}. "
        "Also applied to a task's docker_image. In the sandbox, whose base is the host's /usr, what stands here must be a "
        "plain Debian or Ubuntu.",
    )
    build_network: str = Field(
        "host", description="Docker network of image builds ('none' to forbid it). The sandbox builds without any."
    )
    disk_mb: int = Field(1024, gt=0, description="Sandbox only: size of the root file system in MiB (it is memory).")
