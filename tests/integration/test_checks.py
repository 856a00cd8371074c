"""The check library in real shells: every function, kind and reader of resources/checks (paper, App. F, Table 7).

A table is one check script with a check a row; what a row must say is beside it. Each table runs in every userland.
"""

# ruff: noqa: F811 - fixtures are imported by name
from __future__ import annotations

import os
import shlex
import time

import pytest
from check_userlands import Userland, host, userland  # noqa: F401

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
        rows.append(
            (f"expect_out @ {shlex.quote(pattern)} -- cat o{len(rows)}", "PASS" if matches else "FAIL no line*")
        )
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
            *(
                (f"expect_eq @ '' '' {kind}", "FAIL the expected value '' is empty")
                for kind in ("text", "exact", "seq")
            ),
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


HOSTILE = [
    "*",
    "/etc/*",
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "a' -o 'b",
    "-n",
    "-e x",
    "--",
    "(",
    "!",
    "= b",
    "a\\b\\n",
    "%s%n",
    "&& \\1",
    "${x}",
    "[a-z]*",
    "a\x01b",
    "\xff\xfe",
    "x" * 200_000,
    "y z " * 50_000,
]


@pytest.mark.parametrize("kind", ["text", "exact", "set", "seq"])
def test_hostile_values_are_compared_never_executed(userland: Userland, kind: str) -> None:
    script = []
    for i, value in enumerate(HOSTILE):
        (userland.folder / f"v{i}").write_bytes(value.encode("latin-1"))
        script.append(f'expect_eq same{i} "$(cat v{i})" "$(cat v{i})" {kind}')
        script.append(f'expect_eq other{i} "$(cat v{i})x" "$(cat v{i})" {kind}')
    result = userland.run("\n".join(script))
    assert [line for line in result.lines if line.startswith("FAIL same")] == [], result.log
    assert [line for line in result.lines if line.startswith("PASS other")] == [], result.log
    assert len(result.lines) == 2 * len(HOSTILE)
    assert max(map(len, result.lines)) < 600
    assert not (userland.folder / "pwned").exists()


@pytest.mark.parametrize("unit", ["x", "9", " ", '"', "a ", ",1", "[\n", "1.", "-", ": "])
def test_values_of_a_megabyte_take_seconds_at_most(host: Userland, unit: str) -> None:
    """Patterns that start again at every place of a long run would need minutes."""
    (host.folder / "v").write_text((unit * 1_000_000)[:1_000_000])
    kinds = ["text", "exact", "int", "num", "version", "bool", "set", "seq"]
    result = host.run("v=$(cat v)\n" + "\n".join(f'expect_eq {kind} "$v" "${{v}}q" {kind}' for kind in kinds))
    assert len(result.lines) == len(kinds), result.log
    assert result.seconds < 30


def test_hostile_names_reasons_and_outputs_stay_in_their_line(userland: Userland) -> None:
    (userland.folder / "nul").write_bytes(b"a\0b\nPASS forged\n\x1b[2Jend\n")
    result = userland.run(
        "pass $'two\\nPASS lines'\n"
        "fail 'a name' $'why\\nPASS other\\e[2J'\n"
        "pass '-n'\n"
        "pass '*'\n"
        "pass '$(touch pwned)'\n"
        "fail ''\n"
        "expect_out nul '^ab$' -- cat nul\n"
        "expect_ok bad -- bash -c 'cat nul; exit 1'\n"
    )
    assert result.lines == [
        "PASS two PASS lines",
        "FAIL a name: why PASS other [2J",
        "PASS -n",
        "PASS *",
        "PASS $(touch pwned)",
        "FAIL (no name): a check needs a name",
        "PASS nul",
        "FAIL bad: exit status 1; it printed: ab PASS forged  [2Jend",
    ]
    assert not (userland.folder / "pwned").exists()


# ---- readers

REPORT = (
    "\ufeff# Report\r\n"
    "- **Last day**:  2024-05-31 \r\n"
    "Row Count = '5'\r\n"
    "url: http://x:80/?a=b\r\n"
    "again: 1\r\nagain: 1\r\n"
    "differs: 1\r\nDiffers: 2\r\n"
    "tab\tvalue of tab\r\n"
    "wide      two words\r\n"
    "| piped | 7 |\r\n"
    "empty:\r\n"
    "a:b: colon in the key\r\n"
    "hostile: $(touch pwned) `touch pwned` *\r\n"
    "2. numbered: x\r\n"
).encode()
FIELDS = [
    ("last_day", "2024-05-31"),
    ("LAST-DAY", "2024-05-31"),
    ("last day", "2024-05-31"),
    ("row_count", "5"),
    ("row", ""),
    ("count", ""),
    ("url", "http://x:80/?a=b"),
    ("again", "1"),
    ("differs", ""),
    ("tab", "value of tab"),
    ("wide", "two words"),
    ("piped", "7"),
    ("empty", ""),
    ("a:b", "colon in the key"),
    ("hostile", "$(touch pwned) `touch pwned` *"),
    ("numbered", "x"),
    ("absent", ""),
    ("$(touch pwned)", ""),
    (".*", ""),
]
JSON = (
    b'{"Total Rows": 12, "name": "a \\"b\\" \\\\ c\\/d", "e": "caf\\u00e9 \\ud83d\\ude00", "ok": true, "nothing": null,\n'
    b' "list": ["x, y", 2,\n 3.50], "empty": [], "deep": {"inner-key": -1e5, "list": "other"}, "braces": "}]{[,:",\n'
    b'  "rows": [{"id": 1, "same": 4}, {"id": 2, "same": 4}]}\n'
)
JSON_FIELDS = [
    ("total_rows", "12"),
    ("name", 'a "b" \\ c/d'),
    ("e", "caf\u00e9 \U0001f600"),
    ("ok", "true"),
    ("nothing", ""),
    ("list", "x, y\n2\n3.50"),
    ("empty", ""),
    ("inner_key", "-1e5"),
    ("deep.inner-key", "-1e5"),
    ("deep.list", "other"),
    ("braces", "}]{[,:"),
    ("same", "4"),
    ("id", ""),
    ("absent", ""),
]


def _readings(userland: Userland, calls: list[str]) -> list[str]:
    """What each call of a reader prints (through the shell's own $(...))."""
    script = "\n".join(f'printf "%s" "$({call})" > got{i}' for i, call in enumerate(calls))
    result = userland.run(script + "\npass end\n")
    assert result.lines == ["PASS end"], result.log
    return [(userland.folder / f"got{i}").read_bytes().decode(errors="surrogateescape") for i in range(len(calls))]


@pytest.mark.parametrize(("content", "expected"), [(REPORT, FIELDS), (JSON, JSON_FIELDS)], ids=["lines", "json"])
def test_field(userland: Userland, content: bytes, expected: list[tuple[str, str]]) -> None:
    (userland.folder / "r").write_bytes(content)
    got = _readings(userland, [f"field r {shlex.quote(key)}" for key, _ in expected])
    assert dict(zip([key for key, _ in expected], got, strict=True)) == dict(expected)
    assert not (userland.folder / "pwned").exists()


BROKEN = [
    '{"a": 1',
    '{"a": 1,}',
    '{"a" 1}',
    '{"a": 1} x',
    '{"a": "x}',
    '{"a": 01x}',
    '{"a": [1}',
    "{a: 1}",
    '{"b": 2 "a": 1}',
]


def test_field_reads_nothing_from_broken_json(userland: Userland) -> None:
    for i, broken in enumerate(BROKEN):
        (userland.folder / f"r{i}").write_text(broken)
    assert _readings(userland, [f"field r{i} a" for i in range(len(BROKEN))]) == [""] * len(BROKEN)


def test_field_reads_json_of_a_megabyte(host: Userland) -> None:
    (host.folder / "r").write_text('{"a": [' + "1," * 300_000 + '2], "c": "' + "x\\n" * 300_000 + '", "b": "y"}')
    assert _readings(host, ["field r b"]) == ["y"]


TABLES = {
    "csv": b'\xef\xbb\xbfName,Disk Size,note\r\n"Doe, J",5,"a ""q"" b"\r\nx,7,"two\nlines"\r\n\r\nz,,end\r\n',
    "plain": b"a,1\nb,2\n",
    "tsv": b"key\tmy value\na\tx, y\nb\t\n",
    "markdown": b"| Key | My-Val |\n|-----|-------:|\n| a   | 1 |\n| b\\|c | `2` |\n",
    "psql": b" id | city\n----+----------\n  1 | New York\n  2 | \n(2 rows)\n",
    "mysql": b"+----+---+\n| id | n |\n+----+---+\n|  1 | 7 |\n+----+---+\n",
    "aligned": b"NAME        SIZE  OWNER\nNew York    12    a, b\nOslo        7     c\n",
    "narrow": b"name size\nabc 1\nlonger 22\n",
    "ruled": b"name  size\n----  ----\nabc   1\n",
    "one": b"city\nNew York\nOslo\n",
    "commented": b"# id, n\n1, 5\n",
    "latin": b"name,n\ncaf\xe9,3\n",
    "hostile": b"k,v\n$(touch pwned),*\n-n,`touch pwned`.\n",
    "double": b"k,v\na,1\na,2\nB,3\nb,4\n",
    "padded": b"name,    size\nNew York,  5\nOslo  ,  12\n",
    "single": b"7|y\n",
    "empty": b"",
}
TABLE_CALLS = [
    ("column csv disk_size:2", "5\n7"),
    ("column csv NAME:1", "Doe, J\nx\nz"),
    ("cell csv name:1 'doe,  j' note:3", 'a "q" b'),
    ("cell csv name:1 x note:3", "two\nlines"),
    ("cell csv name:1 z disk-size:2", ""),
    ("cell csv name:1 z note", "end"),
    ("rows csv name:1", "3"),
    ("column csv absent", ""),
    ("column plain k:2", "1\n2"),
    ("rows plain k:1", "2"),
    ("cell plain k:1 b v:2", "2"),
    ("column plain k", ""),
    ("column tsv MY_VALUE:2", "x, y"),
    ("rows tsv key:1", "2"),
    ("column markdown my_val:2", "1\n2"),
    ("cell markdown key:1 'b|c' my-val:2", "2"),
    ("rows markdown key:1", "2"),
    ("column psql city:2", "New York"),
    ("rows psql id:1", "2"),
    ("cell mysql id:1 1 n:2", "7"),
    ("rows mysql id:1", "1"),
    ("cell aligned name:1 'new york' size:2", "12"),
    ("column aligned owner:3", "a, b\nc"),
    ("cell narrow name:1 longer size:2", "22"),
    ("rows narrow name:1", "2"),
    ("column ruled size:2", "1"),
    ("cell padded name:1 oslo size:2", "12"),
    ("column padded name:1", "New York\nOslo"),
    ("column one city:1", "New York\nOslo"),
    ("rows one city:1", "2"),
    ("cell commented id:1 1 n:2", "5"),
    ("column latin name:1", "caf\udce9"),
    ("cell latin name:1 $'caf\\xe9' n:2", "3"),
    ("column hostile v:2", "*\n`touch pwned`."),
    ("cell hostile k:1 -n v:2", "`touch pwned`."),
    ("cell hostile k:1 '$(touch pwned)' v:2", "*"),
    ("cell hostile k:1 '.*' v:2", ""),
    ("cell double k:1 a v:2", ""),
    ("cell double k:1 b v:2", "4"),
    ("column single x:2", "y"),
    ("rows single x:2", "1"),
    ("rows empty x:1", "0"),
    ("column empty x:1", ""),
    ("rows absent x:1", ""),
    ("column absent x:1", ""),
    ("cell absent x:1 a y:2", ""),
    ("field absent x", ""),
    ("field", ""),
    ("cell csv name:1", ""),
    ("column /dev/null x:1", ""),
    ("column <(printf 'a,b\\n1,2\\n') b:2", "2"),
]


def test_tables(userland: Userland) -> None:
    for name, content in TABLES.items():
        (userland.folder / name).write_bytes(content)
    got = _readings(userland, [call for call, _ in TABLE_CALLS])
    wrong = {call: said for (call, wanted), said in zip(TABLE_CALLS, got, strict=True) if said != wanted}
    assert wrong == {}
    assert not (userland.folder / "pwned").exists()


def test_a_reader_does_not_wait_for_a_pipe_in_the_place_of_a_report(userland: Userland) -> None:
    os.mkfifo(userland.folder / "r")
    started = time.monotonic()
    assert _readings(userland, ["field r a", "rows r a:1"]) == ["", ""]
    assert time.monotonic() - started < 10
