"""A Docker container as a Harbor environment."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import threading
import uuid
from typing import IO, Any

from docker.errors import APIError, NotFound
from harbor.environments.base import ExecResult, SandboxBuildFailedError
from harbor.environments.definition import require_agent_environment_definition
from harbor.models.trial.config import ResourceMode

from termdepth.environments import transfer
from termdepth.environments.base import ContainerEnvironment
from termdepth.environments.docker import commands, engine, images
from termdepth.environments.docker.commands import Channel, ChannelBroken, Result
from termdepth.environments.docker.stream import Stream, attach_stdin
from termdepth.environments.threads import Cancel, run_blocking, run_cancellable
from termdepth.errors import UserError

# Lives as long as its stdin is open, that is, as long as this process: the engine closes it when we are gone.
_MAIN = ["/bin/sh", "-c", "exec cat >/dev/null"]

# Short commands that Harbor and terminus-2 send all the time; they go through the channel.
_SHORT = re.compile(r"tmux (?!wait)|rm -r?f |chmod |mkdir -p |test -[df] |pwd$|printf %s |if \[ -L ")
_REPEATABLE = re.compile(
    r"tmux (capture-pane|has-session|set-option|-V)|rm |chmod |mkdir |test |pwd$|printf %s |if \[ -L "
)
_CHANNEL_TIMEOUT = 60.0


class DockerEnvironment(ContainerEnvironment):
    """A trial's container in a Docker engine; options: `BackendOptions`.

    Use: `EnvironmentConfig(import_path="termdepth.environments.docker:DockerEnvironment", kwargs={...})`.

    The container is removed when it ends, and ends when this process does: its main process waits for the end of its
    stdin, which the engine closes with our connection. `engine.sweep()` is for what is left even so.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._id: str | None = None
        self._lifeline: Stream | None = None
        self._image_user = "root"
        self._channels: dict[tuple[str, tuple[tuple[str, str], ...]], Channel] = {}
        self._channel_lock = threading.Lock()
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        return "termdepth-docker"

    def _validate_definition(self) -> None:
        self._refuse_compose()
        require_agent_environment_definition(self.environment_dir, docker_image=self.task_env_config.docker_image)

    @property
    def is_started(self) -> bool:
        return self._id is not None

    # ---- life

    async def start(self, force_build: bool) -> None:
        await run_cancellable(lambda cancel: self._start(force_build, cancel))
        await self._upload_environment_dir_after_start()

    def _start(self, force_build: bool, cancel: Cancel) -> None:
        options = self.options
        source = images.Source(
            self.environment_dir, self.task_env_config.docker_image, options.base_images, options.build_network
        )
        try:
            tag, _ = images.ensure(source, self.cache_dir, force=force_build, cancel=cancel)
        except UserError as error:
            raise SandboxBuildFailedError(str(error)) from error
        cancel.check()
        api = engine.api()
        self._image_user = api.inspect_image(tag)["Config"].get("User") or "root"
        self._id = api.create_container(
            tag,
            name=f"termdepth-{re.sub('[^a-zA-Z0-9_.-]', '-', self.session_id)[:60]}-{uuid.uuid4().hex[:8]}",
            entrypoint=_MAIN,
            stdin_open=True,
            labels=engine.labels(self.session_id),
            environment=self._startup_env() or None,
            working_dir=self.task_env_config.workdir,
            host_config=api.create_host_config(
                init=True, auto_remove=True, network_mode=options.network, **self._limits()
            ),
        )["Id"]
        try:
            api.put_archive(self._id, "/", transfer.pack_folders(self._mount_targets(), 0o777))
            self._lifeline = attach_stdin(api, self._id)
            api.start(self._id)
            cancel.check()
        except BaseException:
            self._end()
            raise

    def _limits(self) -> dict[str, Any]:
        memory = self._resource_limit_value("memory", auto_mode=ResourceMode.LIMIT) or self.options.memory_mb
        cpus = self._resource_limit_value("cpu", auto_mode=ResourceMode.LIMIT) or self.options.cpus
        limits: dict[str, Any] = {
            "mem_limit": f"{memory}m",
            "memswap_limit": f"{memory}m",
            "pids_limit": self.options.pids,
        }
        if cpus:  # the engine refuses more than it has
            limits["nano_cpus"] = int(min(cpus, engine.api().info()["NCPU"]) * 1e9)
        return limits

    async def stop(self, delete: bool) -> None:
        """Remove the container; `delete` makes no difference, nothing is kept."""
        await run_blocking(self._end)

    def _end(self) -> None:
        container, self._id = self._id, None
        self._close_channels()
        if container:
            engine.remove(container)
        if self._lifeline:
            self._lifeline.close()
            self._lifeline = None

    def _close_channels(self) -> None:
        with self._channel_lock:
            for channel in self._channels.values():
                channel.close()
            self._channels.clear()

    def _before_freeze(self) -> None:
        self._close_channels()

    # ---- commands

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: float | None = None,
        user: str | int | None = None,
    ) -> Any:
        """Run a command with bash (see `commands.run`).

        Raises:
            RuntimeError: it took longer than `timeout_sec`, or the container is gone.
        """
        as_user = self._user_name(self._resolve_user(user))
        full_env = self._merge_env(env) or {}

        def work(cancel: Cancel) -> Result:
            if cwd is None and timeout_sec is None and _SHORT.match(command):
                result = self._run_short(command, as_user, full_env, cancel)
                if result:
                    return result
            argv = ["bash", "-c", command]
            return commands.run(
                engine.api(),
                self._running(),
                argv,
                user=as_user,
                cwd=cwd,
                env=full_env,
                timeout=timeout_sec,
                cancel=cancel,
            )

        result = await run_cancellable(work)
        if result.timed_out:
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds")
        return ExecResult(stdout=result.stdout, stderr=result.stderr, return_code=result.return_code)

    def _user_name(self, user: str | int | None) -> str:
        name = str(self._image_user if user is None else user)
        return "root" if name == "0" else name

    def _run_short(self, command: str, user: str, env: dict[str, str], cancel: Cancel) -> Result | None:
        """Run a short command through the channel; None if that was not possible and it may be run otherwise."""
        if not self._channel_lock.acquire(blocking=False):
            return None
        try:
            key = (user, tuple(sorted(env.items())))
            channel = self._channels.get(key)
            try:
                if channel is None or not channel.alive:
                    channel = Channel(engine.api(), self._running(), user=user, env=env)
                    self._channels[key] = channel
                return channel.run(command, timeout=_CHANNEL_TIMEOUT, cancel=cancel)
            except APIError:
                return None
            except ChannelBroken as error:
                self._channels.pop(key, None)
                if channel:
                    channel.close()
                cancel.check()
                if error.sent and not _REPEATABLE.match(command):
                    # Keys that were sent a second time would be typed twice. What ended the channel was most likely
                    # what these keys started (`pkill bash`), so they count as sent.
                    return Result("", "", 0)
                return None
        finally:
            self._channel_lock.release()

    # ---- files

    def _running(self) -> str:
        if self._id is None:
            raise RuntimeError("the container is not started")
        return self._id

    def _put(self, archive: IO[bytes]) -> None:
        with archive:
            engine.api().put_archive(self._running(), "/", archive)

    def _get(self, source: str) -> IO[bytes]:
        return self._archive(source.rstrip("/") + "/.")

    def _get_file(self, source: str) -> IO[bytes]:
        # The engine archives a link as a link, and says where it leads to, resolved inside the container.
        for _ in range(2):
            try:
                stat = self._head(source)
            except NotFound:
                raise FileNotFoundError(source) from None
            if not stat.get("linkTarget") or stat["linkTarget"] == source:
                break
            source = stat["linkTarget"]
        return self._archive(source)

    def _head(self, source: str) -> dict[str, Any]:
        api = engine.api()
        response = api.head(api._url("/containers/{0}/archive", self._running()), params={"path": source})
        api._raise_for_status(response)
        return dict(json.loads(base64.b64decode(response.headers["X-Docker-Container-Path-Stat"])))

    def _archive(self, source: str) -> IO[bytes]:
        archive = transfer.new_archive()
        try:
            blocks, _ = engine.api().get_archive(self._running(), source)
            with contextlib.closing(blocks):
                for block in blocks:
                    archive.write(block)
                    if archive.tell() > transfer.MAX_DOWNLOAD + (64 << 20):
                        raise transfer.TransferRefused(f"more than {transfer.MAX_DOWNLOAD} bytes")
        except NotFound:
            raise FileNotFoundError(source) from None
        archive.seek(0)
        return archive
