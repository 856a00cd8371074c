"""Groups, evidence, the order of the draw and replacement (App. C)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from termdepth.errors import UserError
from termdepth.tasks.sampling import (
    ALL,
    NO_LABEL,
    Evidence,
    Selection,
    Split,
    assign_groups,
    draw,
    quantile_limits,
    select,
    with_csv,
    with_evidence,
)

GROUPS = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=5), st.sampled_from("ABCD"), max_size=60)
SEEDS = st.integers(0, 5)


def rows(**columns: list[Any]) -> list[dict[str, Any]]:
    size = len(next(iter(columns.values())))
    return [{"task": f"t{i}"} | {name: values[i] for name, values in columns.items()} for i in range(size)]


# --- the order


@settings(deadline=None)
@given(GROUPS, SEEDS)
def test_every_prefix_is_balanced_over_the_groups_that_are_not_exhausted(groups: dict[str, str], seed: int) -> None:
    order = draw(groups, seed)
    assert sorted(drawn.task for drawn in order) == sorted(groups)
    assert [drawn.order for drawn in order] == list(range(len(groups)))
    sizes = Counter(groups.values())
    counts: Counter[str] = Counter()
    for drawn in order:
        counts[drawn.group] += 1
        open_counts = [counts[group] for group in sizes if counts[group] < sizes[group]]
        everyone = [counts[group] for group in sizes]
        assert max(everyone, default=0) - min(open_counts, default=max(everyone)) <= 1


@settings(deadline=None)
@given(GROUPS, SEEDS)
def test_the_order_follows_from_names_and_seed_alone(groups: dict[str, str], seed: int) -> None:
    again = dict(reversed(groups.items()))
    assert draw(groups, seed) == draw(again, seed)


@settings(deadline=None)
@given(GROUPS, SEEDS)
def test_a_removed_task_leaves_the_others_of_its_group_in_order(groups: dict[str, str], seed: int) -> None:
    if not groups:
        return
    gone = min(groups)
    fewer = {task: group for task, group in groups.items() if task != gone}
    for group in set(groups.values()):
        before = [drawn.task for drawn in draw(groups, seed) if drawn.group == group and drawn.task != gone]
        assert [drawn.task for drawn in draw(fewer, seed) if drawn.group == group] == before


def test_another_seed_draws_otherwise() -> None:
    groups = {f"t{i}": "g" for i in range(50)}
    assert draw(groups, 1) != draw(groups, 2)
    # Uniform: over 2,000 seeds each of 4 tasks comes first a quarter of the time (standard error 0.0097; 5 of them).
    first = Counter(draw({t: "g" for t in "abcd"}, seed)[0].task for seed in range(2000))
    assert all(abs(count / 2000 - 0.25) < 0.05 for count in first.values())


# --- selection


@settings(deadline=None)
@given(GROUPS, SEEDS, st.integers(0, 20), st.integers(0, 20), st.randoms(use_true_random=False))
def test_a_larger_sample_keeps_the_smaller_and_only_adds(
    groups: dict[str, str], seed: int, small: int, more: int, random: Any
) -> None:
    order = draw(groups, seed)
    truth = {drawn.task: random.random() < 0.6 for drawn in order}

    def settle(size: int, checked: dict[str, bool]) -> Selection:
        while (selection := select(order, checked, size)).to_check:
            checked |= {task: truth[task] for task in selection.to_check}
        return selection

    checked: dict[str, bool] = {}
    first = settle(small, checked)
    known = set(checked)
    second = settle(small + more, checked)
    assert second.admitted[: len(first.admitted)] == first.admitted
    assert settle(small + more, {}) == second  # the way there does not matter
    passing = [drawn.task for drawn in order if truth[drawn.task]]
    assert list(second.admitted) == passing[: small + more]
    assert second.missing == max(0, small + more - len(passing))
    assert known <= set(checked)


def test_a_task_that_fails_is_replaced_by_the_next() -> None:
    order = draw({f"t{i}": "g" for i in range(5)}, 0)
    names = [drawn.task for drawn in order]
    assert select(order, {}, 2) == Selection((), (), tuple(names[:2]), 0)
    assert select(order, {names[0]: False}, 2) == Selection((), (names[0],), tuple(names[1:3]), 0)
    assert select(order, {name: name != names[1] for name in names[:3]}, 2) == Selection(
        (names[0], names[2]), (names[1],), (), 0
    )


def test_all_takes_every_task_and_misses_none() -> None:
    order = draw({f"t{i}": "g" for i in range(3)}, 0)
    assert len(select(order, {}, "all").to_check) == 3
    assert select(order, {drawn.task: False for drawn in order}, "all").missing == 0
    assert select(order, {}, 5).missing == 2


@pytest.mark.parametrize("size", [-1, 2.5, "some", True])
def test_no_sample_size(size: Any) -> None:
    with pytest.raises(UserError, match="sample"):
        select([], {}, size)


# --- groups


def test_without_splits_there_is_one_group() -> None:
    assert assign_groups(rows(x=[1, 2]), []) == {"t0": ALL, "t1": ALL}


def test_values_of_a_metadata_key() -> None:
    table = rows(metadata=[{"level": "hard"}, {"level": 3}, {}, None])
    assert list(assign_groups(table, [Split("metadata.level")]).values()) == ["hard", "3", NO_LABEL, NO_LABEL]


def test_quantiles_of_a_column() -> None:
    table = rows(w_lines=[5, 1, 4, 2, 6, 3, None])
    groups = assign_groups(table, [Split("w_lines", bins=3)])
    assert list(groups.values()) == [">4", "<=2", ">2, <=4", "<=2", ">4", ">2, <=4", NO_LABEL]


def test_given_limits_as_table_4_has_them_for_tb2() -> None:
    groups = assign_groups(rows(passes=[5, 4, 3, 2, 1]), [Split("passes", bins=[2, 4])])
    assert list(groups.values()) == [">4", ">2, <=4", ">2, <=4", "<=2", "<=2"]


def test_a_split_within_groups_that_leaves_one_whole_as_table_4_has_it_for_tmax() -> None:
    table = rows(level=["a", "a", "a", "hardest", "hardest"], turns=[1, 2, 3, 9, 10])
    groups = assign_groups(table, [Split("level"), Split("turns", bins=3, keep_whole=("hardest",))])
    assert list(groups.values()) == ["a / <=1", "a / >1, <=2", "a / >2", "hardest", "hardest"]


def test_groups_are_drawn_in_the_order_of_their_numbers() -> None:
    table = rows(n=[100, 20, 3])
    order = draw(assign_groups(table, [Split("n", bins=3)]), 0)
    assert [drawn.group for drawn in order] == ["<=3", ">3, <=20", ">20"]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(1, 6))
def test_quantile_groups_are_never_empty_and_even_without_ties(values: list[int], bins: int) -> None:
    table = rows(x=values)
    sizes = Counter(assign_groups(table, [Split("x", bins=bins)]).values())
    assert sum(sizes.values()) == len(values)
    assert len(sizes) == len(quantile_limits(values, bins)) + 1 <= bins
    if len(set(values)) == len(values) >= bins:
        assert max(sizes.values()) - min(sizes.values()) <= 1
        assert len(sizes) == bins


def test_large_numbers_keep_their_groups_apart() -> None:
    table = rows(x=[1_000_001, 1_000_002, 1_000_003])
    assert len(set(assign_groups(table, [Split("x", bins=3)]).values())) == 3


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (Split("nothing"), "no task has a value"),
        (Split("x", bins=2), "'b' of task t1 is not a number"),
        (Split("y", bins=[3, 3]), "must ascend"),
        (Split("y", bins=0), "at least one group"),
    ],
)
def test_what_a_user_can_get_wrong(split: Split, message: str) -> None:
    with pytest.raises(UserError, match=message):
        assign_groups(rows(x=["1", "b"], y=[1, 2]), [split])


# --- evidence and CSV


def test_evidence_of_a_pass() -> None:
    table = rows(passes=[0, 1, 2, None, "3"])
    kept = [row["task"] for row in with_evidence(table, Evidence("passes", at_least=2))]
    assert kept == ["t2", "t4"]
    assert len(with_evidence(table, None)) == 5


def test_evidence_of_a_lineage_as_table_4_has_it_for_rst() -> None:
    table = rows(passes=[1, 0, 0], seed=["s1", "s1", "s2"])
    assert [row["task"] for row in with_evidence(table, Evidence("passes", lineage="seed"))] == ["t0", "t1"]


def test_a_part_without_released_results_as_table_4_has_it_for_seta() -> None:
    table = rows(passes=[1, 0, None], part=["evolve", "evolve", "synth"])
    evidence = Evidence("passes", exempt_column="part", exempt_value="synth")
    assert [row["task"] for row in with_evidence(table, evidence)] == ["t0", "t2"]


def test_a_users_csv(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\ufefftask,turns,level\nt1,12,hard\nt0,,easy\nother,1,x\n", encoding="utf-8")
    joined = with_csv(rows(turns=[7, 8, 9]), path)
    assert [(row["turns"], row["level"]) for row in joined] == [(7, "easy"), (12, "hard"), (9, None)]


@pytest.mark.parametrize(
    ("content", "message"),
    [("name,x\na,1\n", "no column 'task'.*name, x"), ("task\na\na\n", "line 3: task 'a' appears twice"), ("", "none")],
)
def test_a_csv_that_does_not_fit(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        with_csv([], path)
    with pytest.raises(UserError, match="cannot be read"):
        with_csv([], tmp_path / "missing.csv")
