"""D as a rank, the audit's columns, cap steps and quadrants."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from termdepth.stats import (
    QUADRANTS,
    audit_summary,
    cap_steps,
    d_rank_value,
    percentile_by_quadrant,
    within_group_percentile,
)

CAPS = [1, 2, 3, 5, 10, 20, 40, 80]


def test_d_above_the_largest_cap_is_a_rank_not_a_number() -> None:
    d = pd.array([1, 80, None, None], dtype="Int64")
    assert d_rank_value(d, [False, False, True, False]).tolist() == pytest.approx([1, 80, np.inf, np.nan], nan_ok=True)


def test_cap_steps() -> None:
    before, after = [40, 40, 40, np.inf, 10, np.nan, np.inf], [40, 20, 10, 80, 20, 1, np.inf]
    assert cap_steps(before, after, CAPS).tolist() == pytest.approx([0, 1, 2, 1, -1, np.nan, 0], nan_ok=True)
    with pytest.raises(ValueError, match="D = 7 is not one of the caps"):
        cap_steps([7], [5], CAPS)


def depth_table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "dataset": ["a"] * 5 + ["b"] * 2,
            "solved": [True, True, True, True, False, False, False],
            "d": pd.array([1, 3, 5, None, None, None, None], dtype="Int64"),
            "d_above_largest": [False, False, False, True, False, False, False],
            "n": pd.array([2, 4, 7, 91, None, None, None], dtype="Int64"),
            "w_lines": [10, 20, 30, 50, 9, 8, 7],
        }
    )


def test_audit_summary_is_over_solved_tasks() -> None:
    a, b = audit_summary(depth_table()).to_dict("records")
    assert a == {
        "dataset": "a", "sampled": 5, "solved": 4, "share_d_le_3": 0.5, "share_d_ge_5": 0.5,
        "median_d": 4.0, "median_n": 5.5, "median_w": 25.0, "mean_n": 26.0,
    }  # fmt: skip
    assert b["sampled"] == 2 and b["solved"] == 0 and np.isnan(b["median_d"]) and np.isnan(b["mean_n"])
    assert list(audit_summary(depth_table().iloc[:0]).columns) == list(a)


def test_percentile_is_scipys_mean_percentile_of_score() -> None:
    rng = np.random.default_rng(4)
    values, groups = rng.integers(0, 6, 50).astype(float), np.repeat(["a", "b"], [20, 30])
    ours = within_group_percentile(values, groups)
    for name in "ab":
        inside = values[groups == name]
        # "mean" averages the strict and the weak percentile, which is (rank - 1/2) / n with ties averaged.
        theirs = [scipy.stats.percentileofscore(inside, v, kind="mean") / 100 for v in inside]
        np.testing.assert_allclose(ours[groups == name], theirs)
        assert ours[groups == name].mean() == pytest.approx(0.5)


def test_percentile_leaves_missing_values_out() -> None:
    result = within_group_percentile([1, np.nan, 3, 5], ["a", "a", "a", None])
    assert result.tolist() == pytest.approx([0.25, np.nan, 0.75, np.nan], nan_ok=True)


def test_quadrants_split_d_at_two_and_w_above_its_median() -> None:
    frame = pd.DataFrame(
        {
            "dataset": "a",
            "rate": [0.9, 0.8, 0.7, 0.1, 0.5, None],
            "d": [1, 1, 2, np.inf, 1, 40],
            "w_lines": [10, 30, 5, 40, 20, 99],
        }
    )
    table = percentile_by_quadrant(frame)
    assert list(table["quadrant"]) == list(QUADRANTS)
    assert list(table["n"]) == [2, 1, 1, 1]  # the task at the median W, 20, is small; the one without a rate is out
    assert table["mean_percentile"].tolist() == pytest.approx([0.6, 0.7, 0.5, 0.1])


def test_quadrants_within_datasets_and_empty() -> None:
    frame = pd.DataFrame(
        {"dataset": list("aabb"), "rate": [0.1, 0.9, 0.2, 0.3], "d": [1, 1, 1, 1], "w_lines": [1, 2, 100, 200]}
    )
    assert list(percentile_by_quadrant(frame)["mean_percentile"][:2]) == [0.5, 0.5]
    within = percentile_by_quadrant(frame, w_split="within")
    assert within["mean_percentile"].tolist() == pytest.approx([0.25, 0.75, np.nan, np.nan], nan_ok=True)
    empty = percentile_by_quadrant(frame.iloc[:0])
    assert list(empty["n"]) == [0, 0, 0, 0] and empty["mean_percentile"].isna().all()


def test_quadrants_tell_a_task_large_in_both() -> None:
    """Difficulty made only by depth and work together: that quadrant alone is harder (Section 4.3)."""
    rng = np.random.default_rng(6)
    d, w = rng.choice([1, 5], 400), rng.choice([10, 100], 400)
    rate = rng.random(400) - 2.0 * ((d == 5) & (w == 100))
    table = percentile_by_quadrant(pd.DataFrame({"dataset": "a", "rate": rate, "d": d, "w_lines": w}), w_split=50)
    both, others = table["mean_percentile"].iloc[3], table["mean_percentile"].iloc[:3]
    assert both < 0.2 and (others > 0.5).all()
