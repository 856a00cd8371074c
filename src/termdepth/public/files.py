"""Finding and reading result files in a folder of somebody else's runs: no link is followed out of it, nothing is too large."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import from_json

from termdepth.errors import UserError

HARBOR_RESULT, TB_RESULTS, TB_RUN = "result.json", "results.json", "run_metadata.json"
RESULT_FILES = (HARBOR_RESULT, TB_RESULTS)
LARGEST = 50_000_000
"""Bytes of the largest file that is read."""

# Folders inside a trial. Agents write into them, and could leave a result of their own there.
_INSIDE_TRIALS = frozenset(
    (
        *("agent", "user-agent", "verifier", "artifacts", "steps"),  # Harbor
        *("agent-logs", "sessions", "panes"),  # terminal-bench
    )
)

NO_MODEL = ("oracle", "nop")
"""Agents of both harnesses that try nothing out: their trials say nothing about a model."""

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True)
class ResultFiles:
    """Attributes: root, the folder that was searched; paths, the files, those deepest in it first: what a trial says of itself
    comes before what its job or run says of it; unfinished, folders of trials without a result."""

    root: Path
    paths: list[Path]
    unfinished: int

    def named(self, name: str) -> list[Path]:
        """Those of one name."""
        return [path for path in self.paths if path.name == name]


def find_results(root: Path) -> ResultFiles:
    """The files of results in `root` and below, but for those inside a trial, in hidden folders or behind linked folders.

    Raises:
        UserError: a folder cannot be read.
    """
    paths: list[str] = []
    unfinished, waiting = 0, [os.fspath(root)]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as found:
                entries = list(found)
        except OSError as error:
            raise UserError(f"cannot read the folder: {error.strerror}", where=folder) from error
        results = inside = False
        for entry in entries:
            if entry.name in (*RESULT_FILES, TB_RUN):
                if entry.is_file():
                    paths.append(entry.path)
                    results = True
            elif entry.is_dir(follow_symlinks=False):
                if entry.name in _INSIDE_TRIALS:
                    inside = inside or entry.name != "steps"  # tasks have that one too
                elif not entry.name.startswith("."):
                    waiting.append(entry.path)
        unfinished += inside and not results
    return ResultFiles(root, [Path(p) for p in sorted(paths, key=lambda p: (-p.count(os.sep), p))], unfinished)


def read_json(path: Path, root: Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        UserError: it cannot be read, is a link that leaves `root`, is larger than LARGEST, or is no JSON object.
    """
    try:
        if path.is_symlink() and leaves(path, root):
            raise UserError(
                "a link that leaves the folder is not followed", where=path, hint="put the file itself there"
            )
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise UserError(f"cannot read the file: {error.strerror}", where=path) from error
    if len(content) > LARGEST:
        raise UserError(f"larger than {LARGEST // 10**6} MB", where=path, hint="remove what is not a result from it")
    try:
        value = from_json(content)
    except ValueError as error:
        raise UserError(f"not JSON: {error}", where=path, hint="remove it if its trial was killed") from None
    if not isinstance(value, dict):
        raise UserError("not a JSON object", where=path)
    return value


def leaves(path: Path, root: Path) -> bool:
    """Whether links lead from a path below `root` out of it."""
    return not path.resolve().is_relative_to(root.resolve())


def checked[M: BaseModel](model: type[M], value: Any, path: Path) -> M:
    """The value as the model has it.

    Raises:
        UserError: it is not so; names the file and the first key that is wrong.
    """
    try:
        return model.model_validate(value)
    except ValidationError as errors:
        first = errors.errors(include_url=False, include_input=False, include_context=False)[0]
        key = ascii(".".join(map(str, first["loc"])))[1:-1]
        raise UserError(f"{key[:200]}: {first['msg']}", where=path) from None
