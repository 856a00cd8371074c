"""Images of the embedded sandbox: what a Dockerfile adds to the plain root file system, as one tar file."""

from __future__ import annotations

import fnmatch
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from termdepth.environments import content, transfer
from termdepth.environments.image import ImageRecord, load_build_seconds, save_build_seconds
from termdepth.environments.sandbox import packages, userland
from termdepth.environments.sandbox.dockerfile import Copy, Recipe, Run, Workdir, parse
from termdepth.environments.sandbox.sandbox import Limits, Sandbox
from termdepth.environments.threads import Cancel
from termdepth.errors import UserError

_FORMAT = "sandbox-image-1"  # change it when the same context would give another image
_RUN_TIMEOUT = 600.0
_SHOWN_LINES = 20


@dataclass(frozen=True)
class Image:
    """A built image: the archive to start a `Sandbox` with, and its environment and working folder."""

    archive: Path
    env: dict[str, str]
    workdir: str
    record: ImageRecord


def check(context: Path, base_images: Mapping[str, str], docker_image: str | None) -> Recipe:
    """Read the Dockerfile of a build context; where there is none, a prebuilt image counts like a FROM of that name.

    Raises:
        UserError: there is neither, or it asks for what the sandbox cannot do.
    """
    path = context / "Dockerfile"
    if path.is_file() or not docker_image:
        return parse(content.read_text(path), str(path), base_images)
    if why := userland.trouble(docker_image, base_images):
        raise UserError(f"docker_image {why}", where=context.parent / "task.toml", hint=userland.HINT)
    return Recipe(docker_image, (), {}, "/")


def build(
    context: Path,
    cache: Path,
    *,
    base_images: Mapping[str, str] | None = None,
    docker_image: str | None = None,
    force: bool = False,
    cancel: Cancel | None = None,
) -> Image:
    """Build the image of a build context, or take it from `cache`.

    Its key is the content of the context and the host's release. Several builders of one image wait for one another.

    Args:
        base_images: base images to put in the place of others, before it is asked whether this machine can stand in for them.
        docker_image: a prebuilt image, used where there is no Dockerfile.

    Raises:
        UserError: a base image that this machine cannot stand in for; a mistake in the Dockerfile, with its line; for a
            failed RUN with its last lines of output.
        SandboxUnavailable: this host cannot start a sandbox.
    """
    recipe = check(context, base_images or {}, docker_image)
    built = (context / "Dockerfile").is_file()
    seeds = (_FORMAT, _host_release())
    key = content.content_key(context, *seeds) if built else content.content_key_of(*seeds)
    folder = cache / "sandbox"
    archive = folder / f"{key}.tar"
    with content.only_one(folder / f"{key}.lock", cancel):
        cached = archive.exists() and not force
        if not cached:
            started = time.monotonic()
            _build(recipe, context, archive, cancel)
            save_build_seconds(folder, key, time.monotonic() - started)
    seconds, note = load_build_seconds(folder, key), userland.note(recipe.base, userland.host_release())
    record = ImageRecord(f"sandbox:{key}", seconds, archive.stat().st_size, cached, note)
    os.utime(archive)  # the last use, for who tidies the cache
    return Image(archive, recipe.env, recipe.workdir, record)


def _host_release() -> str:
    """The host's distribution and version: the base image, as it were."""
    try:
        lines = userland.OS_RELEASE.read_text().splitlines()
    except OSError:
        return "unknown"
    return " ".join(line for line in lines if line.startswith(("ID=", "VERSION_ID=")))


def _build(recipe: Recipe, context: Path, archive: Path, cancel: Cancel | None) -> None:
    with Sandbox(env=recipe.env, limits=Limits(disk_mb=4096)) as box:
        for step in recipe.steps:
            if cancel:
                cancel.check()
            match step:
                case Workdir(path):
                    box.check(["/bin/mkdir", "-p", "--", path], cwd="/")
                case Copy():
                    _copy(box, step, context)
                case Run():
                    _run(box, step, context, cancel)
        fd, name = tempfile.mkstemp(dir=archive.parent, suffix=".tmp")
        try:
            with os.fdopen(fd, "wb") as out:
                box.snapshot(out)
            Path(name).replace(archive)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _run(box: Sandbox, step: Run, context: Path, cancel: Cancel | None) -> None:
    result = box.exec(list(step.argv), cwd=step.cwd, env=step.env, timeout=_RUN_TIMEOUT, cancel=cancel)
    if cancel:
        cancel.check()
    if result.return_code == 0:
        return
    why = f"took more than {_RUN_TIMEOUT:.0f} s" if result.timed_out else f"failed with {result.return_code}"
    lines = (result.stdout + result.stderr).strip().splitlines()[-_SHOWN_LINES:]
    hints = [content.crlf_hint(context), packages.HINT if packages.wanted_packages(step.argv, lines) else None]
    raise UserError(
        f"RUN {why}: " + "\n".join(["", *lines] if lines else ["(no output)"]),
        where=f"{context / 'Dockerfile'}:{step.line}",
        hint="; ".join(filter(None, hints)) or None,
    )


def _copy(box: Sandbox, step: Copy, context: Path) -> None:
    where = f"{context / 'Dockerfile'}:{step.line}"
    known = content.context_files(context)
    uid, gid = _owner(box, step.chown, where)
    found = [source for pattern in step.sources for source in _matches(pattern, context, known, where)]
    if len(found) > 1 and not step.target.endswith("/"):
        raise UserError("COPY of several files needs a target that ends in /", where=where)
    for source in found:
        name = source.relative_to(context).as_posix()
        if source.is_dir() and not source.is_symlink():
            prefix = "" if name == "." else name + "/"
            wanted = {k for k in known if k.startswith(prefix)}
            folders = {str(p) for k in wanted for p in PurePosixPath(k).parents}

            def skip(inner: str, prefix: str = prefix, keep: set[str] = wanted | folders) -> bool:
                return prefix + inner not in keep

            box.put(transfer.pack_dir(source, step.target, skip=skip, mode=step.chmod, uid=uid, gid=gid))
            continue
        into = step.target.endswith("/") or box.exec(["/usr/bin/test", "-d", step.target], cwd="/").return_code == 0
        target = f"{step.target.rstrip('/')}/{source.name}" if into else step.target
        box.put(transfer.pack_file(source, target, mode=step.chmod, uid=uid, gid=gid))


def _matches(pattern: str, context: Path, known: list[str], where: str) -> list[Path]:
    """What a COPY source stands for, among the files that `.dockerignore` leaves."""
    plain = PurePosixPath("/", pattern).relative_to("/").as_posix()
    if ".." in PurePosixPath(plain).parts:
        raise UserError(f"COPY {pattern} leaves the build context", where=where)
    if plain == ".":
        return [context]
    names = {*known, *(str(p) for k in known for p in PurePosixPath(k).parents)} - {"."}
    found = sorted(n for n in names if n == plain or _glob(n, plain))
    if not found:
        raise UserError(f"COPY {pattern}: no such file in the build context", where=where)
    return [context / name for name in found]


def _glob(name: str, pattern: str) -> bool:
    """Shell patterns that do not cross a slash."""
    a, b = name.split("/"), pattern.split("/")
    return len(a) == len(b) and all(fnmatch.fnmatchcase(x, y) for x, y in zip(a, b, strict=True))


def _owner(box: Sandbox, chown: str | None, where: str) -> tuple[int, int]:
    """uid and gid of `--chown=user[:group]`, names looked up inside."""
    if not chown:
        return 0, 0
    user, _, group = chown.partition(":")
    ids = []
    for flag, name in (("-u", user), ("-g", group or user)):
        if name.isdigit():
            ids.append(int(name))
            continue
        script = 'grep -m1 "^$1:" /etc/group | cut -d: -f3' if flag == "-g" and group else f'id {flag} -- "$1"'
        answer = box.exec(["/bin/bash", "-c", script, "-", name], cwd="/").stdout.strip()
        if not answer.isdigit():
            raise UserError(f"COPY --chown={chown}: unknown {name}", where=where)
        ids.append(int(answer))
    return ids[0], ids[1]
