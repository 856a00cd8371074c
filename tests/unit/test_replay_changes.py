"""Which replays a task has (Table 8), and what is run before each look."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from termdepth.replay.changes import Branch, Look, Part, Work, branches

PARTS = st.lists(
    st.builds(
        Part,
        st.sampled_from([None, "without the key step"]),
        st.dictionaries(st.sampled_from(["start", "stop", "reload"]), st.just("without the event")),
    ),
    min_size=1,
    max_size=7,
)


def before(branch: Branch, look: Look) -> list[tuple[int, str | None]]:
    """The scripts run before a look: (segment, text in the place of the script)."""
    place = branch.steps.index(look)
    return [(s.segment, s.script) for s in branch.steps[:place] if isinstance(s, Work)]


@given(PARTS)
def test_every_change_of_every_segment_is_looked_at_once(parts: list[Part]) -> None:
    looks = [look for branch in branches(parts) for look in branch.looks]
    k = len(parts)
    wanted = Counter(("checks_before_work", s, None) for s in range(1, k + 1))
    wanted.update(("previous_skipped", s, None) for s in range(2, k + 1))
    for s, part in enumerate(parts, start=1):
        wanted.update(("event_removed", s, event) for event in part.without_event)
        if part.without_key_step is not None:
            wanted["key_step_removed", s, None] += 1
            if s < k:
                wanted["key_step_removed_then_next", s, None] += 1
    assert Counter((look.change, look.segment, look.event) for look in looks) == wanted


@given(PARTS)
def test_what_runs_before_a_look_is_the_change_and_nothing_else(parts: list[Part]) -> None:
    for branch in branches(parts):
        for look in branch.looks:
            s = look.segment
            earlier = [(i, None) for i in range(1, s)]
            expected = {
                "checks_before_work": (s, earlier),
                "previous_skipped": (s, [*earlier[:-1], (s, None)]),
                "event_removed": (s, [*earlier, (s, "without the event")]),
                "key_step_removed": (s, [*earlier, (s, "without the key step")]),
                "key_step_removed_then_next": (s + 1, [*earlier, (s, "without the key step"), (s + 1, None)]),
            }[look.change]
            assert (look.checked, before(branch, look)) == expected


@given(PARTS)
def test_names_are_unique_and_fit_a_file_name(parts: list[Part]) -> None:
    names = [branch.name for branch in branches(parts)]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").isalnum() for name in names)


@pytest.mark.parametrize("k", range(1, 9))
def test_growth_with_the_number_of_segments(k: int) -> None:
    """Without events: 2k containers, and k^2 + 2(k - 1) scripts, since a container cannot be turned back."""
    found = branches([Part("without")] * k)
    assert len(found) == 2 * k
    assert sum(isinstance(s, Work) for b in found for s in b.steps) == k * k + 2 * (k - 1)
    assert sum(len(b.looks) for b in found) == 4 * k - 2
