"""Write a task of several segments as a Harbor task of one: same environment, same work, one instruction (App. H)."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from termdepth.merge.checks import Checks
from termdepth.tasks.digest import content_digest
from termdepth.tasks.reading import Segment, TaskInfo

_HERE = Path(__file__).parent
_OPENING = "The task has {k} parts. All of them are to be done, in this order; what counts is the state at the end."


def merged_instruction(instructions: Sequence[str]) -> str:
    """The requirements of all segments, in their order, as one instruction."""
    parts = [f"## Part {s}\n\n{text.strip()}" for s, text in enumerate(instructions, start=1)]
    return "\n\n".join([_OPENING.format(k=len(instructions)), *parts]) + "\n"


def why_not_mergeable(info: TaskInfo) -> str | None:
    """What of a task cannot be said in a task of one segment, or None. Pure."""
    from harbor.models.task.config import VerifierEnvironmentMode
    from harbor.models.task.verifier_mode import resolve_step_verifier_mode

    config = info.config
    steps = config.steps or []
    if len(steps) < 2:
        return "it has one segment"
    if not info.has_solution:
        return "a segment has no reference solution"
    if info.os != "linux":
        return f"its containers run {info.os}"
    for step in steps:
        folder = info.path / "steps" / step.name
        if (folder / "workdir").exists():
            return f"{step.name} brings files of its own (workdir), which would be there from the start"
        if step.healthcheck is not None:
            return f"{step.name} has a health check of its own"
        if resolve_step_verifier_mode(config, step) != VerifierEnvironmentMode.SHARED:
            return f"{step.name} is verified in a container of its own"
    for role in ("agent", "verifier"):
        users = {str(_own(getattr(step, role).user, getattr(config, role).user)) for step in steps}
        if len(users) > 1:
            return f"its segments have several users for the {role}"
    env: dict[str, str] = {}
    for step in steps:
        for key, value in step.verifier.env.items():
            if env.setdefault(key, value) != value:
                return f"its segments set {key} to several values for the verifier"
    return None


def _own(value: Any, shared: Any) -> Any:
    return value if value is not None else shared


def build(info: TaskInfo, target: Path, checks: Sequence[Checks] | None = None) -> str:
    """Write the merged task to `target`, whole or not at all, and return its content digest.

    Args:
        info: a task for which `why_not_mergeable` says None.
        checks: of each segment, with those that are dropped; None: all are kept.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    tmp = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        _write(info, tmp, checks or [Checks() for _ in info.segments])
        tmp.chmod(0o755)
        digest = content_digest(tmp)
        shutil.rmtree(target, ignore_errors=True)
        tmp.rename(target)
    except BaseException:
        with suppress(OSError):
            shutil.rmtree(tmp)
        raise
    return digest


def _write(info: TaskInfo, target: Path, checks: Sequence[Checks]) -> None:
    (target / "task.toml").write_text(_config(info).model_dump_toml(), encoding="utf-8")
    (target / "instruction.md").write_text(
        merged_instruction([s.instruction() for s in info.segments]), encoding="utf-8"
    )
    if (info.path / "environment").is_dir():
        shutil.copytree(info.path / "environment", target / "environment", symlinks=True)
    for kind, script in (("solution", "solve.sh"), ("tests", "test.sh")):
        (target / kind).mkdir()
        shutil.copyfile(_HERE / script, target / kind / script)
        (target / kind / script).chmod(0o755)
    for s, segment in enumerate(info.segments, start=1):
        _solution(info, segment, target / "solution" / f"segment-{s}")
    place = 0
    for segment, own in zip(info.segments, checks, strict=True):
        if own.left_out:  # the scripts count without a gap
            continue
        place += 1
        _tests(info, segment, own, target / "tests" / f"segment-{place}")


def _config(info: TaskInfo) -> Any:
    config = info.config.model_copy(deep=True)
    steps = config.steps or []
    config.steps = None
    config.multi_step_reward_strategy = None
    config.agent.timeout_sec = info.timeout_sec
    config.agent.user = _own(steps[0].agent.user, config.agent.user)
    config.verifier.user = _own(steps[0].verifier.user, config.verifier.user)
    config.verifier.timeout_sec = sum(step.verifier.timeout_sec for step in steps)
    for step in steps:
        config.verifier.env |= step.verifier.env
    config.metadata = {**config.metadata, "merged_segments": [step.name for step in steps]}
    if config.task is not None:
        config.task.name = f"{config.task.name}-merged"
    return config


def _solution(info: TaskInfo, segment: Segment, target: Path) -> None:
    assert segment.solution is not None
    shutil.copytree(segment.solution.parent, target, symlinks=True)
    (target / segment.solution.name).chmod(0o755)


def _tests(info: TaskInfo, segment: Segment, checks: Checks, target: Path) -> None:
    """The tests as Harbor puts them together: the task's shared ones, then the segment's own over them."""
    for source in (info.path / "tests", info.path / "steps" / segment.name / "tests"):
        if source.is_dir():
            shutil.copytree(source, target / "tests", symlinks=True, dirs_exist_ok=True)
    if checks.dropped:
        for name, listed in (("kept", checks.kept), ("dropped", checks.dropped)):
            (target / name).write_text("".join(f"{check}\n" for check in listed), encoding="utf-8")
