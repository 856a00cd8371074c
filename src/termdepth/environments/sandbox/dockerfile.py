"""The part of the Dockerfile language that the embedded sandbox runs. Pure.

FROM is a plain Debian or Ubuntu, for which the host's own `/usr` stands in (see `userland`); ENV, ARG, WORKDIR, COPY and RUN
(without network) are run; what only describes how a container is started is ignored; everything else is refused by file and
line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from termdepth.environments.dockerfile import Instruction, expand, instructions, read_from, words
from termdepth.environments.sandbox import userland
from termdepth.errors import UserError

_IGNORED = {"USER", "CMD", "ENTRYPOINT", "EXPOSE", "LABEL", "MAINTAINER", "STOPSIGNAL", "HEALTHCHECK", "VOLUME"}
_FLAG = re.compile(r"--([\w-]+)(?:=(\S+))?\s+")


@dataclass(frozen=True)
class Workdir:
    """Create this absolute folder."""

    path: str


@dataclass(frozen=True)
class Copy:
    """Copy `sources` (patterns below the build context) to the absolute path `target`."""

    sources: tuple[str, ...]
    target: str
    chown: str | None
    chmod: int | None
    line: int

    @property
    def into_folder(self) -> bool:
        """Whether `target` is a folder whatever is there."""
        return self.target.endswith("/") or len(self.sources) > 1


@dataclass(frozen=True)
class Run:
    """Run `argv` in `cwd` with `env`."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    line: int


@dataclass(frozen=True)
class Recipe:
    """What a Dockerfile asks for: its base image as it names it, the steps, and the environment and working folder of every
    later command."""

    base: str

    steps: tuple[Workdir | Copy | Run, ...]
    env: dict[str, str]
    workdir: str


def parse(text: str, where: str, base_images: Mapping[str, str] | None = None) -> Recipe:
    """Read a Dockerfile.

    Args:
        text: its content.
        where: its path, for error messages.
        base_images: base images to put in the place of others.

    Raises:
        UserError: a base image that this machine cannot stand in for, or an instruction or a flag outside the subset, with
            its line.
    """
    steps: list[Workdir | Copy | Run] = []
    env: dict[str, str] = {}
    args: dict[str, str] = {}
    cwd, shell, base = "/", ["/bin/sh", "-c"], ""

    def refuse(item: Instruction, what: str) -> UserError:
        return UserError(
            f"{what} is not supported by the embedded sandbox", where=f"{where}:{item.line}", hint="use backend: docker"
        )

    for item in instructions(text):
        known = {**args, **env}
        if item.heredoc:
            raise refuse(item, "a here-document")
        match item.op:
            case "FROM":
                if base:
                    raise refuse(item, "a second FROM (multi-stage build)")
                named = read_from(item, args, where)
                base = named.image
                if why := userland.trouble(base, base_images or {}, named.platform):
                    raise UserError(f"FROM {why}", where=f"{where}:{item.line}", hint=userland.HINT)
            case "ENV":
                env.update(_env(item, known, where))
            case "ARG":
                for word in words(item.rest, known):
                    name, given, value = word.partition("=")
                    if given or name not in args:
                        args[name] = value
            case "WORKDIR":
                cwd = str(PurePosixPath(cwd) / expand(item.rest, known))
                steps.append(Workdir(cwd))
            case "SHELL":
                shell = _json_list(item, where)
            case "COPY":
                steps.append(_copy(item, known, cwd, where, refuse))
            case "RUN":
                if item.rest.startswith("--"):
                    raise refuse(item, f"RUN {item.rest.split()[0]}")
                argv = _json_list(item, where) if item.rest.startswith("[") else [*shell, item.rest]
                steps.append(Run(tuple(argv), cwd, known, item.line))
            case op if op not in _IGNORED:
                raise refuse(item, op)
    if not base:
        raise UserError("no FROM in this Dockerfile", where=where)
    return Recipe(base, tuple(steps), env, cwd)


def _env(item: Instruction, known: dict[str, str], where: str) -> dict[str, str]:
    """`ENV a=1 b=2`, or the old `ENV a the rest of the line`."""
    pairs = words(item.rest, known)
    if pairs and all("=" in p for p in pairs):
        return dict(p.split("=", 1) for p in pairs)
    name, _, value = item.rest.partition(" ")
    if not value.strip() or "=" in name:
        raise UserError("ENV needs NAME=VALUE", where=f"{where}:{item.line}")
    return {name: expand(value.strip(), known)}


def _copy(
    item: Instruction,
    known: dict[str, str],
    cwd: str,
    where: str,
    refuse: Callable[[Instruction, str], UserError],
) -> Copy:
    rest, chown, chmod = item.rest, None, None
    while flag := _FLAG.match(rest):
        rest = rest[flag.end() :]
        match flag[1]:
            case "chown":
                chown = expand(flag[2] or "", known)
            case "chmod":
                if not re.fullmatch(r"0?[0-7]{3,4}", flag[2] or ""):
                    raise refuse(item, f"COPY --chmod={flag[2]}")
                chmod = int(flag[2], 8)
            case "link":
                pass
            case name:
                raise refuse(item, f"COPY --{name}")
    given = [expand(w, known) for w in _json_list(item, where, rest)] if rest.startswith("[") else words(rest, known)
    if len(given) < 2:
        raise UserError("COPY needs a source and a target", where=f"{where}:{item.line}")
    *sources, target = given
    full = str(PurePosixPath(cwd) / target) + ("/" if target.endswith(("/", "/.")) or target in (".", "..") else "")
    return Copy(tuple(sources), full if full != "//" else "/", chown, chmod, item.line)


def _json_list(item: Instruction, where: str, text: str | None = None) -> list[str]:
    try:
        value = json.loads(item.rest if text is None else text)
    except ValueError:
        value = None
    if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
        raise UserError(f"{item.op} needs a JSON list of strings", where=f"{where}:{item.line}")
    return value
