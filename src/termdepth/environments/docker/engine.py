"""The engine: the connection, and containers whose owner is gone."""

from __future__ import annotations

import contextlib
import functools
import time
from typing import Any

import docker
from docker.errors import APIError, DockerException, NotFound

from termdepth.environments import owner
from termdepth.errors import UserError

MARK = "termdepth"
"""Label of everything made here; `termdepth.run` and `termdepth.owner` say for what and by whom."""

MAX_CONNECTIONS = 128
_REMOVE_TIMEOUT = 30.0


@functools.cache
def api() -> Any:
    """The connection to the engine that the environment names (DOCKER_HOST, else the local socket).

    Raises:
        UserError: no engine answers.
    """
    try:
        client = docker.from_env(max_pool_size=MAX_CONNECTIONS, timeout=120)
        client.ping()
    except DockerException as error:
        raise UserError(
            "no Docker engine answers",
            where="DOCKER_HOST",
            hint="start Docker or Podman's socket, and see that you may use it: docker version",
        ) from error
    return client.api


def labels(run: str) -> dict[str, str]:
    """Labels of a container for `run`, owned by this process."""
    return {MARK: "1", f"{MARK}.run": run, f"{MARK}.owner": owner.current()}


def remove(container: str) -> None:
    """Remove a container with its volumes, running or not, and wait until it is gone."""
    end = time.monotonic() + _REMOVE_TIMEOUT
    while True:
        try:
            api().remove_container(container, force=True, v=True)
            return
        except NotFound:
            return
        except APIError as error:
            # 409: the engine is removing it already (auto-remove after its process ended)
            if error.status_code != 409 or time.monotonic() > end:
                raise
        time.sleep(0.02)


def sweep(*, everything: bool = False) -> list[str]:
    """Remove containers whose owner has ended (or, with `everything`, all of ours). Returns their names."""
    removed = []
    for row in api().containers(all=True, filters={"label": f"{MARK}=1"}):
        token = row["Labels"].get(f"{MARK}.owner", "")
        if everything or owner.is_gone(token):
            with contextlib.suppress(APIError):  # another process sweeps too
                remove(row["Id"])
                removed.append((row.get("Names") or [row["Id"][:12]])[0].lstrip("/"))
    return removed
