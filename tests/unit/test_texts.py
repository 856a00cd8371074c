"""The words the harness adds, and reading them back."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from termdepth.harness import texts

HOSTILE = [
    "Use {this} and {0} and {{that}} and {instruction} {cap!r:>10}.",
    "Part 3 of 4:",
    "Part 1 is marked complete. Here is part 2 of 9:\n\nNot really.",
    "You have at most 3 turns for this task.",
    "You have at most 3 turns for the whole task, all 5 parts together.",
    "This task has 7 parts.",
    "Turns used so far: 1 of 2.\n\nCurrent terminal screen:\n",
    r"\1 \g<0> (?P<x>) $ ^ [",
    "",
    "  \n\n",
]
instructions = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(max_size=60),
    st.lists(st.sampled_from(HOSTILE), max_size=4).map("\n".join),
)
caps = st.one_of(st.none(), st.integers(1, 200))


@given(instructions, caps)
def test_single_instruction_states_its_cap(instruction: str, cap: int | None) -> None:
    text = texts.single_instruction(instruction, cap)
    assert texts.stated_cap(text) == cap
    assert texts.current_part(text) is None or instruction.lstrip().startswith("Part ")
    assert text.startswith(instruction.rstrip())
    assert cap is not None or text == instruction


@given(instructions, st.integers(2, 12), caps)
@example("Part 3 of 4:\n\nYou have at most 3 turns for this task.", 2, 5)
def test_first_part_states_cap_and_part(instruction: str, parts: int, cap: int | None) -> None:
    text = texts.first_part(instruction, parts, cap)
    assert texts.stated_cap(text) == cap
    assert texts.current_part(text) == (1, parts)
    assert text.endswith(f"Part 1 of {parts}:\n\n{instruction}")
    assert f"{parts} parts" in text


@given(instructions, st.integers(2, 12), st.integers(2, 12), st.text(max_size=40), st.integers(0, 99), caps)
def test_next_part_brings_its_part(instruction: str, a: int, b: int, screen: str, used: int, cap: int | None) -> None:
    part, parts = min(a, b), max(a, b)
    text = texts.next_part(instruction, part, parts, screen=screen, used=used, cap=cap)
    assert texts.current_part(text) == (part, parts)
    assert text.startswith(f"Part {part - 1} is marked complete. Here is part {part} of {parts}:\n\n{instruction}")
    assert text.endswith(f"Current terminal screen:\n{screen}")
    report = f"{instruction}\n\nTurns used so far: {used} of {cap}.\n\nCurrent"
    assert (report in text) == (cap is not None) or "Turns used" in instruction


@given(st.lists(instructions, min_size=1, max_size=4), caps)
def test_what_a_compression_is_told_keeps_cap_and_parts(given_: list[str], cap: int | None) -> None:
    assume(len(given_) > 1 or given_[0].strip())
    parts = max(2, len(given_))
    text = texts.given_so_far(given_, parts, cap)
    assert texts.stated_cap(text) == cap
    for number, instruction in enumerate(given_, 1):
        assert f"Part {number} of {parts}:\n\n{instruction}" in text
    assert texts.given_so_far(given_[:1], 1, cap) == texts.single_instruction(given_[0], cap)


def test_cap_in_both_forms() -> None:
    single = texts.single_instruction("Do it.\n", 3)
    assert single.startswith("Do it.\n\nYou have at most 3 turns for this task. ")
    assert "stopped after turn 3" in single
    first = texts.first_part("Do it.", 4, 20)
    assert "You have at most 20 turns for the whole task, all 4 parts together." in first  # the paper's words
    assert "parts not finished by turn 20 fail" in first
    assert texts.next_part("x", 2, 4, screen="$", used=7, cap=20).count("Turns used so far: 7 of 20.") == 1


@pytest.mark.parametrize("text", [texts.single_instruction("x", 1), texts.first_part("x", 2, 1)])
def test_one_turn_is_singular(text: str) -> None:
    assert "at most 1 turn for" in text and "1 turns" not in text
    assert texts.stated_cap(text) == 1


def test_other_text_states_nothing() -> None:
    for text in ["", "Part 3 of 4:", "You have at most 3 turns for this task.", "Here is part 2 of 3:", *HOSTILE]:
        assert texts.stated_cap(text) is None
    assert texts.current_part("see Part 3 of 4:\nHere is part 2 of 3:") is None


def test_read_back_inside_terminus_prompt() -> None:
    """As scripted models do it: the instruction stands in the middle of a long prompt."""
    from termdepth.models.conversation import read_conversation

    prompt = "…\n\nTask Description:\n{}\n\nCurrent terminal state:\nCurrent Terminal Screen:\n$ "
    for instruction in HOSTILE:
        if "erminal screen" in instruction:
            continue
        for text, part in (
            (texts.single_instruction(instruction, 7), None),
            (texts.first_part(instruction, 3, 7), 1),
        ):
            state = read_conversation([{"role": "user", "content": prompt.format(text)}])
            assert state.cap == 7
            assert state.part == part or instruction.startswith("Part 1 is")
