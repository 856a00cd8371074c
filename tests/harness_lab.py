"""Small tasks, and real runs on them in the embedded sandbox with a model behind a real HTTP server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openai_server import Answer, OpenAIServer, Script

DONE = "if [ -f /app/done ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"


@dataclass(frozen=True)
class Part:
    """One segment of a task: its instruction and the body of its test script."""

    instruction: str = "Make the file /app/done."
    test: str | bytes = DONE


def part(number: int) -> Part:
    """A segment that asks for /app/<number>."""
    check = f"if [ -f /app/{number} ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"
    return Part(f"Make the file /app/{number}. SECRET-INSTRUCTION-{number}", f"# SECRET-TEST-{number}\n{check}")


def _script(body: str | bytes) -> bytes:
    return b"#!/bin/bash\n" + (body.encode() if isinstance(body, str) else body)


def write_task(folder: Path, parts: Sequence[Part], *, steps: bool | None = None, toml: str = "") -> Path:
    """A Harbor task. steps: in the form of `[[steps]]`, also with one part. toml: put before the steps."""
    steps = len(parts) > 1 if steps is None else steps
    text = 'schema_version = "1.4"\n' + toml + "\n[environment]\nnetwork_mode = 'no-network'\n"
    files: dict[str, bytes] = {"environment/Dockerfile": b"FROM debian:bookworm-slim\nWORKDIR /app\n"}
    for number, one in enumerate(parts, 1):
        below = f"steps/s{number}/" if steps else ""
        text += f"\n[[steps]]\nname = 's{number}'\n" if steps else ""
        files[f"{below}instruction.md"] = one.instruction.encode()
        files[f"{below}tests/test.sh"] = _script(one.test)
        files[f"{below}solution/solve.sh"] = _script("touch /app/done /app/1 /app/2 /app/3\n")
    files["task.toml"] = text.encode()
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


class HarnessLab:
    """Runs of one model, `openai/test`, answered by a script of the test."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.runs = folder, folder / "runs"

    def task(self, *parts: Part, **how: Any) -> Path:
        return write_task(
            self.folder / "tasks" / f"t{len(list(self.folder.glob('tasks/*')))}", parts or (Part(),), **how
        )

    def spec(self, path: Path, url: str, *, cap: int | None = None, **how: Any) -> Any:
        from termdepth.config.models import Harness, ModelEntry
        from termdepth.harness.record import RunSpec, TaskRef
        from termdepth.harness.runner import harness_identity
        from termdepth.tasks.reading import TaskInfo, read_task

        limits = how.pop("limits", Harness())
        info = read_task(path, path)
        assert isinstance(info, TaskInfo), info
        task = TaskRef(
            "lab", info.task, path, info.n_segments, info.digest, "sandbox:x", how.pop("time_limit", 60.0),
            how.pop("freeze", False),
        )  # fmt: skip
        entry = {"id": "test", "litellm": "openai/test", "roles": ["first"], "api_base": url, "request_timeout_sec": 20}
        model = ModelEntry(**(entry | how.pop("model", {})))
        spec = RunSpec(
            task, model, "uncapped" if cap is None else "probe", cap, how.pop("attempt", 1),
            how.pop("turn_limit", 12), limits, harness_identity(limits),
        )  # fmt: skip
        assert not how, how
        return spec

    async def run_async(self, spec: Any) -> Any:
        from harbor.models.trial.config import EnvironmentConfig

        from termdepth.harness.runner import run_once

        environment = EnvironmentConfig(
            import_path="termdepth.environments.sandbox.environment:SandboxEnvironment",
            kwargs={"cache_dir": str(self.folder / "cache")},
        )
        return await run_once(spec, environment, self.runs)

    def run(self, path: Path, script: Script | Sequence[Answer], **how: Any) -> tuple[Any, OpenAIServer]:
        """One run; its record, and the server with what it was sent."""
        with OpenAIServer(script) as server:
            return asyncio.run(self.run_async(self.spec(path, server.url, **how))), server
