"""The check library in real shells: every function, kind and rule of resources/checks (paper, App. F, Table 7).

A table is one check script with a check a row; what a row must say is beside it. Each table runs in every userland this
machine has: coreutils with nothing else, the awk implementations, and busybox.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CHECKS = Path(__file__).parents[2] / "resources" / "checks"
BASH = shutil.which("bash") or "/bin/bash"
NEEDED = "awk cat head ls mktemp rm sort tail tr wc dirname env sleep true false printf seq".split()
AWKS = {"mawk": ["mawk"], "gawk": ["gawk"], "original-awk": ["original-awk"], "busybox": ["busybox", "awk"]}


@dataclass
class Result:
    code: int
    lines: list[str]
    log: str
    seconds: float
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
        started = time.monotonic()
        done = subprocess.run(
            [BASH, str(CHECKS / "run.sh"), str(file)],
            cwd=self.folder,
            env={"PATH": self.path, "HOME": "/", "LANG": "C.UTF-8", **env},
            capture_output=True,
            timeout=60,
            check=False,
        )
        seconds = time.monotonic() - started
        out, log = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        return Result(done.returncode, out.splitlines(), log, seconds)

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
        assert not wrong, result.log
        assert result.code == (0 if all(expected == "PASS" for _, expected in rows) else 1)


def _links(folder: Path, awk: list[str], only_coreutils: bool) -> str:
    """A folder with bash, an awk and the programs of coreutils (or the applets of busybox), and nothing else."""
    folder.mkdir()
    (folder / "bash").symlink_to(BASH)
    program = shutil.which(awk[0])
    assert program
    if only_coreutils:
        for name in NEEDED:
            if name != "awk":
                (folder / name).symlink_to(shutil.which(name) or name)
    else:
        for name in subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split():
            if name not in ("bash", "sh") and not (folder / name).exists():
                (folder / name).symlink_to(program)
    (folder / "awk").unlink(missing_ok=True)
    (folder / "awk").write_text(f'#!/bin/sh\nexec {program} {" ".join(awk[1:])} "$@"\n')
    (folder / "awk").chmod(0o755)
    return str(folder)


@pytest.fixture(params=["host", *AWKS])
def userland(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Userland]:
    folder = tmp_path / "work"
    folder.mkdir()
    if request.param == "host":
        yield Userland(os.environ["PATH"], folder)
        return
    awk = AWKS[request.param]
    if not shutil.which(awk[0]):
        pytest.skip(f"{awk[0]} is not installed")
    yield Userland(_links(tmp_path / "bin", awk, awk[0] != "busybox"), folder)


@pytest.fixture
def host(tmp_path: Path) -> Userland:
    return Userland(os.environ["PATH"], tmp_path)


# ---- commands

COMMANDS = [
    ("expect_ok @ -- true", "PASS"),
    ("expect_ok @ -- false", "FAIL exit status 1; it printed nothing"),
    ("expect_ok @ -- bash -c 'echo why >&2; exit 7'", "FAIL exit status 7; it printed: why"),
    ("f() { echo in function; }; expect_out @ 'in function' -- f", "PASS"),
    ("expect_ok @ -- nosuchcommand", "FAIL nosuchcommand: there is no command nosuchcommand"),
    ("expect_ok @ true", "FAIL write expect_ok NAME -- CMD"),
    ("expect_ok @ --", "FAIL write expect_ok NAME -- CMD"),
    ("expect_ok @", "FAIL write expect_ok NAME -- CMD"),
    ("expect_ok @ -- bash -c 'kill -9 $$'", "FAIL exit status 137; it printed nothing"),
    ("expect_out @ b -- printf 'a\\nb\\n'", "PASS"),
    ("expect_out @ b -- bash -c 'echo b; exit 3'", "PASS"),
    ("expect_out @ b -- bash -c 'echo b >&2'", "PASS"),
    ("expect_out @ c -- printf 'a\\nb\\n'", "FAIL no line matches 'c'; it printed: a b"),
    ("expect_out @ 'a.*b' -- printf 'a\\nb\\n'", "FAIL no line matches*"),
    ("expect_out @ '' -- echo", "FAIL the pattern is empty"),
    ("expect_out @ '(' -- echo '('", "FAIL '(' is not a pattern (an extended regular expression)"),
    ("expect_out @ -- echo a", "FAIL write expect_out NAME PATTERN -- CMD"),
    ("expect_no_out @ c -- echo a", "PASS"),
    ("expect_no_out @ . -- true", "PASS"),
    ("expect_no_out @ c -- bash -c 'echo a; exit 2'", "FAIL exit status 2; it printed: a"),
    ("expect_no_out @ a -- echo A", "FAIL a line matches 'a'; it printed: A"),
    ("expect_no_out @ '[' -- echo a", "FAIL '[' is not a pattern (an extended regular expression)"),
    ("expect_fail @ denied -- bash -c 'echo Access denied; exit 1'", "PASS"),
    ("expect_fail @ denied -- bash -c 'echo denied'", "FAIL it succeeded; it printed: denied"),
    ("expect_fail @ denied -- bash -c 'echo no route; exit 1'", "FAIL it failed, but no line matches 'denied'*"),
    ("expect_fail @ 'not found' -- nosuchcommand", "FAIL nosuchcommand: there is no command nosuchcommand"),
]

PATTERNS = [  # PATTERN, a line of output, whether it matches
    ("ready", "READY", True),
    ("READY", "ready", True),
    ("^[A-Z]+$", "abc", True),
    ("a b", "a    b", True),
    ("a   b", "a b", True),
    ("a b", "a\tb", True),
    ("a b", "ab", False),
    ("^ok$", "  ok  ", True),
    (" ok$", "\tok", True),
    ("port: 80", "port:80", True),
    ("port:80", "port :  80", True),
    ("a = b", "a=b", True),
    ("a=b", "a =b", True),
    (r"^status:\s+ok$", "status:ok", True),
    (r"^status\s*:\s+ok$", "Status :   OK", True),
    ("name *[:=] *x", "name = x", True),
    ("name *: *x", "name:x", True),
    ("name[[:space:]]*=[[:space:]]*x", "name   =x", True),
    ("name [:=] x", "name:x", True),
    ("a  *b", "ab", False),
    ("x{2} {1,3}y", "xx  y", True),
    (r"^\d+$", "1234", True),
    (r"^\d+$", "d", False),
    (r"^\w+$", "a_1", True),
    ("[]x]y", "]y", True),
    ("[^]x]y", "]y", False),
    ("[[:digit:] :]z", ":z", True),
    (r"^a\.b$", "axb", False),
    (r"a\\b", "a\\b", True),
    (r"\$HOME", "$HOME", True),
    ("a|b", "b", True),
    ("^(a|b)$", "ab", False),
    ("ok", "ok\r", True),
    ("^ok$", "ok\r", True),
    ("caf.?. x", "caf\xe9\xe9 x", True),
    (r"a\*", "a*", True),
    ("-e", "-e", True),
    ("--", "x -- y", True),
]


def test_checks_of_commands(userland: Userland) -> None:
    userland.table(COMMANDS)


def test_patterns_ignore_case_spaces_and_spaces_around_colon_and_equals(userland: Userland) -> None:
    rows = []
    for pattern, line, matches in PATTERNS:
        (userland.folder / f"o{len(rows)}").write_bytes(line.encode("latin-1") + b"\n")
        rows.append((f"expect_out @ {shlex.quote(pattern)} -- cat o{len(rows)}", "PASS" if matches else "FAIL no line*"))
    for pattern, _, matches in PATTERNS:
        command = f"expect_no_out @ {shlex.quote(pattern)} -- cat o{len(rows) - len(PATTERNS)}"
        rows.append((command, "FAIL a line matches*" if matches else "PASS"))
    userland.table(rows)


# ---- values

EQUAL = [  # KIND, ACTUAL, EXPECTED, equal
    ("text", "abc", "abc", True),
    ("text", "ABC", "abc", True),
    ("text", "abc", "abd", False),
    ("text", "  a   b ", "a b", True),
    ("text", "a\tb", "a b", True),
    ("text", "ab", "a b", False),
    ("text", '"abc"', "abc", True),
    ("text", "' abc '", "abc", True),
    ("text", "`abc`", '"abc"', True),
    ("text", "\"'abc'\"", "abc", True),
    ("text", '"abc', "abc", False),
    ("text", 'a"b"', "ab", False),
    ("text", "a : b", "a:b", True),
    ("text", "a = b", "a=b", True),
    ("text", "a\nb\n\n", "\na\nb", True),
    ("text", "a\nb", "a b", False),
    ("text", "a\r\nb\r", "a\nb", True),
    ("text", "", "a", False),
    ("text", "1.0", "1", False),
    ("exact", "abc", "abc", True),
    ("exact", "ABC", "abc", False),
    ("exact", "a  b", "a b", False),
    ("exact", " a", "a", False),
    ("exact", '"a"', "a", False),
    ("exact", "a\r", "a", False),
    ("exact", "a\nb", "a\nb", True),
    ("int", "42", "42", True),
    ("int", "42 rows", "There are 42", True),
    ("int", "007", "7", True),
    ("int", "-7", "7", False),
    ("int", "-7", "is -7", True),
    ("int", "x-7", "7", True),
    ("int", "+7", "7", True),
    ("int", "7.0", "7", True),
    ("int", "7.5", "7", False),
    ("int", "7.", "7", True),
    ("int", "1,234", "1234", True),
    ("int", "1,234,567 B", "1234567", True),
    ("int", "1,2,3", "1", True),
    ("int", "9007199254740993", "9007199254740992", False),
    ("int", "1e3", "1000", True),
    ("int", "1e3f", "1", True),
    ("int", "none", "7", False),
    ("int", "7", "70", False),
    ("int", "-0", "0", True),
    ("num", "1.50", "1.5", True),
    ("num", ".5", "0.5", True),
    ("num", "value=.5", "0.5", True),
    ("num", "1.5e2", "150", True),
    ("num", "15e-1", "1.5", True),
    ("num", "99.5%", "99.5", True),
    ("num", "1.5", "1.51", False),
    ("num", "-1.5", "1.5", False),
    ("num", "1,234.5", "1234.50", True),
    ("num", "0.000", "0", True),
    ("num", "1e999999999", "1", False),
    ("num", "0.1", "0.10000000000000001", False),
    ("version", "5.7.21-log", "5.7.21", True),
    ("version", "v1.2", "1.2", True),
    ("version", "mysql  Ver 8.0.36 for Linux", "8.0.36", True),
    ("version", "Python 3", "3", True),
    ("version", "lib2 2.4.9", "2.4.9", True),
    ("version", "5.7.2", "5.7.21", False),
    ("version", "5.7", "5.7.21", False),
    ("version", "1.10", "1.1", False),
    ("version", "1.02", "1.2", True),
    ("version", "none", "1.2", False),
    *[("bool", word, "true", True) for word in ("yes", "TRUE", "Pass", "ok", "on", "1", '"yes"')],
    *[("bool", word, "false", True) for word in ("no", "False", "fail", "off", "0", "not ok")],
    ("bool", "yes", "no", False),
    ("bool", "maybe", "yes", False),
    ("bool", "", "no", False),
    ("set", "b, a", "a\nb", True),
    ("set", "a a b", "b a", True),
    ("set", '["a", "B"]', "b,a", True),
    ("set", "a; b", "a b", True),
    ("set", "- a\n- b", "a b", True),
    ("set", "New York\nParis", "paris, new  york", True),
    ("set", "a", "a b", False),
    ("set", "a b c", "a b", False),
    ("set", "", "a", False),
    ("set", "", "", True),
    ("set", "[]", " ", True),
    ("set", "a", "", False),
    ("seq", "a b", "a,b", True),
    ("seq", "a -> b", "a\nb", True),
    ("seq", "b a", "a b", False),
    ("seq", "a a b", "a b", False),
    ("seq", "(a, b)", '"a"\n"b"', True),
]


def test_equality_of_every_kind(userland: Userland) -> None:
    rows = []
    for kind, actual, expected, equal in EQUAL:
        check = f"expect_eq @ {shlex.quote(actual)} {shlex.quote(expected)} {kind}"
        rows.append((check, "PASS" if equal else "FAIL *"))
    userland.table(rows)


def test_an_expected_value_that_is_empty_or_of_another_kind_fails(userland: Userland) -> None:
    userland.table(
        [
            *((f"expect_eq @ '' '' {kind}", "FAIL the expected value '' is empty") for kind in ("text", "exact", "seq")),
            ("expect_eq @ ' ' '\"\"'", "FAIL the expected value '\"\"' is empty"),
            ("expect_eq @ x y int", "FAIL the expected value 'y' has no whole number"),
            ("expect_eq @ 1 1.5 int", "FAIL the expected value '1.5' has no whole number"),
            ("expect_eq @ x y num", "FAIL the expected value 'y' has no number"),
            ("expect_eq @ x y version", "FAIL the expected value 'y' has no version"),
            ("expect_eq @ perhaps perhaps bool", "FAIL the expected value 'perhaps' is neither true nor false"),
            ("expect_eq @ a b", "FAIL got 'a', expected 'b' (as text)"),
            ("expect_eq @ a a txt", "FAIL there is no kind 'txt': text, int, num, version, bool, set, seq or exact"),
            ("expect_eq @ a", "FAIL write expect_eq NAME ACTUAL EXPECTED [KIND], each value in double quotes"),
            ("expect_eq @ a b c d", "FAIL write expect_eq NAME ACTUAL EXPECTED [KIND], each value in double quotes"),
        ]
    )
