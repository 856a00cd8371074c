"""Play one branch in a fresh container: run scripts of the reference solution and checks, each as in a trial.

Harbor's Trial verifies after every segment and stops at the first that fails; here the order is another, so its public
parts are put together anew: the environment, the verifier, and what its oracle agent does.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from termdepth.errors import UserError
from termdepth.harness.record import reward_of
from termdepth.harness.redact import redact
from termdepth.replay.changes import Look, Work

WORK_SECONDS = 1800.0  # longest a script of the reference solution may take
LOG_CHARACTERS = 100_000  # kept of what a script printed: the end of it
_LOGGER = logging.getLogger("termdepth.replay")


@dataclass(frozen=True)
class Ran:
    """A script of the solution that was run. code: its exit status; a script with a part removed may well fail."""

    segment: int
    changed: bool
    code: int
    output: str


@dataclass(frozen=True)
class Seen:
    """A verification. crash: why the verifier gave no reward. broken: what kept it from being run, or ended it.
    before: the scripts run since the last verification, in order. seconds: of these and of the verification."""

    reward: float | None
    log: str
    crash: str | None
    broken: str | None
    seconds: float
    before: tuple[Ran, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Seen:
        return cls(**{**data, "before": tuple(Ran(**r) for r in data["before"])})


class _Broken(Exception):
    """Why the replay cannot go on."""


async def play(
    task_dir: Path, environment: Any, steps: Sequence[Work | Look], folder: Path, session: str
) -> list[Seen]:
    """Play the steps of a branch in one fresh container; one result for each `Look`, in order.

    When the container breaks or a script runs too long, this and all later looks have no result, with the reason.

    Args:
        task_dir: a Harbor task with solutions and tests.
        environment: Harbor's EnvironmentConfig.
        folder: for Harbor's files while it runs; made here, removed at the end.
        session: name of the container.

    Raises:
        UserError: the image cannot be built, or the environment refuses the task.
    """
    results: list[Seen] = []
    looks = sum(isinstance(s, Look) for s in steps)
    started = time.monotonic()
    before: list[Ran] = []
    shutil.rmtree(folder, ignore_errors=True)
    container = None
    try:
        container = _Container(task_dir, environment, folder, session)
        await container.start()
        for step in steps:
            if isinstance(step, Work):
                before.append(await container.work(step))
                continue
            reward, log, crash = await container.look(step.checked)
            results.append(Seen(reward, log, crash, None, time.monotonic() - started, tuple(before)))
            before, started = [], time.monotonic()
    except (UserError, asyncio.CancelledError):
        raise
    except Exception as e:
        reason = str(e) if isinstance(e, _Broken) else redact(f"{type(e).__name__}: {e}")
        seen = Seen(None, "", None, reason, time.monotonic() - started, tuple(before))
        results += [seen] * (looks - len(results))
    finally:
        if container:
            await asyncio.shield(container.stop())
        shutil.rmtree(folder, ignore_errors=True)
    return results


class _Container:
    """The container of a branch, and Harbor's view of the task."""

    def __init__(self, task_dir: Path, environment: Any, folder: Path, session: str) -> None:
        from harbor.environments.factory import EnvironmentFactory
        from harbor.models.task.task import Task
        from harbor.models.trial.paths import EnvironmentPaths, TrialPaths

        logging.getLogger("harbor").setLevel(logging.CRITICAL)
        self.task = Task(task_dir)
        self.steps: list[Any] = list(self.task.config.steps or [None])
        self.paths = TrialPaths(folder.resolve())
        self.paths.mkdir()
        self.box = EnvironmentFactory.create_environment_from_config(
            config=environment,
            environment_dir=self.task.paths.environment_dir,
            environment_name=self.task.short_name,
            session_id=session,
            trial_paths=self.paths,
            task_env_config=self.task.config.environment,
        )
        self.inside = EnvironmentPaths.for_os(self.box.os)
        self.prepared = 0
        self.tests_inside = False

    async def start(self) -> None:
        await self.box.start(force_build=False)
        await self.box.run_healthcheck()

    async def stop(self) -> None:
        with suppress(Exception):  # what is left is swept; the result stands
            await self.box.stop(delete=True)

    # ---- a segment begins

    async def _prepare(self, segment: int) -> None:
        """What Harbor does before the agent works on a segment, for this one and all before it; the first time only."""
        while self.prepared < segment:
            self.prepared += 1
            step = self.steps[self.prepared - 1]
            if step is None:
                continue
            with self.box.with_default_user(self._user(step, "agent")):
                extra = self.task.paths.step_workdir_dir(step.name)
                if extra.exists():
                    workdir = ((await self.box.exec("pwd")).stdout or "/").strip()
                    await self.box.upload_dir(source_dir=extra, target_dir=workdir)
                    if self.task.paths.step_setup_path(step.name).exists():
                        await self._setup(step.name, workdir)
                if step.healthcheck is not None:
                    await self.box.run_healthcheck(step.healthcheck)

    async def _setup(self, name: str, workdir: str) -> None:
        result = await self.box.exec(f"bash {shlex.quote(workdir.rstrip('/') + '/setup.sh')}")
        if result.return_code != 0:
            raise _Broken(f"setup.sh of {name} failed with exit status {result.return_code}")

    def _user(self, step: Any, role: str) -> Any:
        own = getattr(step, role).user if step is not None else None
        return own if own is not None else getattr(self.task.config, role).user

    # ---- the reference solution

    async def work(self, work: Work) -> Ran:
        """Run a segment's script as the oracle agent does, or the changed text of it in its place."""
        from harbor.utils.env import resolve_env_vars
        from harbor.utils.scripts import build_execution_command

        await self._prepare(work.segment)
        await self._remove_tests()
        step = self.steps[work.segment - 1]
        folder, script = self._solution(step)
        with tempfile.TemporaryDirectory(prefix="termdepth-") as tmp:
            copy = Path(tmp) / "solution"
            shutil.copytree(folder, copy, symlinks=True)
            changed = copy / script.relative_to(folder)
            if work.script is not None:
                changed.write_text(work.script, encoding="utf-8", errors="surrogateescape")
            changed.chmod(changed.stat().st_mode | 0o111)
            await self.box.upload_dir(source_dir=copy, target_dir=str(self.inside.solution_dir))
        path = str(self.inside.solution_dir / script.relative_to(folder).as_posix())
        log = str(self.inside.agent_dir / "oracle.txt")
        run = build_execution_command(path, stdout_path=log, task_os=self.box.os)
        env = {"DEBIAN_FRONTEND": "noninteractive", **resolve_env_vars(self.task.config.solution.env or {})}
        with self.box.with_default_user(self._user(step, "agent")):
            try:
                result = await self.box.exec(
                    f"{run}; code=$?; tail -c {LOG_CHARACTERS} {shlex.quote(log)}; exit $code",
                    env=env,
                    timeout_sec=WORK_SECONDS,
                )
            except RuntimeError as e:
                if "timed out" not in str(e):
                    raise
                raise _Broken(
                    f"the solution of segment {work.segment} ran longer than {WORK_SECONDS:.0f} seconds"
                ) from e
        return Ran(work.segment, work.script is not None, result.return_code, result.stdout or "")

    def _solution(self, step: Any) -> tuple[Path, Path]:
        """Folder and script; a step without a folder of its own uses the task's, as in Harbor."""
        paths, os = self.task.paths, self.task.config.environment.os
        if step is not None and paths.step_solution_dir(step.name).exists():
            folder, script = paths.step_solution_dir(step.name), paths.discovered_step_solve_path_for(step.name, os)
        else:
            folder, script = paths.solution_dir, paths.discovered_solve_path_for(os)
        if script is None:
            raise _Broken("there is no reference solution")
        return folder, script

    # ---- checks

    async def look(self, segment: int) -> tuple[float | None, str, str | None]:
        """Run a segment's checks: (reward, what they printed, why there is no reward)."""
        from harbor.models.task.config import VerifierEnvironmentMode
        from harbor.models.task.verifier_mode import resolve_step_verifier_mode, resolve_task_verifier_mode
        from harbor.verifier.verifier import (
            RewardFileEmptyError,
            RewardFileNotFoundError,
            Verifier,
            VerifierOutputParseError,
        )

        await self._prepare(segment)
        step = self.steps[segment - 1]
        config = self.task.config
        mode = resolve_step_verifier_mode(config, step) if step else resolve_task_verifier_mode(config)
        if mode != VerifierEnvironmentMode.SHARED:
            raise _Broken("a verifier in a container of its own is not replayed")
        shutil.rmtree(self.paths.verifier_dir, ignore_errors=True)
        self.paths.verifier_dir.mkdir()
        self.tests_inside = True  # also what an image or a solution put there goes, as in a trial
        await self._remove_tests()
        self.tests_inside = True
        own = step.verifier.timeout_sec if step else None
        reward, crash = None, None
        try:
            with self.box.with_default_user(self._user(step, "verifier")):
                verifier = Verifier(
                    self.task,
                    self.paths,
                    self.box,
                    logger=_LOGGER,
                    verifier_env=(step.verifier.env or None) if step else None,
                    step_name=step.name if step else None,
                )
                verified = await asyncio.wait_for(verifier.verify(), own or config.verifier.timeout_sec)
            reward = reward_of(verified.rewards)
        except TimeoutError:
            crash = "the checks ran longer than their time limit"
        except RewardFileNotFoundError:
            crash = "the verifier wrote no reward file"
        except (RewardFileEmptyError, VerifierOutputParseError):
            crash = "the verifier's reward cannot be read"
        log = ""
        with suppress(OSError):
            log = self.paths.test_stdout_path.read_text(encoding="utf-8", errors="replace")[:LOG_CHARACTERS]
        return reward, log, crash

    async def _remove_tests(self) -> None:
        """Nothing of a segment's checks is there when the next one is worked on, as in a trial."""
        if not self.tests_inside:
            return
        self.tests_inside = False
        await self.box.empty_dirs([self.inside.verifier_dir], chmod=True)
        await self.box.empty_dirs([self.inside.tests_dir], chmod=False)
