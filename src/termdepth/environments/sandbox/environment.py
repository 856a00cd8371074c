"""The embedded sandbox as a Harbor environment."""

from __future__ import annotations

from typing import IO, Any

from harbor.environments.base import ExecResult, SandboxBuildFailedError
from harbor.models.trial.config import ResourceMode

from termdepth.environments.base import ContainerEnvironment
from termdepth.environments.sandbox import image
from termdepth.environments.sandbox.sandbox import Limits, Sandbox
from termdepth.environments.threads import Cancel, run_blocking, run_cancellable
from termdepth.errors import UserError


class SandboxEnvironment(ContainerEnvironment):
    """A trial's container as an embedded sandbox; options: `BackendOptions`.

    Use: `EnvironmentConfig(import_path="termdepth.environments.sandbox.environment:SandboxEnvironment", kwargs={...})`.
    """

    _box: Sandbox | None = None

    @staticmethod
    def type() -> str:
        return "termdepth-sandbox"

    def _validate_definition(self) -> None:
        """Raises UserError for what the sandbox cannot run."""
        self._refuse_compose()
        if self.options.network != "none":
            raise UserError(
                f"network {self.options.network!r} is not possible in the embedded sandbox",
                where=self.environment_name,
                hint="use backend: docker",
            )
        image.check(self.environment_dir, self.options.base_images, self.task_env_config.docker_image)

    @property
    def is_started(self) -> bool:
        return self._box is not None

    async def start(self, force_build: bool) -> None:
        await run_cancellable(lambda cancel: self._start(force_build, cancel))
        await self._upload_environment_dir_after_start()  # with a prebuilt image only

    def _start(self, force_build: bool, cancel: Cancel) -> None:
        try:
            built = image.build(
                self.environment_dir,
                self.cache_dir,
                base_images=self.options.base_images,
                docker_image=self.task_env_config.docker_image,
                force=force_build,
                cancel=cancel,
            )
        except UserError as error:
            raise SandboxBuildFailedError(str(error)) from error
        cpus = self._resource_limit_value("cpu", auto_mode=ResourceMode.LIMIT)
        memory = self._resource_limit_value("memory", auto_mode=ResourceMode.LIMIT)
        workdir = self.task_env_config.workdir
        box = Sandbox(
            root=built.archive,
            env={**built.env, **self._startup_env()},
            workdir=workdir or built.workdir,
            folders={**dict.fromkeys(self._mount_targets(), 0o777), **({workdir: 0o755} if workdir else {})},
            limits=Limits(
                memory_mb=memory or self.options.memory_mb,
                disk_mb=self.options.disk_mb,
                pids=self.options.pids,
                cpus=cpus or self.options.cpus,
            ),
        )
        cancel.check()
        self._box = box.start()

    async def stop(self, delete: bool) -> None:
        """End it; `delete` makes no difference, there is nothing to keep."""
        if self._box:
            await run_blocking(self._box.stop)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: float | None = None,
        user: str | int | None = None,
    ) -> Any:
        """Run a command with bash (see `Sandbox.exec`).

        Raises:
            RuntimeError: it took longer than `timeout_sec`.
        """
        box, as_user, full_env = self._running(), self._resolve_user(user), self._merge_env(env)
        result = await run_cancellable(
            lambda cancel: box.exec(command, cwd=cwd, env=full_env, user=as_user, timeout=timeout_sec, cancel=cancel)
        )
        if result.timed_out:
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds")
        return ExecResult(stdout=result.stdout, stderr=result.stderr, return_code=result.return_code)

    def _running(self) -> Sandbox:
        if self._box is None:
            raise RuntimeError("the sandbox is not started")
        return self._box

    def _put(self, archive: IO[bytes]) -> None:
        self._running().put(archive)

    def _get(self, source: str) -> IO[bytes]:
        return self._running().get(source)

    def _get_file(self, source: str) -> IO[bytes]:
        return self._running().get_file(source)
