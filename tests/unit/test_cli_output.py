"""Numbers and untrusted text as `termdepth` prints them for people."""

from __future__ import annotations

import pytest

from termdepth.cli_output import dollars, duration, lines, size


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.00 s"), (0.4712904329990124, "0.47 s"), (9.994, "9.99 s"), (9.996, "10.0 s"), (119.94, "119.9 s"),
        (119.96, "2.0 min"), (7190.0, "119.8 min"), (7200.0, "2.0 h"),
    ],
)  # fmt: skip
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (0.0, "$0"),
        (12.5, "$12.50"),
        (0.1284, "$0.13"),
        (0.00999, "$0.0100"),
        (0.0000123, "$0.000012"),
        (1234.5, "$1234.50"),
    ],
)
def test_dollars(usd: float, text: str) -> None:
    assert dollars(usd) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_960, "1.0 MB"), (4_100_000_000, "4.1 GB")]
)
def test_size(count: int, text: str) -> None:
    assert size(count) == text


def test_lines() -> None:
    shown = list(lines({"R": 1 / 3, "minutes": 0.010525680750015453, "passed": True, "N": None, "cost_usd": 0.0}))
    assert shown == [
        "R, share of those runs that pass  0.33",
        "time                              0.63 s",
        "passed                            yes",
        "cost                              $0",
    ]


def test_text_of_others_stays_text() -> None:
    shown = list(lines({"reason": "no build: \x1b[2Jgone\nnext\u202e", "verifier_said": ["a", "b"]}))
    assert shown == [
        "reason             no build: ␛[2Jgone",
        "                   next⟨U+202E⟩",
        "what it said last  a",
        "                   b",
    ]
