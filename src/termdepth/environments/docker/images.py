"""Images of the Docker backend: built once per content, with tmux in them."""

from __future__ import annotations

import contextlib
import io
import json
import re
import socket
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from docker.errors import APIError, ImageNotFound
from docker.utils import parse_repository_tag

from termdepth.environments import content, transfer
from termdepth.environments.docker import disk, engine
from termdepth.environments.dockerfile import replace_base_images, substitute
from termdepth.environments.image import ImageRecord, load_build_seconds, save_build_seconds
from termdepth.environments.threads import Cancel, Cancelled
from termdepth.errors import UserError

_FORMAT = "docker-image-1"  # change it when the same context would give another image
_DOCKERFILE = ".termdepth.Dockerfile"
_SHOWN_LINES = 20
_NEEDS_BUILDKIT = "this needs BuildKit: build it yourself and name the image as docker_image in task.toml"

# terminus-2 works in tmux and asks for bash.
_HAS_TOOLS = "command -v tmux >/dev/null && command -v bash >/dev/null"
_ADD_TOOLS = """\
if command -v apt-get; then apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
tmux bash && rm -rf /var/lib/apt/lists/*; \
elif command -v apk; then apk add --no-cache tmux bash; \
elif command -v dnf; then dnf install -y tmux bash && dnf clean all; \
elif command -v microdnf; then microdnf install -y tmux bash && microdnf clean all; \
elif command -v yum; then yum install -y tmux bash && yum clean all; \
elif command -v zypper; then zypper --non-interactive install tmux bash && zypper clean --all; \
elif command -v pacman; then pacman -Sy --noconfirm tmux bash; \
else echo "no known package manager in this image"; exit 1; fi"""


@dataclass(frozen=True)
class Source:
    """What an image is made of: a build context, or a prebuilt image's name."""

    context: Path
    docker_image: str | None = None
    base_images: dict[str, str] = field(default_factory=dict)
    build_network: str = "host"

    @property
    def prebuilt(self) -> str | None:
        """The prebuilt image, unless there is a Dockerfile."""
        return None if (self.context / "Dockerfile").is_file() else self.docker_image


def ensure(
    source: Source, cache: Path, *, force: bool = False, cancel: Cancel | None = None
) -> tuple[str, ImageRecord]:
    """Build the image of `source`, or find it. Returns its tag and record.

    Its key is the context's content and the ids of the base images. Builders of one image wait for one another.

    Raises:
        UserError: a base image that cannot be had, a failed build with its last lines, an unreadable Dockerfile.
    """
    where = str(source.context / "Dockerfile")
    if source.prebuilt:
        text, bases = "", [substitute(source.prebuilt, source.base_images)]
        key = content.content_key_of(_FORMAT, _local_id(bases[0], where, cancel))
    elif (source.context / "Dockerfile").is_file():
        text, bases = replace_base_images(content.read_text(Path(where)), source.base_images, where)
        ids = [_local_id(base, where, cancel) for base in bases]
        key = content.content_key(source.context, _FORMAT, text, *ids)
    else:
        raise UserError("neither a Dockerfile nor a docker_image", where=source.context)
    tag = f"{disk.REPOSITORY}:{key}"
    folder = cache / "docker"
    with content.only_one(folder / f"{key}.lock", cancel):
        disk.mark_used(folder, key)
        found = None if force else _inspect(tag)
        if found is None:
            started = time.monotonic()
            image = bases[0] if source.prebuilt else _build(_context(source.context, text), source, where, cancel)
            if not _has_tools(image):
                image = _add_tools(image, source, where, cancel)
            engine.api().tag(image, disk.REPOSITORY, key, force=True)
            save_build_seconds(folder, key, time.monotonic() - started)
        info = found or _inspect(tag)
    assert info is not None
    return tag, ImageRecord(info["Id"], load_build_seconds(folder, key), int(info["Size"]), found is not None)


def _inspect(name: str) -> Any:
    try:
        return engine.api().inspect_image(name)
    except ImageNotFound:
        return None


def _local_id(image: str, where: str, cancel: Cancel | None) -> str:
    """The id of an image, which is pulled if it is not here."""
    info = _inspect(image)
    if info is None:
        repository, tag = parse_repository_tag(image)
        try:
            for event in engine.api().pull(repository, tag or "latest", stream=True, decode=True):
                if cancel:
                    cancel.check()
                if "error" in event:
                    raise APIError(event["error"])
            info = _inspect(image)
        except APIError as error:
            reason = str(error.explanation or error).strip().splitlines()[-1]
            raise UserError(
                f"image {image} is not here and cannot be pulled: {reason}",
                where=where,
                hint="name another in base_images, or load it with: docker load",
            ) from error
    return str(info["Id"])


def _context(context: Path, dockerfile: str) -> IO[bytes]:
    """The build context as tar, links as links, with our Dockerfile beside the user's."""
    archive = transfer.new_archive()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name in content.context_files(context):
            info = tar.gettarinfo(context / name, arcname=name)
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            if info.isreg():
                with (context / name).open("rb") as f:
                    tar.addfile(info, f)
            elif info.issym() or info.isdir():
                tar.addfile(info)
        _add_text(tar, _DOCKERFILE, dockerfile)
    archive.seek(0)
    return archive


def _add_text(tar: tarfile.TarFile, name: str, text: str) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(text.encode())
    tar.addfile(info, io.BytesIO(text.encode()))


def _build(context: IO[bytes], source: Source, where: str, cancel: Cancel | None) -> str:
    """Build a context. Returns the image's id."""
    image, lines = None, list[str]()
    with context:
        for event in _build_events(context, source.build_network, cancel):
            text = event.get("stream") or event.get("error") or ""
            lines += [line for line in text.splitlines() if line.strip()]
            del lines[:-200]
            if "error" in event:
                raise _build_failed(lines, source, where)
            if match := re.match(r"Successfully built (\w+)", text):
                image = match[1]
            if aux := (event.get("aux") or {}).get("ID"):
                image = aux
    if image is None:
        raise _build_failed(lines, source, where)
    return image


def _build_events(context: IO[bytes], network: str, cancel: Cancel | None) -> Iterator[dict[str, Any]]:
    """The engine's messages. docker-py's `build` cannot be ended from outside, so its request is made here."""
    api = engine.api()
    headers = {"Content-Type": "application/tar"}
    api._set_auth_headers(headers)
    params = {
        "dockerfile": _DOCKERFILE,
        "rm": True,
        "forcerm": True,
        "networkmode": network,
        "labels": json.dumps({engine.MARK: "1"}),
    }
    try:
        response = api._post(
            api._url("/build"), data=context, params=params, headers=headers, stream=True, timeout=None
        )
        api._raise_for_status(response)
        if cancel:
            sock = response.raw._fp.fp.raw._sock

            def hang_up() -> None:  # the engine then ends the build
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

            cancel.on_set(hang_up)
        yield from api._stream_helper(response, decode=True)
    except APIError as error:
        yield {"error": str(error.explanation)}
    except Exception:
        if cancel and cancel.is_set:
            raise Cancelled from None
        raise
    if cancel:
        cancel.check()


def _build_failed(lines: list[str], source: Source, where: str) -> UserError:
    step = next((line for line in reversed(lines) if line.startswith("Step ")), "")
    shown = "\n".join(["", *lines[-_SHOWN_LINES:]])
    return UserError(
        f"the image cannot be built{f' ({step.strip()})' if step else ''}: {shown}",
        where=where,
        hint=_NEEDS_BUILDKIT if "BuildKit" in shown else content.crlf_hint(source.context),
    )


def _has_tools(image: str) -> bool:
    """Whether tmux and bash are in the image."""
    api = engine.api()
    container = api.create_container(
        image,
        entrypoint=["/bin/sh", "-c", _HAS_TOOLS],
        user="0",
        labels=engine.labels("image check"),
        host_config=api.create_host_config(network_mode="none"),
    )["Id"]
    try:
        api.start(container)
        return bool(api.wait(container)["StatusCode"] == 0)
    except APIError as error:
        if "no such file" in str(error.explanation):  # not even a shell
            return False
        raise
    finally:
        engine.remove(container)


def _add_tools(image: str, source: Source, where: str, cancel: Cancel | None) -> str:
    """A layer with tmux and bash, from the package index of the image's own distribution."""
    user = engine.api().inspect_image(image)["Config"].get("User") or "root"
    text = f"FROM {image}\nUSER root\nRUN {_ADD_TOOLS}\nUSER {user}\n"
    archive = transfer.new_archive()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        _add_text(tar, _DOCKERFILE, text)
    archive.seek(0)
    try:
        return _build(archive, source, where, cancel)
    except UserError as error:
        raise UserError(
            f"tmux is not in the image and cannot be added; {error.problem}",
            where=where,
            hint="give a base image that has tmux in base_images, or allow the build a network: build_network",
        ) from error
