"""The check library in real shells: what a whole check script may do, its processes, ports, limits and time."""

# ruff: noqa: F811 - fixtures are imported by name
from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from check_userlands import BASH, CHECKS, Userland, host, userland  # noqa: F401

# ---- the script


def _stopped(status: str, last: str = "a") -> str:
    after = f", the last check was '{last}'" if last else ""
    return f"FAIL check script: stopped before its last line (exit status {status}){after}"


STOPS = [  # a script, and the line it ends with
    ("pass a\nexit 0\npass b", _stopped("0")),
    ("pass a\nexit 3\npass b", _stopped("3")),
    ("pass a\nset -e\nfalse\npass b", _stopped("1")),
    ("pass a\nset -u\n: $nothing\npass b", _stopped("127")),
    ("pass a\nkill -9 $$\npass b", _stopped("137")),
    ("pass a\nkill $$\npass b", _stopped("143")),
    ("pass a\nexec true\npass b", _stopped("0")),
    ("pass a\nif true; then\n", _stopped("2")),
    ("pass a\ncat <<END\npass b", _stopped("0")),
    ("pass a\necho 'open\npass b", _stopped("2")),
    ("pass a\n)\npass b", _stopped("2")),
    ("f() { exit 0; }\npass a\nf\npass b", _stopped("0")),
    ("trap 'exit 0' EXIT\npass a\nexit 1\npass b", _stopped("0")),
    ("pass a\ntrap 'exit 0' ERR\nfalse\npass b", _stopped("0")),
    ("exit 0\npass a", _stopped("0", "")),
    ("echo PASS a", "FAIL check script: has no check"),
    ("", "FAIL check script: has no check"),
    ("# nothing", "FAIL check script: has no check"),
]


@pytest.mark.parametrize(("script", "line"), STOPS)
def test_a_script_that_stops_early_or_checks_nothing_fails(host: Userland, script: str, line: str) -> None:
    result = host.run(script)
    assert result.lines[-1:] == [line], result.log
    assert "PASS b" not in result.lines
    assert result.code == 2


RUNS = [  # scripts that come to their end
    "pass a",
    "pass a\n\n# comment",
    "pass a\nexit 0\n",
    "pass a\nexit",
    "set -euo pipefail\nexpect_eq a x x\nx=$(field /none k)\n",
    "set -e\ntrap 'false' EXIT\npass a\n",
    "pass a\nreturn 0\n:",
    "pass a\n(exit 3)\n",
    "pass a\nfalse",
    "IFS=,\nset -f\nshopt -s nullglob failglob\nexpect_eq a 'x y' 'X  y'\nexpect_out b 'x y' -- echo x y\n",
    "set -C\nexpect_ok a -- true\nexpect_ok b -- true\n",
    "REPLY=mine\nexpect_eq a x x\n[ $REPLY = mine ] && pass b",
    "set -o posix\nexpect_out a x -- echo x\n",
    "printf 'x\\ny\\n' | while read -r n; do pass $n; done",
    "pass a & pass b & wait",
    "( pass a )\npass b",
    "sleep 60 & pass a",
    "cat <<'X'\npass in a document\nX\npass a",
    "pass a\\\n",
    'pass "$(basename "$0")"',
    'read -r x; expect_eq a "x$x" x',
]


@pytest.mark.parametrize("script", RUNS)
def test_a_script_that_comes_to_its_end_passes(host: Userland, script: str) -> None:
    started = time.monotonic()
    result = host.run(script)
    assert result.code == 0, (result.lines, result.log)
    assert all(line.startswith("PASS ") for line in result.lines) and result.lines
    assert time.monotonic() - started < 40  # it does not wait for what the script leaves running


def test_every_function_of_the_paper_is_there_and_documented(host: Userland) -> None:
    checks = ["ok", "out", "no_out", "fail", "eq", "file", "port", "proc", "proc_arg"]
    names = [*(f"expect_{name}" for name in checks), "pass", "fail", "field", "column", "cell", "rows", "proc_start"]
    result = host.run("\n".join(f"expect_out {name} '^function$' -- type -t {name}" for name in names))
    assert result.lines == [f"PASS {name}" for name in names]
    document = (CHECKS.parents[1] / "docs" / "checks.md").read_text()
    assert [name for name in names if f"`{name} " not in document] == []


def test_patterns_over_an_output_of_many_lines(host: Userland) -> None:
    result = host.run(r"expect_no_out a '^line:\s+\d+x$' -- seq -f 'line:  %.0f' 20000")
    assert result.lines == ["PASS a"]
    assert result.seconds < 10


def test_a_name_is_used_once(host: Userland) -> None:
    result = host.run("pass a\npass a\n(fail a why)\npass 'a b'\npass 'a  b'\npass ' a b '\npass 'A'\n")
    assert result.lines == [
        "PASS a",
        "FAIL a: the name is used by an earlier check; this check passed",
        "FAIL a: the name is used by an earlier check; this check failed: why",
        "PASS a b",
        "PASS a  b",
        "FAIL a b: the name is used by an earlier check; this check passed",
        "PASS A",
    ]
    assert result.code == 1


def test_the_exit_status_tells_a_failed_check_from_a_script_at_fault(host: Userland) -> None:
    assert host.run("pass a\npass b").code == 0
    assert host.run("pass a\nfail b why").code == 1
    assert host.run("fail a why\nexit 0\npass b").code == 2
    assert host.run("pass 'check script'").code == 1


def test_only_lines_of_checks_reach_the_output(host: Userland) -> None:
    result = host.run("echo PASS forged; echo FAIL forged; echo log >&2; pass a; bash -c 'echo END; echo status 0'")
    assert (result.code, result.lines) == (0, ["PASS a"])
    assert {"PASS forged", "FAIL forged", "log"} <= set(result.log.splitlines())


def test_output_of_a_check_cannot_reach_the_result_channel(host: Userland) -> None:
    forge = "for fd in /proc/self/fd/*; do echo PASS forged > $fd; echo END 1 > $fd; done"
    result = host.run(f"expect_ok a -- bash -c '{forge}; exit 0' \nfail b no")
    assert result.lines == ["PASS a", "FAIL b: no"], result.log


@pytest.mark.parametrize("arguments", [[], ["/no/such/file"], ["/tmp"], ["a", "b"]])
def test_run_needs_one_script(arguments: list[str]) -> None:
    done = subprocess.run([BASH, str(CHECKS / "run.sh"), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout.startswith("FAIL check script: run.sh needs a check script")


def test_nothing_is_left_in_the_temporary_folder(host: Userland, tmp_path: Path) -> None:
    temporary = tmp_path / "t m p"
    temporary.mkdir()
    host.run("pass a\nexpect_ok b -- true\n", TMPDIR=str(temporary))
    host.run("expect_ok b -- true\nkill -9 $$", TMPDIR=str(temporary))
    assert list(temporary.iterdir()) == []


# ---- limits


def test_a_command_over_its_limit_fails_and_ends_with_what_it_started(host: Userland) -> None:
    started = time.monotonic()
    result = host.run(
        "expect_ok a -- bash -c 'sleep 301.5 & sleep 301.5'\n"
        "expect_out b x -- bash -c 'echo x; sleep 301.5'\n"
        "expect_fail c x -- bash -c 'trap \"\" TERM; echo x; sleep 301.5; exit 1'\n"
        "pass d\n",
        CHECK_COMMAND_SECONDS="1",
    )
    assert result.lines == [
        "FAIL a: bash: did not end within 1 seconds",
        "FAIL b: bash: did not end within 1 seconds",
        "FAIL c: bash: did not end within 1 seconds",
        "PASS d",
    ]
    assert time.monotonic() - started < 40
    assert not _running("301.5")


def test_a_script_over_its_limit_fails_and_ends_with_what_it_started(host: Userland) -> None:
    for script in ("pass a\nsleep 302.5\n", "pass a\nexpect_ok b -- sleep 302.5\n", "pass a\nx=$(sleep 302.5)\n"):
        result = host.run(script, CHECK_SCRIPT_SECONDS="2")
        assert result.lines[-1] == "FAIL check script: did not finish within 2 seconds, the last check was 'a'"
        assert result.code == 2
        time.sleep(0.2)
        assert not _running("302.5")


def test_the_limits_are_those_of_the_paper() -> None:
    assert "CHECK_COMMAND_SECONDS:-120}" in (CHECKS / "checks.sh").read_text()
    assert "CHECK_SCRIPT_SECONDS:-600}" in (CHECKS / "run.sh").read_text()


def test_run_that_is_told_to_end_takes_the_script_with_it(host: Userland) -> None:
    script = host.folder / "check.sh"
    script.write_text("pass a\nexpect_ok b -- sleep 303.5\n")
    run = subprocess.Popen([BASH, str(CHECKS / "run.sh"), str(script)], stdout=subprocess.PIPE)
    assert run.stdout and run.stdout.readline() == b"PASS a\n"
    _wait(lambda: _running("303.5"))
    run.send_signal(signal.SIGTERM)
    assert run.wait(30) == 143
    _wait(lambda: not _running("303.5"))


def test_endless_output_is_cut_off(host: Userland) -> None:
    result = host.run("expect_out a x -- yes\n")
    assert result.lines == ["FAIL a: yes: printed more than 33554432 bytes"]


def test_a_service_that_a_check_starts_goes_on_and_is_not_waited_for(host: Userland) -> None:
    started = time.monotonic()
    result = host.run("expect_ok a -- bash -c 'sleep 304.5 & echo $! > pid'\n")
    try:
        assert result.lines == ["PASS a"]
        assert time.monotonic() - started < 40
        assert _running("304.5")
    finally:
        os.kill(int((host.folder / "pid").read_text()), signal.SIGKILL)


def test_thirty_checks_take_well_under_a_second_of_processor_time(host: Userland) -> None:
    (host.folder / "t").write_text("id,n\n" + "".join(f"{i},{i * i}\n" for i in range(100)))
    lines = []
    for i in range(10):
        lines += [
            f"expect_out o{i} 'value: {i}' -- echo 'value:  {i}'",
            f'expect_eq c{i} "$(cell t id:1 {i} n:2)" {i * i} int',
            f"expect_file f{i} t",
        ]
    result = host.run("\n".join(lines))
    assert result.code == 0
    assert len(result.lines) == 30
    assert result.seconds < 0.8


# ---- processes and ports


def _running(argument: str) -> bool:
    """A process that is not a zombie has exactly this argument."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if argument.encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False


def _wait(condition: object) -> None:
    assert callable(condition)
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come to pass within 30 s")


@contextmanager
def _process(*command: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


SLEEPER = "import time; time.sleep(300)\n"


def _write(folder: Path, name: str, text: str) -> str:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return f"{folder}/{name}"


def test_a_process_is_found_however_it_was_started(userland: Userland) -> None:
    here = userland.folder
    sleep = shutil.which("sleep") or "/bin/sleep"
    service = _write(here, "my service.py", SLEEPER)
    shebang = _write(here, "depot-serve", "#!/bin/bash\nread -t 300 < <(sleep 300)\n")
    shutil.copy(sleep, here / "copied-prog")
    (here / "linked-prog").symlink_to(here / "copied-prog")
    _write(here, "mod/pkgmod.py", SLEEPER)
    with (
        _process(sys.executable, "-W", "ignore", "-u", service, "--port=7001", "a b", folder=here),
        _process(shebang, "x", folder=here),
        _process("./copied-prog", "305", folder=here),
        _process("./linked-prog", "306", folder=here),
        _process(sys.executable, "-m", "pkgmod", folder=here / "mod"),
        _process(sys.executable, "-c", SLEEPER, "only-an-argument", "--depot-arg", folder=here),
        _process("bash", "-c", "exec -a 'titled: master process' sleep 307", folder=here),
        _process("bash", "-c", "sleep 308; true", "depot-zero", folder=here),
    ):
        _wait(lambda: _running("307") and _running("308"))
        userland.table(
            [
                ("expect_proc @ 'my service.py'", "PASS"),
                ("expect_proc @ '/elsewhere/my service.py'", "PASS"),
                ("expect_proc @ depot-serve", "PASS"),
                ("expect_proc @ copied-prog", "PASS"),
                ("expect_proc @ linked-prog", "PASS"),
                ("expect_proc @ pkgmod", "PASS"),
                ("expect_proc @ titled", "PASS"),
                ("expect_proc @ only-an-argument", "FAIL no process runs only-an-argument"),
                ("expect_proc @ depot-zero", "FAIL no process runs depot-zero"),
                ("expect_proc @ depot", "FAIL no process runs depot"),
                ("expect_proc @ 'depot.*'", "FAIL no process runs depot.*"),
                ("expect_proc @", "FAIL write*"),
                ("expect_proc @ a b", "FAIL write*"),
                ("expect_proc_arg @ 'my service.py' --port=7001 'a b'", "PASS"),
                ("expect_proc_arg @ 'my service.py' --port 7001", "PASS"),
                ("expect_proc_arg @ 'my service.py' 7001", "PASS"),
                ("expect_proc_arg @ 'my service.py' a", "FAIL no process running my service.py has all of: a"),
                ("expect_proc_arg @ 'my service.py' --port=7002", "FAIL no process running*"),
                ("expect_proc_arg @ copied-prog 305 306", "FAIL no process running copied-prog has all of: 305 306"),
                ("expect_proc_arg @ absent x", "FAIL no process runs absent"),
                ("expect_proc_arg @ copied-prog", "FAIL write*"),
            ]
        )


def test_a_program_found_by_its_file_where_a_link_has_another_name(host: Userland) -> None:
    sleep = shutil.which("sleep") or "/bin/sleep"
    shutil.copy(sleep, host.folder / "real-prog")
    (host.folder / "alias").symlink_to("real-prog")
    with _process("./alias", "300", folder=host.folder):
        host.table([("expect_proc @ alias", "PASS"), ("expect_proc @ real-prog", "PASS")])
    host.table([("expect_proc @ real-prog", "FAIL no process runs real-prog")])


def test_a_check_does_not_find_its_own_shells(tmp_path: Path) -> None:
    """In a process namespace of its own, no other bash runs than those of the check."""
    script = tmp_path / "check.sh"
    script.write_text(
        'expect_proc a bash\nx=$(proc_start bash)\nexpect_eq b "$x" none\n( expect_proc c bash )\n'
        "expect_proc d run.sh & wait\nexpect_proc f check.sh\nsleep 20 & expect_proc e sleep\n"
    )
    command = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    inside = ["python3", "-c", f"import subprocess; subprocess.run(['bash', '{CHECKS}/run.sh', '{script}'])"]
    done = subprocess.run([*command, *inside], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "FAIL a: no process runs bash",
        "FAIL b: got '', expected 'none' (as text)",
        "FAIL c: no process runs bash",
        "FAIL d: no process runs run.sh",
        "FAIL f: no process runs check.sh",
        "PASS e",
    ]


def test_start_times_can_be_compared(userland: Userland) -> None:
    for name in ("early-prog", "late-prog"):
        shutil.copy(shutil.which("sleep") or "/bin/sleep", userland.folder / name)
    script = (
        "early=$(proc_start early-prog) late=$(proc_start /any/late-prog)\n"
        'if [ "$late" -gt "$early" ]; then pass later; else fail later "$late is not after $early"; fi\n'
        'if [ "$(proc_start late-prog)" = "$late" ]; then pass same; else fail same x; fi\n'
        'expect_eq none "x$(proc_start absent-prog)" x exact\n'
    )
    with _process("./early-prog", "300", folder=userland.folder):
        time.sleep(0.2)
        with _process("./late-prog", "300", folder=userland.folder):
            assert userland.run(script).lines == ["PASS later", "PASS same", "PASS none"]
            time.sleep(0.2)
            with _process("./early-prog", "301", folder=userland.folder):  # the newest counts
                assert userland.run(script).lines[0].startswith("FAIL later: ")


def test_ports(userland: Userland) -> None:
    with socket.socket() as listening, socket.socket() as bound:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        bound.bind(("127.0.0.1", 0))
        threading.Thread(target=lambda: listening.accept(), daemon=True).start()
        opened, closed = listening.getsockname()[1], bound.getsockname()[1]
        userland.table(
            [
                (f"expect_port @ 127.0.0.1 {opened}", "PASS"),
                (f"expect_port @ localhost {opened}", "PASS"),
                (f"expect_port @ 127.0.0.1 {closed}", f"FAIL no connection to 127.0.0.1 port {closed}: *"),
                ("expect_port @ 127.0.0.1 0", "FAIL *"),
                ("expect_port @ 127.0.0.1 99999", "FAIL *"),
                ("expect_port @ '' 80", "FAIL write expect_port NAME HOST PORT"),
                ("expect_port @ 127.0.0.1 '$(touch pwned)'", "FAIL write expect_port NAME HOST PORT"),
                ("expect_port @ 127.0.0.1", "FAIL write expect_port NAME HOST PORT"),
            ]
        )
    assert not (userland.folder / "pwned").exists()


def test_files(userland: Userland) -> None:
    (userland.folder / "full").write_text("x")
    (userland.folder / "empty").touch()
    (userland.folder / "-n").write_text("x")
    (userland.folder / "$(touch pwned)").write_text("x")
    (userland.folder / "link").symlink_to("full")
    (userland.folder / "dangling").symlink_to("nowhere")
    os.mkfifo(userland.folder / "pipe")
    userland.table(
        [
            ("expect_file @ full", "PASS"),
            ("expect_file @ .", "PASS"),
            ("expect_file @ link", "PASS"),
            ("expect_file @ -n", "PASS"),
            ("expect_file @ '$(touch pwned)'", "PASS"),
            ("expect_file @ empty", "FAIL empty is empty"),
            ("expect_file @ pipe", "FAIL pipe is neither a file nor a directory"),
            ("expect_file @ dangling", "FAIL dangling is neither a file nor a directory"),
            ("expect_file @ nowhere", "FAIL nowhere does not exist"),
            ("expect_file @ '*'", "FAIL * does not exist"),
            ("expect_file @", "FAIL write expect_file NAME PATH"),
        ]
    )
    assert not (userland.folder / "pwned").exists()
