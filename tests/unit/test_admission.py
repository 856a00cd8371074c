"""Why a task is not admitted (App. C, rule 4), and what the tasks and their logs say about the network."""

from __future__ import annotations

from pathlib import Path

import pytest

from task_builders import multi, single
from termdepth.pipeline.admission import Reference, why_not_admitted
from termdepth.tasks.checks import count_checks
from termdepth.tasks.network import failed_access, network_command
from termdepth.tasks.reading import TaskInfo, read_task

PASS = Reference([1.0], None, 1.0)
FAIL = Reference([0.0], None, 1.0)


def info(path: Path) -> TaskInfo:
    task = read_task(path, path)
    assert isinstance(task, TaskInfo), task
    return task


def ref(*rewards: float | None, problem: str | None = None, no_network: str | None = None) -> Reference:
    return Reference(list(rewards), problem, 1.0, no_network)


@pytest.mark.parametrize(
    ("n", "oracle", "noop", "reason"),
    [
        (1, [PASS], [FAIL], None),
        (1, [PASS] * 3, [FAIL] * 3, None),
        (1, [], [FAIL], None),  # a dataset without solutions
        (1, [], [PASS], "no-op passed: reward 1"),
        (1, [FAIL], [FAIL], "oracle failed: not full marks"),
        (1, [ref(0.99)], [FAIL], "oracle failed: not full marks"),
        (3, [ref(1.0, 0.5)], [FAIL], "oracle failed: segment 2 of 3, not full marks"),
        (3, [ref(1.0, 1.0)], [FAIL], "oracle failed: segment 3 of 3, not full marks"),
        (1, [ref(None, problem="the verifier wrote no reward file")], [FAIL], "oracle failed: the verifier wrote no reward file"),
        (1, [ref(None, problem="AgentTimeoutError: 3600 s")], [FAIL], "time-out: the reference solution"),
        (2, [ref(1.0, None, problem="the verifier ran longer than its time limit")], [FAIL],
         "time-out: the verifier at segment 2 of 2"),
        (1, [PASS], [ref(0.2)], "no-op passed: reward 0.2"),
        (2, [ref(1.0, 1.0)], [ref(1.0, 0.0)], "no-op passed: reward 1"),
        (1, [PASS, PASS], [FAIL, PASS], "no-op passed: reward 1"),
        (1, [PASS], [ref(problem="boom")], "no-op not verified: boom"),
        (1, [PASS], [ref(None)], "no-op not verified: no reward"),
        (1, [PASS, FAIL, PASS], [FAIL] * 3, "flaky verifier: the reference solution passed 2 of 3 times"),
        (1, [FAIL, FAIL], [FAIL] * 2, "oracle failed: not full marks"),
    ],
)  # fmt: skip
def test_reasons(n: int, oracle: list[Reference], noop: list[Reference], reason: str | None) -> None:
    assert why_not_admitted(n, oracle, noop) == reason


def test_a_missing_network_is_blamed_only_where_there_is_none() -> None:
    lost = ref(0.0, no_network="verifier/test-stdout.txt: curl: (6) Could not resolve host: astral.sh")
    command = "tests/test.sh:3: curl -LsSf https://astral.sh/uv/install.sh | sh"
    assert why_not_admitted(1, [lost], [FAIL], offline=True) == f"needs network: {lost.no_network}"
    assert why_not_admitted(1, [FAIL], [FAIL], offline=True, command=command) == f"needs network: {command}"
    assert why_not_admitted(1, [lost], [FAIL], offline=False) == "oracle failed: not full marks"
    assert why_not_admitted(1, [FAIL], [FAIL], offline=True) == "oracle failed: not full marks"
    passing = ref(1.0, no_network="agent/oracle.txt: ping: Name or service not known")
    assert why_not_admitted(1, [passing], [FAIL], offline=True, command=command) is None


@pytest.mark.parametrize(
    "line",
    [
        "curl: (6) Could not resolve host: astral.sh",
        "Temporary failure resolving 'deb.debian.org'",
        "fatal: unable to access 'https://x/': Could not resolve host: github.com",
        "pip._vendor.urllib3.exceptions.NewConnectionError: <HTTPSConnection>: Failed to establish a new connection",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "npm ERR! code ENOTFOUND",
        "dial tcp: lookup proxy.golang.org: no such host",
        "ssh: connect to host x port 22: Network is unreachable",
        "wget: unable to resolve host address 'example.org'",
        "java.net.UnknownHostException: repo1.maven.org",
    ],
)
def test_words_of_a_missing_network(line: str) -> None:
    assert failed_access(f"start\n  {line}\nend") == line


def test_other_failures_are_not_the_network() -> None:
    log = (
        "FileNotFoundError: [Errno 2] No such file or directory: '/app/x'\nAssertionError: expected 3\n"
        "connection refused on localhost:5000\nFile not found: resolve.conf\n"
    )
    assert failed_access(log) is None


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, None),
        ({"tests/test.sh": "#!/bin/bash\n# pip install x\ncurl -LsSf https://astral.sh/uv/install.sh | sh\n"},
         "tests/test.sh:3: curl -LsSf https://astral.sh/uv/install.sh | sh"),
        ({"solution/solve.sh": "apt-get update -y\n"}, "solution/solve.sh:1: apt-get update -y"),
        ({"solution/solve.sh": "curl http://localhost:80/x\nwget http://127.0.0.1/\n"}, None),
        ({"solution/solve.sh": "cd x && pip install -q requests\n"}, "solution/solve.sh:1: cd x && pip install -q requests"),
        ({"solution/solve.sh": "git clone https://github.com/a/b\n"}, "solution/solve.sh:1: git clone https://github.com/a/b"),
        ({"tests/test.sh": "python3 -m pip install -q pytest 2>/dev/null || true\n"}, None),
        ({"solution/solve.sh": "echo aptitude; cargo build --offline\n"}, None),
    ],
)  # fmt: skip
def test_network_commands(tmp_path: Path, files: dict[str, str | bytes | None], found: str | None) -> None:
    assert network_command(info(single(tmp_path / "t", files))) == found


def test_checks_are_counted(tmp_path: Path) -> None:
    tests = "import x\ndef test_a(): ...\nclass TestB:\n    async def test_c(self): ...\ndef helper(): ...\n"
    task = single(tmp_path / "py", {"tests/test_outputs.py": tests, "tests/data.py": "def test_no(): ...\n"})
    assert count_checks(info(task)) == 2
    checks = "expect_ok a -- true\n  expect_eq b 1 1 int\n# expect_ok c -- true\necho expect_ok\n"
    assert count_checks(info(multi(tmp_path / "sh", 2, {"steps/s1/tests/test.sh": checks}))) == 2
    assert count_checks(info(single(tmp_path / "none"))) is None
