"""Reading a Dockerfile: its instructions with their line numbers, words with variables, and base images replaced.

Pure. Used by the embedded sandbox (a subset is run) and by the Docker backend (only FROM matters there).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from termdepth.errors import UserError

_HEREDOC = re.compile(r"<<-?\s*([\"']?)(\w+)\1")
_DIRECTIVE = re.compile(r"#\s*(\w+)\s*=\s*(\S+)\s*$")
_NAME = re.compile(r"\w+")
_STAGE = re.compile(r"(?P<flags>(?:--\S+\s+)*)(?P<image>\S+)(?:\s+as\s+(?P<name>\S+))?\s*$", re.IGNORECASE)
_COPY_FROM = re.compile(r"(--from=)(\S+)")


@dataclass(frozen=True)
class Instruction:
    """One instruction. `rest` has its continuation lines joined; lines count from 1, `last` is inclusive."""

    op: str
    rest: str
    line: int
    last: int
    heredoc: bool = False


def instructions(text: str) -> Iterator[Instruction]:
    """Split a Dockerfile into instructions, as Docker does: comments and blank lines may stand inside one.

    Windows line ends are accepted. Bodies of here-documents belong to their instruction.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    escape = _escape_character(lines)
    continued = re.compile(re.escape(escape) + r"[ \t]*$")
    i = 0
    while i < len(lines):
        if not lines[i].strip() or lines[i].lstrip().startswith("#"):
            i += 1
            continue
        start, joined = i, ""
        while i < len(lines):
            line = lines[i]
            i += 1
            if joined and (not line.strip() or line.lstrip().startswith("#")):
                continue
            more = continued.search(line)
            joined += line[: more.start()] if more else line
            if not more:
                break
        op, rest = [*joined.split(None, 1), ""][:2]
        op, rest = op.upper(), rest.strip()
        ends = [m[2] for m in _HEREDOC.finditer(rest)] if op in ("RUN", "COPY", "ADD") else []
        for end in ends:
            while i < len(lines) and lines[i].strip() != end:
                i += 1
            i += 1
        yield Instruction(op, rest, start + 1, min(i, len(lines)), bool(ends))


def _escape_character(lines: list[str]) -> str:
    """Parser directives are comments of the form `# name=value` before anything else."""
    for line in lines:
        directive = _DIRECTIVE.match(line.strip())
        if not directive:
            break
        if directive[1].lower() == "escape":
            return directive[2]
    return "\\"


def expand(text: str, env: Mapping[str, str]) -> str:
    """Replace variables and take away one level of quotes, without splitting at blanks."""
    return " ".join(words(text, env, split=False))


def words(text: str, env: Mapping[str, str], *, split: bool = True) -> list[str]:
    """Split at blanks and expand `$NAME`, `${NAME}`, `${NAME:-alt}` and `${NAME:+alt}`; single quotes protect."""
    found: list[str] = []
    word, quote, i = None, "", 0
    while i < len(text):
        c = text[i]
        if c == "\\" and quote != "'" and i + 1 < len(text) and (not quote or text[i + 1] in '"$\\'):
            word, i = (word or "") + text[i + 1], i + 2
        elif c in "'\"" and quote in ("", c):
            word, quote, i = word or "", "" if quote else c, i + 1
        elif c == "$" and quote != "'":
            value, i = _variable(text, i, env)
            word = (word or "") + value
        elif c.isspace() and not quote and split:
            if word is not None:
                found.append(word)
            word, i = None, i + 1
        else:
            word, i = (word or "") + c, i + 1
    return [*found, word] if word is not None else found


def _variable(text: str, i: int, env: Mapping[str, str]) -> tuple[str, int]:
    """The value of the variable at text[i] == '$', and the index after it."""
    if text.startswith("${", i):
        end = text.find("}", i)
        inner = text[i + 2 : end] if end > 0 else ""
        name = _NAME.match(inner)
        if name:
            value, tail = env.get(name[0], ""), inner[name.end() :]
            if tail.startswith(":-"):
                value = value or expand(tail[2:], env)
            elif tail.startswith(":+"):
                value = expand(tail[2:], env) if value else ""
            return value, end + 1
    else:
        name = _NAME.match(text, i + 1)
        if name:
            return env.get(name[0], ""), name.end()
    return "$", i + 1


@dataclass(frozen=True)
class Base:
    """What a FROM names, variables replaced. `flags` ends in a blank unless it is empty; `stage` is empty if it has no name."""

    image: str
    flags: str
    stage: str

    @property
    def platform(self) -> str:
        """Of `--platform`; empty if there is none."""
        return next((f.partition("=")[2] for f in self.flags.split() if f.startswith("--platform=")), "")


def read_from(item: Instruction, args: Mapping[str, str], where: str) -> Base:
    """Read a FROM.

    Args:
        args: the ARG that stand before the first FROM.

    Raises:
        UserError: it cannot be read.
    """
    match = _STAGE.match(item.rest)
    if not match:
        raise UserError("FROM cannot be read", where=f"{where}:{item.line}")
    image = expand(match["image"], args)
    if not image:
        raise UserError(f"FROM names no image: {match['image']} is empty", where=f"{where}:{item.line}")
    return Base(image, expand(match["flags"], args), match["name"] or "")


def replace_base_images(text: str, mapping: Mapping[str, str], where: str) -> tuple[str, list[str]]:
    """The Dockerfile with base images replaced as `mapping` says, and the outside images it then needs, in order.

    `mapping` goes from an image as the Dockerfile names it (`ubuntu:24.04`; `ubuntu` also finds `ubuntu:latest`) to
    another. Stage names and `scratch` stay. `COPY --from=IMAGE` counts as well.

    Raises:
        UserError: there is no FROM, or one that cannot be read.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    args: dict[str, str] = {}
    stages: set[str] = set()
    images: list[str] = []
    seen_from = False
    for item in instructions(text):
        if item.op == "ARG" and not seen_from:
            for word in words(item.rest, args):
                name, _, value = word.partition("=")
                args[name] = value
        elif item.op == "FROM":
            seen_from = True
            base = read_from(item, args, where)
            image = base.image
            if image.lower() not in stages and image != "scratch":
                image = substitute(image, mapping)
                images.append(image)
            named = f" AS {base.stage}" if base.stage else ""
            if base.stage:
                stages.add(base.stage.lower())
            lines[item.line - 1] = f"FROM {base.flags}{image}{named}"
            lines[item.line : item.last] = [""] * (item.last - item.line)
        elif item.op == "COPY" and (source := _COPY_FROM.search(item.rest)):
            image = source[2]
            if image.lower() in stages or image.isdigit():
                continue
            image = substitute(image, mapping)
            images.append(image)
            for n in range(item.line - 1, item.last):
                lines[n] = _COPY_FROM.sub(lambda m, image=image: m[1] + image, lines[n], count=1)  # type: ignore[misc]
    if not seen_from:
        raise UserError("no FROM in this Dockerfile", where=where)
    return "\n".join(lines) + "\n", list(dict.fromkeys(images))


DOCKER_HUB = "docker.io/*"
"""Key of a mapping of base images for all of Docker Hub; its value is the mirror's address."""


def substitute(image: str, mapping: Mapping[str, str]) -> str:
    """`image`, or what `mapping` puts in its place; a missing tag means `latest` on both sides.

    With the key `DOCKER_HUB`, an image of Docker Hub that has no entry of its own comes from that mirror, by its full name
    (`ubuntu:24.04` is `library/ubuntu:24.04`).
    """
    for name in (image, image.removesuffix(":latest"), f"{image}:latest"):
        if name in mapping:
            return mapping[name]
    mirror, path = mapping.get(DOCKER_HUB), docker_hub_name(image)
    return f"{mirror.rstrip('/')}/{path}" if mirror and path else image


def docker_hub_name(image: str) -> str | None:
    """The full name of an image on Docker Hub; None if it lies elsewhere."""
    host, slash, rest = image.partition("/")
    if host in ("docker.io", "index.docker.io", "registry-1.docker.io") and slash:
        image = rest
    elif slash and (host == "localhost" or "." in host or ":" in host):
        return None
    return image if "/" in image else f"library/{image}"
