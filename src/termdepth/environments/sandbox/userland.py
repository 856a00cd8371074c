"""Which base images this machine's own programs may stand in for, and what to say where they are not the same.

A sandbox has the host's `/usr`. That can stand in for a plain Debian or Ubuntu, of which a task expects no more than a shell
and the usual tools; it is no Python, Go or Alpine image, and a task measured without its own programs would be another task.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from termdepth.environments.dockerfile import DOCKER_HUB, docker_hub_name, substitute

HINT = "use backend: docker, or leave out trusted"
OS_RELEASE = Path("/usr/lib/os-release")  # that of /usr, not of /etc: /usr is what a sandbox gets

_PLAIN = re.compile(r"library/(?P<id>debian|ubuntu)(?::(?P<tag>\w[\w.-]*))?(?:@\w+:[0-9a-f]+)?")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Release:
    """A distribution: `ID`, `VERSION_ID`, `VERSION_CODENAME` and `PRETTY_NAME` of os-release; empty if not told."""

    id: str
    version: str
    codename: str
    name: str


def trouble(
    image: str, base_images: Mapping[str, str], platform: str = "", machine: str = os.uname().machine
) -> str | None:
    """Why this machine cannot stand in for a base image; None if it can.

    Args:
        image: as the Dockerfile or task.toml names it.
        base_images: what to put in the place of others, looked at first. A mirror of Docker Hub has the same images under
            other names, so it does not count.
        platform: of `FROM --platform`; empty if none is asked for.
        machine: the architecture, as `uname -m` says it.
    """
    base = substitute(image, {k: v for k, v in base_images.items() if k != DOCKER_HUB})
    if not _plain(base):
        instead = f" (base_images puts {base} in its place)" if base != image else ""
        return f"{image}{instead}: the sandbox has only this machine's own programs"
    system, _, rest = platform.rpartition("linux/")
    if platform and (system or rest.partition("/")[0] != _ARCHITECTURES.get(machine, machine)):
        return f"{image}: the sandbox has only this machine's own programs, which are not for {platform}"
    return None


def note(image: str, release: Release) -> str | None:
    """What to say where `image`, as the task names it, is not known to be of the release that stands in for it."""
    match = _plain(image)
    number = (match["tag"] or "").partition("-")[0] if match else ""
    if match and match["id"] == release.id and number:
        major = number.partition(".")[0] if release.id == "debian" else number  # 12.5 and 12.11 are both Debian 12
        if number == release.codename or major == release.version:
            return None
    return f"{release.name or 'an unknown release'} of this machine stands in for {image}"


def read_release(text: str) -> Release:
    """The content of an os-release file; a file that is broken tells nothing."""
    try:
        pairs = dict(word.split("=", 1) for word in shlex.split(text, comments=True) if "=" in word)
    except ValueError:
        pairs = {}
    return Release(*(pairs.get(key, "") for key in ("ID", "VERSION_ID", "VERSION_CODENAME", "PRETTY_NAME")))


def host_release() -> Release:
    """This machine's own distribution."""
    try:
        return read_release(OS_RELEASE.read_text(errors="replace"))
    except OSError:
        return Release("", "", "", "")


def _plain(image: str) -> re.Match[str] | None:
    return _PLAIN.fullmatch(docker_hub_name(image) or "")
