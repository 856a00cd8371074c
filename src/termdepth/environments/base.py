"""What both backends share as Harbor environments.

**No folder of the host is mounted.** Harbor's usual way, `/logs/agent`, `/logs/verifier` and `/logs/artifacts` bound to
the trial's folder, lets the agent plant links there that the host then reads (`reward.txt`), writes
(`trajectory.json`, an arbitrary file of the host) or blocks at (a named pipe); the agent's processes are still alive
then, so cleaning up before each access would be a race. Instead files travel as archives that are unpacked without
links (`transfer`). Harbor copies verifier logs and artifacts by itself. Of the agent's logs it is told that they are
mounted, or it would overwrite the trajectory that terminus-2 writes on the host by an older copy from the container;
`prepare_logs_for_host`, which Harbor then calls, fetches the container's part and leaves alone what the host wrote.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any

from harbor.environments.base import BaseEnvironment
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.models.task.config import NetworkPolicy
from harbor.models.trial.paths import EnvironmentPaths

from termdepth.environments import content, transfer
from termdepth.environments.options import BackendOptions
from termdepth.environments.threads import run_blocking
from termdepth.errors import UserError

# Every process but PID 1, the container's own first process (where PID 1 is an init), and the shell that signals. Twice,
# because the first pass can miss a fork.
_SIGNAL_ALL = """
first=
for d in /proc/[0-9]*; do p=${d#/proc/}; [ "$p" -gt 1 ] && { [ -z "$first" ] || [ "$p" -lt "$first" ]; } && first=$p; done
if ! [ -e /sbin/docker-init ]; then first=; fi
for i in 1 2; do
  for d in /proc/[0-9]*; do
    p=${d#/proc/}
    case $p in 1|$$|$PPID|$first) ;; *) kill -%s "$p" 2>/dev/null ;; esac
  done
done
true"""

type _Seen = tuple[int, int, int]  # inode, modification time in ns, size


class ContainerEnvironment(BaseEnvironment):  # type: ignore[misc]
    """A Harbor environment of one container, files going in and out as tar."""

    options_model = BackendOptions
    options: BackendOptions

    def __init__(self, *args: Any, mounts: list[Any] | None = None, **kwargs: Any) -> None:
        if mounts:
            raise UserError("mounts are not supported: files are copied", where="environment.mounts")
        self._fetched: dict[Path, _Seen] = {}
        super().__init__(*args, **kwargs)

    # ---- what it can do

    @property
    def capabilities(self) -> Any:
        """`mounted` makes Harbor ask `is_path_mounted`; a changed network policy is accepted and changes nothing."""
        return EnvironmentCapabilities(
            disable_internet=True, network_allowlist=True, dynamic_network_policy=True, mounted=True
        )

    @classmethod
    def resource_capabilities(cls) -> Any:
        return EnvironmentResourceCapabilities(cpu_limit=True, memory_limit=True, fractional_cpus=True)

    def validate_network_policy_support(self, network_policy: NetworkPolicy | None = None) -> None:
        """Any policy of a task is accepted: what the container gets is the option `network`."""

    async def _apply_network_policy(self, network_policy: NetworkPolicy) -> None:
        """The network stays what the option `network` says."""

    @property
    def cache_dir(self) -> Path:
        return self.options.cache_dir or content.default_cache_dir()

    def _refuse_compose(self) -> None:
        for name in ("docker-compose.yaml", "docker-compose.yml", "compose.yaml"):
            if (self.environment_dir / name).exists():
                raise UserError("tasks of several containers are not supported", where=self.environment_dir / name)

    # ---- stopping the agent's processes while checks run

    async def freeze(self) -> None:
        """Stop (SIGSTOP) every process that commands left in the container; new commands run. tmux answers no more."""
        await run_blocking(self._before_freeze)
        await self.exec(_SIGNAL_ALL % "STOP", user="root")

    async def thaw(self) -> None:
        """Let them go on."""
        await self.exec(_SIGNAL_ALL % "CONT", user="root")

    def _before_freeze(self) -> None:
        """End helper processes of ours that would be stopped too."""

    # ---- logs

    def is_path_mounted(self, environment_path: str | PurePath, host_path: Path) -> bool:
        """True for the agent's logs only (see the module)."""
        agent_dir = EnvironmentPaths.for_os(self.os).agent_dir
        path = PurePosixPath(str(environment_path))
        if not path.is_relative_to(agent_dir):
            return False
        return bool(self.trial_paths.agent_dir / path.relative_to(agent_dir) == Path(host_path))

    async def prepare_logs_for_host(self) -> None:
        """Fetch the agent's logs from the container. What the host itself wrote stays; trouble is only logged."""
        if not self.is_started:
            return
        try:
            await run_blocking(self._fetch_agent_logs)
        except Exception as error:
            self.logger.warning(f"agent logs not fetched: {error}")

    def _fetch_agent_logs(self) -> None:
        def is_ours(path: Path) -> bool:
            seen = _seen(path)
            return seen is None or self._fetched.get(path) == seen

        with self._get(str(EnvironmentPaths.for_os(self.os).agent_dir)) as archive:
            for path in transfer.unpack(archive, self.trial_paths.agent_dir, may_write=is_ours).written:
                if seen := _seen(path):
                    self._fetched[path] = seen

    # ---- files

    @property
    @abstractmethod
    def is_started(self) -> bool:
        """Whether there is a container."""

    @abstractmethod
    def _put(self, archive: IO[bytes]) -> None:
        """Unpack an archive at `/` in the container. Blocks."""

    @abstractmethod
    def _get(self, source: str) -> IO[bytes]:
        """The content of a folder in the container, as an archive. Blocks."""

    @abstractmethod
    def _get_file(self, source: str) -> IO[bytes]:
        """A file in the container, links followed inside, as an archive of one member. Blocks."""

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file of the host to `target_path` (a folder if it ends in `/`)."""
        source = Path(source_path)
        target = target_path + source.name if target_path.endswith("/") else target_path
        await run_blocking(lambda: self._put(transfer.pack_file(source, target)))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy the content of a folder of the host into `target_dir`."""
        await run_blocking(lambda: self._put(transfer.pack_dir(Path(source_dir), str(target_dir))))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file to the host.

        Raises:
            FileNotFoundError: there is no such regular file.
        """

        def work() -> None:
            with self._get_file(str(source_path)) as archive:
                transfer.read_single(archive, Path(target_path))

        await run_blocking(work)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy the folders and regular files of a folder to the host; links and special files are left out."""

        def work() -> transfer.Unpacked:
            with self._get(str(source_dir)) as archive:
                return transfer.unpack(archive, Path(target_dir))

        result = await run_blocking(work)
        if result.skipped:
            self.logger.warning(f"{result.skipped} links or special files below {source_dir} were not copied")


def _seen(path: Path) -> _Seen | None:
    try:
        info = os.lstat(path)
    except OSError:
        return None
    return info.st_ino, info.st_mtime_ns, info.st_size
