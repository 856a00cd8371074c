"""Datasets of a Harbor registry, downloaded by Harbor's own client."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

from termdepth.config.models import Registry
from termdepth.errors import UserError
from termdepth.harness.redact import redact


def download_dataset(registry: Registry, folder: Path, where: str) -> Path:
    """The folder with the tasks of a registry's dataset: downloaded now, or found downloaded.

    A download that breaks off leaves nothing at `folder`.

    Args:
        folder: where the tasks go, one folder each.
        where: key of the config, for messages.

    Raises:
        UserError: the registry does not answer, does not know the dataset, or its tasks cannot be had.
    """
    done = folder / ".downloaded"
    if done.is_file() and done.read_text() == registry.name:
        return folder
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        items = asyncio.run(_download(registry, partial))
    except Exception as e:  # HTTP, git, storage, an unknown name: Harbor raises what its libraries raise
        shutil.rmtree(partial, ignore_errors=True)
        raise UserError(
            f"the dataset cannot be downloaded from the registry: {redact(f'{type(e).__name__}: {e}')}",
            where=f"{where}.registry",
            hint="see that the name and version are those of `harbor datasets list` and that the network answers, or "
            "download it yourself (harbor datasets download) and give its folder as path",
        ) from e
    if not items:
        raise UserError(f"the dataset {registry.name} has no tasks", where=f"{where}.registry")
    (partial / ".downloaded").write_text(registry.name)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return folder


async def _download(registry: Registry, folder: Path) -> list[Any]:
    client: Any
    if "/" in registry.name:
        from harbor.registry.client.package import PackageDatasetClient

        client = PackageDatasetClient()
    else:
        from harbor.registry.client.factory import RegistryClientFactory

        client = RegistryClientFactory.create(registry_path=registry.file)
    items = await client.download_dataset(registry.name, overwrite=True, output_dir=folder, export=True)
    for item in items:  # tasks that the registry has as a local path are not copied by Harbor
        if not Path(item.downloaded_path).resolve().is_relative_to(folder.resolve()):
            shutil.copytree(item.downloaded_path, folder / Path(item.downloaded_path).name, symlinks=True)
    return list(items)
