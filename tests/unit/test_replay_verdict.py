"""What counts as a failure of a check, what as a crash, and what as no result."""

from __future__ import annotations

import pytest

from termdepth.replay.changes import Look
from termdepth.replay.container import Ran, Seen
from termdepth.replay.pages import page, page_name
from termdepth.replay.verdict import Verdict, failed_checks, judge, passed_checks

LINES = "PASS a\nFAIL b: it is 2, not 3\nPASS port: open\n"


@pytest.mark.parametrize(
    ("reward", "log", "crash", "broken", "verdict"),
    [
        (0.0, LINES, None, None, Verdict(True, False, None)),
        (1.0, "PASS a\n", None, None, Verdict(False, False, None)),
        (0.5, "2 of 4 tests\n", None, None, Verdict(True, False, None)),
        (1.5, "", None, None, Verdict(False, False, None)),
        (0.0, "", None, None, Verdict(True, False, None)),
        # A crash is not a failure of a check, whatever was printed before it.
        (
            0.0,
            LINES + "FAIL check script: stopped before its last line (exit status 1), the last check was 'b'\n",
            None,
            None,
            Verdict(None, True, "stopped before its last line (exit status 1), the last check was 'b'"),
        ),
        (
            0.0,
            "FAIL check script: did not finish within 600 seconds\n",
            None,
            None,
            Verdict(None, True, "did not finish within 600 seconds"),
        ),
        (0.0, "FAIL check scripts are listed: no\n", None, None, Verdict(True, False, None)),
        (
            None,
            LINES,
            "the checks ran longer than their time limit",
            None,
            Verdict(None, True, "the checks ran longer than their time limit"),
        ),
        (None, "", None, None, Verdict(None, True, "no reward")),
        (None, "", None, "the container is gone", Verdict(None, False, "the container is gone")),
    ],
)
def test_judge(reward: float | None, log: str, crash: str | None, broken: str | None, verdict: Verdict) -> None:
    assert judge(reward, log, crash, broken) == verdict


def test_names_that_hold_colons() -> None:
    names = ["report", "report: port", "report: pid"]
    log = "FAIL report: port: it is empty\nFAIL report: pid is missing\nFAIL report: pid: none\nFAIL other: 1\n"
    assert failed_checks(log, names) == ["report: port", "report", "report: pid", "other: 1"]
    assert passed_checks("PASS report: port\n PASS no\nsaid PASS x\nPASS b\n") == ["report: port", "b"]


SEGMENTS = ["1-start", "2-move"]


def test_a_page_tells_what_passed_and_shows_the_log() -> None:
    look = Look(2, "key_step_removed_then_next", 1)
    seen = Seen(1.0, "PASS it answers\nPASS log: *all* `of` it\n", None, None, 1.0, (Ran(1, True, 2, "oops\n"),))
    text = page("tally", SEGMENTS, look, seen, judge(seen.reward, seen.log, None, None), "#!/bin/bash\ntrue\n")
    assert page_name(look) == "1-key_step_removed_then_next.md"
    assert "The checks of segment 2 (2-move) passed, and one should have failed." in text
    assert "- it answers\n- log: \\*all\\* \\`of\\` it\n" in text
    assert "What the solution of segment 1 printed, with the part removed (exit status 2)" in text
    assert "Segment 2 does not need what the key step of segment 1 produces." in text


def test_output_of_a_container_cannot_leave_its_fence() -> None:
    look = Look(1, "event_removed", 1, "re/start\n../x")
    seen = Seen(1.0, "```\n# heading\n````\n\x1b[31mred\n<script>\n", None, None, 1.0)
    text = page("a`b", SEGMENTS, look, seen, judge(1.0, seen.log, None, None), None)
    assert "/" not in page_name(look) and "\n" not in page_name(look)
    fenced = text.split("`````")
    assert len(fenced) == 3
    assert "# heading" in fenced[1] and "<script>" in fenced[1]
    assert "# heading" not in fenced[0] + fenced[2] and "\x1b" not in text


def test_a_crash_has_a_page_that_says_so() -> None:
    look = Look(1, "checks_before_work", 1)
    seen = Seen(0.0, "FAIL check script: has no check\n", None, None, 1.0)
    text = page("t", SEGMENTS, look, seen, judge(0.0, seen.log, None, None), None)
    assert "did not run to a result: has no check" in text and "counted apart" in text
