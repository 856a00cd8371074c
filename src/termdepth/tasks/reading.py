"""Harbor task folders as the world has them: found, parsed, and never silently dropped.

`find_tasks` lists every folder that is a task or looks like one; `read_task` says what is in it, or why it cannot be
used. One bad task is a `TaskProblem`, never an exception: tasks found = rows in the table (paper, App. C).
"""

from __future__ import annotations

import os
import re
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from termdepth.errors import UserError
from termdepth.tasks.digest import UnsafeTree, content_digest

if TYPE_CHECKING:
    from harbor.models.task.config import TaskConfig

CONFIG_NAME = "task.toml"
OLD_CONFIG_NAME = "task.yaml"
SINGLE_SEGMENT = "main"
"""Name of the only segment of a task without `[[steps]]`."""

_COMPOSE_NAME = "docker-compose.yaml"
_OTHER_COMPOSE_NAMES = ("docker-compose.yml", "compose.yaml", "compose.yml")
_NEVER_TASKS = {"node_modules", "__pycache__", "venv"}
_CANARY = re.compile(r"\s*(<!--.*canary.*-->|#.*canary.*)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class FoundTask:
    """A folder that is a task or looks like one. `task` is its path below the dataset root, with forward slashes."""

    task: str
    path: Path


@dataclass(frozen=True)
class TaskProblem:
    """Why a found task cannot be used. `reason` names the file, and the line where there is one."""

    task: str
    path: Path
    reason: str


@dataclass(frozen=True)
class Segment:
    """One segment: a step of a multi-step task, or the whole of a single-step one (then named `SINGLE_SEGMENT`).

    Attributes:
        name: name of the step.
        instruction_path: its instruction.md.
        instruction_words: words of the instruction, split at white space, without leading canary lines.
        solution: script of the reference solution, None if there is none. Segments may share the task's script.
        tests: script of the verifier, None if its own image brings it.
    """

    name: str
    instruction_path: Path
    instruction_words: int
    solution: Path | None
    tests: Path | None

    def instruction(self) -> str:
        """Text of the instruction without leading canary lines; bytes that are not UTF-8 are replaced."""
        return _instruction_text(self.instruction_path)


@dataclass(frozen=True)
class TaskInfo:
    """What a task folder says.

    Attributes:
        task: path of the folder below the dataset root, with forward slashes; the root's own name if it is the task.
        path: the folder.
        segments: at least one, in order.
        timeout_sec: agent time limit that the task sets, over all segments; None if it sets none.
        network: `no-network`, `public` or `allowlist` if task.toml says so, else None.
        os: `linux` or `windows`.
        docker_image: prebuilt image, None if the image is built.
        dockerfile: environment/Dockerfile, None if there is none.
        compose_file: environment/docker-compose.yaml (another compose name only without a Dockerfile), else None.
        compose_services: names of its services.
        memory_mb: memory limit in MiB, None if not set.
        metadata: the [metadata] table as it stands.
        digest: SHA-256 of the folder's content.
        config: Harbor's parsed task.toml.
    """

    task: str
    path: Path
    segments: tuple[Segment, ...]
    timeout_sec: float | None
    network: str | None
    os: str
    docker_image: str | None
    dockerfile: Path | None
    compose_file: Path | None
    compose_services: tuple[str, ...]
    memory_mb: int | None
    metadata: Mapping[str, Any]
    digest: str
    config: TaskConfig = field(repr=False, compare=False)

    @property
    def n_segments(self) -> int:
        return len(self.segments)

    @property
    def instruction_words(self) -> int:
        """Words of all instructions together."""
        return sum(segment.instruction_words for segment in self.segments)

    @property
    def has_solution(self) -> bool:
        """Every segment has a reference solution."""
        return all(segment.solution is not None for segment in self.segments)


def find_tasks(root: Path) -> list[FoundTask]:
    """Task folders under `root`, sorted by name. `root` may itself be one task; datasets may be nested.

    A folder is a task if it has a task.toml, or the task.yaml of the older Terminal-Bench format. A folder with an
    instruction.md, or with environment/ and tests/ or solution/, looks like a task whose task.toml is missing and is
    listed too. Nothing is looked for inside a task. Hidden folders are passed over. A symbolic link to a folder is
    followed only to say what is wrong with it: one that leaves `root` is listed, and `read_task` refuses it.

    Raises:
        UserError: `root` is not a folder.
    """
    if not root.is_dir():
        raise UserError("no such folder of tasks", where=root, hint="give a task folder or a folder of task folders")
    return sorted(_in_folder(root, root), key=lambda found: found.task)


def _in_folder(folder: Path, root: Path) -> Iterator[FoundTask]:
    """`folder` if it is a task, else the tasks below it."""
    try:
        with os.scandir(folder) as listing:
            children = list(listing)
    except OSError:
        # It may be a task: `read_task` will say why it cannot be read.
        yield FoundTask(_task_name(folder, root), folder)
        return
    names = {child.name for child in children}
    if names & {CONFIG_NAME, OLD_CONFIG_NAME, "instruction.md"}:
        yield FoundTask(_task_name(folder, root), folder)
        return
    # A dataset's own repository may have tests/ and environment/ beside its tasks.
    parts = names & {"environment", "tests", "solution"} if "environment" in names else set()
    found = False
    for child in children:
        if child.name.startswith(".") or child.name in _NEVER_TASKS | parts or not child.is_dir():
            continue
        path = Path(child.path)
        if not child.is_symlink():
            below = _in_folder(path, root)
        elif not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
            below = iter([FoundTask(_task_name(path, root), path)])
        else:
            continue  # a link inside the dataset: its target is found under its own name
        for task in below:
            found = True
            yield task
    if len(parts) > 1 and not found:
        yield FoundTask(_task_name(folder, root), folder)


def read_task(path: Path, root: Path) -> TaskInfo | TaskProblem:
    """Read one task folder of the dataset at `root`. Never raises for what is wrong with the task itself."""
    task = _task_name(path, root)
    try:
        return _read(task, path, root)
    except _Unusable as problem:
        return TaskProblem(task, path, str(problem))
    except UnsafeTree as problem:
        return TaskProblem(task, path, printable(str(problem)))
    except OSError as problem:
        where = Path(problem.filename).name if problem.filename else path.name
        return TaskProblem(task, path, printable(f"{where}: {problem.strerror or problem}"))


class _Unusable(Exception):
    """A reason why the task cannot be used."""


def _task_name(path: Path, root: Path) -> str:
    relative = Path(os.path.relpath(path, root)).as_posix()
    return printable(path.resolve().name if relative == "." else relative)


def printable(name: str) -> str:
    """A file name as text that can be written: bytes that are not UTF-8 as backslash escapes."""
    return os.fsencode(name).decode("utf-8", errors="backslashreplace")


def _read(task: str, path: Path, root: Path) -> TaskInfo:
    if path != root and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise _Unusable("the task folder is a symbolic link that leaves the dataset")
    config_path = path / CONFIG_NAME
    if not config_path.is_file():
        if (path / OLD_CONFIG_NAME).is_file():
            raise _Unusable(f"{OLD_CONFIG_NAME}: the older Terminal-Bench format; convert the task to Harbor's first")
        if config_path.is_symlink() or config_path.exists():
            raise _Unusable(f"{CONFIG_NAME} is not a file")
        raise _Unusable(f"{CONFIG_NAME} is missing")
    # First of all reads: nothing behind a link that leaves the folder may be opened.
    digest = content_digest(path)
    config, stated = _parse_config(config_path)
    segments = _segments(path, config)
    environment = config.environment
    env_dir = path / "environment"
    dockerfile = env_dir / "Dockerfile"
    buildable = environment.docker_image or dockerfile.is_file()
    # Beside a Dockerfile, Harbor takes a compose file of another name for a file of the task, and so do we.
    names = (_COMPOSE_NAME,) if buildable else (_COMPOSE_NAME, *_OTHER_COMPOSE_NAMES)
    compose_file = _first_file(*(env_dir / name for name in names))
    if not (buildable or compose_file):
        raise _Unusable("environment/Dockerfile is missing, and task.toml names no docker_image")
    return TaskInfo(
        task=task,
        path=path,
        segments=segments,
        timeout_sec=_timeout(config),
        network=environment.network_mode.value if stated else None,
        os=environment.os.value,
        docker_image=environment.docker_image,
        dockerfile=dockerfile if dockerfile.is_file() else None,
        compose_file=compose_file,
        compose_services=_compose_services(compose_file) if compose_file else (),
        memory_mb=environment.memory_mb,
        metadata=config.metadata,
        digest=digest,
        config=config,
    )


def _parse_config(path: Path) -> tuple[TaskConfig, bool]:
    """Harbor's task configuration, and whether the file states the network of the environment."""
    # Lazy: 0.2 s that a caller who only lists folders need not pay.
    from harbor.models.task.config import TaskConfig
    from pydantic import ValidationError

    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise _Unusable(f"{path.name}, line {line}: not UTF-8 text") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _Unusable(f"{path.name}{_toml_position(str(error), text)}") from None
    environment = data.get("environment")
    stated = isinstance(environment, dict) and any(
        environment.get(key) is not None for key in ("network_mode", "allow_internet", "allowed_hosts")
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # released tasks are used as they are
            return TaskConfig.model_validate(data), stated
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise _Unusable(f"{path.name}, {key}: {first['msg']}") from None
    except (ValueError, TypeError, AttributeError) as error:  # Harbor's own migrations of legacy fields
        raise _Unusable(f"{path.name}: {error}") from None


def _toml_position(message: str, text: str) -> str:
    match = re.search(r"^(.*?) \(at (?:line (\d+), column (\d+)|end of document)\)$", message, re.DOTALL)
    if not match:
        return f": {message}"
    problem, line = match[1], match[2] or str(text.count("\n") + (not text.endswith("\n")))
    return f", line {line}: {problem}"


def _timeout(config: TaskConfig) -> float | None:
    """The task's limit, else the sum of its steps' limits where every step sets one (Harbor's limits are per step)."""
    steps = [step.agent.timeout_sec for step in config.steps or []]
    stated = [limit for limit in steps if limit is not None]
    if steps and len(stated) == len(steps):
        return float(sum(stated))
    limit: float | None = config.agent.timeout_sec
    return limit


def _segments(path: Path, config: TaskConfig) -> tuple[Segment, ...]:
    if not config.steps:
        return (_segment(path, path, SINGLE_SEGMENT, "", config),)
    segments = []
    for step in config.steps:
        folder = path / "steps" / step.name
        if not folder.is_dir():
            raise _Unusable(f"steps/{step.name}: the folder of this step is missing")
        segments.append(_segment(path, folder, step.name, f"steps/{step.name}/", config))
    return tuple(segments)


def _segment(task_dir: Path, folder: Path, name: str, where: str, config: TaskConfig) -> Segment:
    suffix = "bat" if config.environment.os.value == "windows" else "sh"
    instruction = folder / "instruction.md"
    if not instruction.is_file():
        raise _Unusable(f"{where}instruction.md is missing")
    tests = _first_file(folder / "tests" / f"test.{suffix}", task_dir / "tests" / f"test.{suffix}")
    if tests is None and not _verifier_brings_tests(task_dir, folder, config):
        raise _Unusable(f"{where}tests/test.{suffix} is missing")
    # Harbor's oracle uses the task's script for a step without a solution folder.
    own = folder / "solution"
    solution = _first_file((own if own.is_dir() else task_dir / "solution") / f"solve.{suffix}")
    words = len(_instruction_text(instruction).split())
    return Segment(name, instruction, words, solution, tests)


def _verifier_brings_tests(task_dir: Path, folder: Path, config: TaskConfig) -> bool:
    """A separate verifier with an image of its own may hold the tests."""
    separate = config.verifier.environment is not None or any(
        step.verifier.environment is not None for step in config.steps or []
    )
    return separate or any(
        (place / "tests" / name).is_file()
        for place in (task_dir, folder)
        for name in ("Dockerfile", "docker-compose.yaml")
    )


def _first_file(*candidates: Path) -> Path | None:
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _instruction_text(path: Path) -> str:
    """Harbor does not show leading canary lines to the agent; so they are no words of the instruction."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    first = next((i for i, line in enumerate(lines) if not _CANARY.fullmatch(line)), len(lines))
    text = "".join(lines[first:])
    return text.lstrip() if first else text


def _compose_services(path: Path) -> tuple[str, ...]:
    try:
        document = yaml.safe_load(path.read_bytes())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise _Unusable(f"environment/{path.name}{line}: not valid YAML") from None
    services = document.get("services") if isinstance(document, dict) else None
    if not isinstance(services, dict):
        raise _Unusable(f"environment/{path.name}: no services")
    return tuple(str(name) for name in services)
