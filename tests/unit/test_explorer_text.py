"""Text made fit for a page, and names made fit for a file."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer_study import HOSTILE
from termdepth.explorer.text import HEAD_LINES, block, clean, file_name, squeeze


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("a\x00b\x07\x7f", "a␀b␇␡"),
        ("one\r\ntwo\rthree", "one\ntwo␍three"),
        ("a\x9b1m", "a⟨U+009B⟩1m"),
        ("ab\u202egpj", "ab⟨U+202E⟩gpj"),
        ("\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"),
        ("\ufeff\u200b", "⟨U+FEFF⟩⟨U+200B⟩"),
        ("\U000e0041", "⟨U+E0041⟩"),
        ("\ud83d", "⟨U+D83D⟩"),
        ("tab\tline\n", "tab\tline\n"),
        ("👩‍💻 日本 ä", "👩‍💻 日本 ä"),
    ],
)
def test_what_is_not_seen_is_made_visible(text: str, seen: str) -> None:
    assert clean(text) == seen


@given(st.text(alphabet=st.characters()))
def test_clean_text_can_be_written_and_is_clean(text: str) -> None:
    once = clean(text)
    once.encode("utf-8")
    assert clean(once) == once
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", once)


def test_the_empty_screen_below_the_prompt_is_left_out() -> None:
    assert squeeze("$ ls\na\n$" + "\n" * 30) == "$ ls\na\n$"
    assert squeeze("$\n" + "\n" * 22 + "Are you sure?") == "$\n[22 blank lines]\nAre you sure?"
    assert squeeze("a\n\n\nb") == "a\n\n\nb"


def test_a_short_text_is_whole_and_a_long_one_is_in_parts() -> None:
    assert (block("a\nb", 100).head, block("a\nb", 100).rest) == ("a\nb", "")
    lines = "\n".join(f"line {i}" for i in range(50))
    long = block(lines, 10_000)
    assert long.head.count("\n") == HEAD_LINES - 1
    assert long.head + "\n" + long.rest == lines
    assert long.rest_lines == 50 - HEAD_LINES
    assert long.left_out == 0
    one_line = block("x" * 5_000, 3_000)
    assert one_line.head + one_line.rest == "x" * 3_000
    assert one_line.left_out == 2_000


@given(st.text(), st.integers(0, 3_000))
def test_parts_of_a_text_make_it_up(text: str, limit: int) -> None:
    b = block(text, limit)
    assert b.head + b.rest in (text[:limit], text[:limit].replace("\n", "", 1)) or f"{b.head}\n{b.rest}" == text[:limit]
    assert b.left_out == max(0, len(text) - limit)


ODD = (
    *HOSTILE,
    "",
    ".",
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "A/b",
    "a-b",
    "a_b",
    "con",
    "ä",
    "日本",
    "x" * 999,
)


def test_file_names_are_safe_and_unique_whatever_the_case_rule() -> None:
    names = [file_name("d", t) for t in ODD] + [file_name("d/a", "b"), file_name("d", "a", "b"), file_name("D", "a/b")]
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]{0,60}", n) for n in names)
    assert len({n.casefold() for n in names}) == len(names)


def test_file_names_are_readable_and_stable() -> None:
    assert re.fullmatch(r"crack-7z-hash-[0-9a-f]{12}", file_name("tb2", "crack-7z-hash"))
    assert file_name("tb2", "a") == file_name("tb2", "a")
