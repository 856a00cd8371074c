"""Small Harbor task folders for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

TOML = """\
schema_version = "1.4"
[metadata]
difficulty = "easy"
category = "files"
tags = ["a", "b"]
[agent]
timeout_sec = 120.0
[environment]
network_mode = "no-network"
memory_mb = 512
"""
DOCKERFILE = "FROM debian:bookworm-slim\nRUN mkdir /app\n"
SOLVE = "#!/bin/bash\n# what it does\necho done > /app/done\n"
TEST = "#!/bin/bash\ntest -f /app/done && echo 1 > /logs/verifier/reward.txt\n"


def write(folder: Path, files: Mapping[str, str | bytes | None]) -> Path:
    """Write files below `folder`; None leaves one out (or removes it)."""
    for name, content in files.items():
        path = folder / name
        if content is None:
            path.unlink(missing_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def single(folder: Path, files: Mapping[str, str | bytes | None] | None = None, toml: str = TOML) -> Path:
    """A single-step task; `files` replaces, adds or (None) leaves out files."""
    base: dict[str, str | bytes | None] = {
        "task.toml": toml,
        "instruction.md": "Make the file.\n",
        "environment/Dockerfile": DOCKERFILE,
        "solution/solve.sh": SOLVE,
        "tests/test.sh": TEST,
    }
    return write(folder, base | dict(files or {}))


def multi(folder: Path, steps: int = 2, files: Mapping[str, str | bytes | None] | None = None) -> Path:
    """A multi-step task with steps s1, s2, ..."""
    toml = TOML + "".join(f'\n[[steps]]\nname = "s{i}"\n[steps.agent]\ntimeout_sec = 60\n' for i in range(1, steps + 1))
    base: dict[str, str | bytes | None] = {"task.toml": toml, "environment/Dockerfile": DOCKERFILE}
    for i in range(1, steps + 1):
        base |= {
            f"steps/s{i}/instruction.md": f"Do step {i} now.\n",
            f"steps/s{i}/solution/solve.sh": SOLVE,
            f"steps/s{i}/tests/test.sh": TEST,
        }
    return write(folder, base | dict(files or {}))
