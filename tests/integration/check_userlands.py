"""Runs check scripts in the userlands this machine has: coreutils with nothing else, the awk implementations, busybox."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CHECKS = Path(__file__).parents[2] / "resources" / "checks"
BASH = shutil.which("bash") or "/bin/bash"
NEEDED = "cat head ls mktemp rm sort tail tr wc dirname env sleep true false printf seq".split()  # noqa: SIM905
AWKS = ["mawk", "gawk", "original-awk", "busybox"]  # busybox: with all its applets


@dataclass
class Result:
    code: int
    lines: list[str]
    log: str
    seconds: float  # of processor time: the machine may be busy
    by_name: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.by_name = {}
        for line in self.lines:
            word, rest = line.split(" ", 1)
            self.by_name[rest if word == "PASS" else rest.split(": ", 1)[0]] = line


@dataclass
class Userland:
    """What a check script finds on its PATH, and a folder to work in."""

    path: str
    folder: Path

    def run(self, script: str | bytes, **env: str) -> Result:
        file = self.folder / "check.sh"
        file.write_bytes(script if isinstance(script, bytes) else script.encode())
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.Popen(
            [BASH, str(CHECKS / "run.sh"), str(file)],
            cwd=self.folder,
            env={"PATH": self.path, "HOME": "/", "LANG": "C.UTF-8", **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            printed, logged = run.communicate(timeout=200)
        finally:
            if run.returncode is None:
                run.terminate()  # not kill: it ends the script it runs
                run.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        out, log = printed.decode(errors="replace"), logged.decode(errors="replace")
        return Result(run.returncode, out.splitlines(), log, seconds)

    def table(self, rows: list[tuple[str, str]]) -> None:
        """Rows of a check without its name (`expect_eq @ a b`) and the line it must give, from PASS or FAIL on."""
        script = "\n".join(check.replace("@", f"n{i}", 1) for i, (check, _) in enumerate(rows))
        result = self.run(script)
        got = {check: result.by_name.get(f"n{i}", "no line") for i, (check, _) in enumerate(rows)}
        wrong = {}
        for i, (check, expected) in enumerate(rows):
            wanted = expected.replace("FAIL ", f"FAIL n{i}: ", 1) if expected != "PASS" else f"PASS n{i}"
            if got[check] != wanted and not (expected.endswith("*") and got[check].startswith(wanted[:-1])):
                wrong[check] = got[check]
        assert not wrong, f"{wrong}\n{result.log}"
        assert result.code == (0 if all(expected == "PASS" for _, expected in rows) else 1)


def _links(folder: Path, awk: str) -> str:
    """A folder with bash, an awk and the programs of coreutils (or the applets of busybox), and nothing else."""
    folder.mkdir()
    (folder / "bash").symlink_to(BASH)
    program = shutil.which(awk)
    assert program
    if awk != "busybox":
        for name in NEEDED:
            (folder / name).symlink_to(shutil.which(name) or name)
    else:
        for name in subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split():
            if name not in ("bash", "sh", "awk") and not (folder / name).exists():
                (folder / name).symlink_to(program)
    (folder / "awk").symlink_to(program)
    return str(folder)


@pytest.fixture(params=["host", *AWKS])
def userland(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Userland]:
    folder = tmp_path / "work"
    folder.mkdir()
    if request.param == "host":
        yield Userland(os.environ["PATH"], folder)
        return
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")
    yield Userland(_links(tmp_path / "bin", request.param), folder)


@pytest.fixture
def host(tmp_path: Path) -> Userland:
    return Userland(os.environ["PATH"], tmp_path)
