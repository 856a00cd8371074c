"""Shares, quantiles, sign test and reweighting against scipy, numpy, statsmodels and the paper's counts."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from termdepth.stats import (
    mean_by_level,
    mean_interval,
    quantile_box,
    quantiles,
    reweighted_share,
    share,
    share_between,
    share_of_counts,
    sign_test,
    sign_test_counts,
)


@pytest.mark.parametrize(("wins", "losses"), [(35, 0), (0, 35), (9, 3), (5, 5), (1, 0), (400, 350)])
def test_sign_test_is_the_exact_binomial(wins: int, losses: int) -> None:
    theirs = scipy.stats.binomtest(wins, wins + losses).pvalue
    assert sign_test_counts(wins, losses).p_value == pytest.approx(theirs, rel=1e-10)


def test_sign_test_of_pairs_compares_infinities() -> None:
    inf, nan = np.inf, np.nan
    result = sign_test([inf, inf, 40, 20, 3, nan], [80, inf, 1, 20, 5, 1])
    assert (result.wins, result.losses, result.ties, result.n) == (2, 1, 2, 3)
    assert result.note == "1 pair left out: a value is missing"
    assert result.p_value == 1.0
    assert sign_test([1, 2, 3, -1, 0, 4]).p_value == pytest.approx(scipy.stats.binomtest(4, 5).pvalue)


@pytest.mark.parametrize("values", [[], [0, 0], [np.nan]])
def test_sign_test_without_a_difference_is_undefined(values: list[float]) -> None:
    result = sign_test(values)
    assert np.isnan(result.p_value) and "undefined" in result.note


def test_quantiles_are_numpys_on_finite_values() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 11, 100):
        values, p = rng.normal(size=n), np.linspace(0, 1, 41)
        np.testing.assert_allclose(quantiles(values, p), np.quantile(values, p), rtol=1e-7)
        np.testing.assert_array_equal(quantiles(values, p, "lower"), np.quantile(values, p, method="lower"))
        assert quantile_box(values)[:5] == pytest.approx(tuple(np.quantile(values, [0.1, 0.25, 0.5, 0.75, 0.9])))


def test_quantiles_with_values_above_the_largest_cap() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert quantile_box([1, 2, 40, np.inf, np.inf])[:5] == (1.4, 2.0, 40.0, np.inf, np.inf)
        assert quantile_box([1, 2, 40, np.inf], "lower").p50 == 2.0
        assert quantile_box([np.inf] * 3).p10 == np.inf
        empty = quantile_box([np.nan, None])
    assert empty.n == 0 and np.isnan(empty.p50) and empty.note == "2 values left out: missing; no values"


@pytest.mark.parametrize(("count", "total"), [(278, 296), (0, 10), (10, 10), (1, 1), (11, 105)])
def test_share_interval_is_wilsons(count: int, total: int) -> None:
    result = share_of_counts(count, total)
    expected = proportion_confint(count, total, method="wilson")
    assert (result.ci_low, result.ci_high) == pytest.approx(expected, abs=1e-12)
    assert result.share == count / total


def test_shares_leave_missing_values_out() -> None:
    assert share(pd.array([True, False, pd.NA, True])).share == pytest.approx(2 / 3)
    assert np.isnan(share([]).share)
    d = [1, 3, 5, np.inf, np.nan]
    assert (share_between(d, high=3).share, share_between(d, low=5).share) == (0.5, 0.5)
    with pytest.raises(ValueError, match="3 out of 2"):
        share_of_counts(3, 2)


def test_reweighting_is_a_weighted_mean() -> None:
    rng = np.random.default_rng(2)
    labels = rng.choice(["easy", "medium", "hard"], p=[0.5, 0.3, 0.2], size=200)
    flags = rng.random(200) < np.where(labels == "hard", 0.4, 0.1)
    original = {"easy": 100, "medium": 500, "hard": 400}
    n = pd.Series(labels).map(pd.Series(labels).value_counts())
    weights = pd.Series(labels).map(original) / n
    result = reweighted_share(flags, labels, original)
    assert result.share == pytest.approx(DescrStatsW(flags.astype(float), weights).mean)
    assert result.coverage == pytest.approx(1.0)


def test_reweighting_to_the_samples_own_proportions_changes_nothing() -> None:
    flags, labels = [True, False, False, True, False], ["a", "a", "b", "b", "b"]
    assert reweighted_share(flags, labels, {"a": 2, "b": 3}).share == pytest.approx(0.4)


def test_reweighting_covers_the_labels_present() -> None:
    """As in Table 5: labels not sampled count in the coverage, not in the share."""
    result = reweighted_share(
        [True, False, True], ["hard", "hard", "easy"], {"hard": 0.14, "easy": 0.28, "medium": 0.58}
    )
    assert result.coverage == pytest.approx(0.42)
    assert result.share == pytest.approx((0.14 * 0.5 + 0.28 * 1) / 0.42)


def test_reweighting_degenerate() -> None:
    nothing = reweighted_share([], [], {"a": 1})
    assert np.isnan(nothing.share) and nothing.coverage == 0 and nothing.note
    odd = reweighted_share([True, None, False], ["a", "a", "z"], {"a": 1.0})
    assert (odd.share, odd.coverage) == (1.0, 1.0)
    assert odd.note == (
        "1 task left out: no flag or no label; 1 task left out: its label is not among the original ones"
    )


def test_mean_by_level_keeps_the_order_and_empty_levels() -> None:
    table = mean_by_level([0.5, 0.1, 0.3, None], ["easy", "hard", "hard", "easy"], ["easy", "medium", "hard"])
    assert list(table["level"]) == ["easy", "medium", "hard"]
    assert list(table["n"]) == [1, 0, 2]
    assert table["mean"].tolist() == pytest.approx([0.5, np.nan, 0.2], nan_ok=True)


def test_mean_interval_agrees_with_scipys_bootstrap() -> None:
    values = np.random.default_rng(3).choice([0.0, 0.5, 1.0], size=90)
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=10_000, rng=np.random.default_rng(1)
    ).confidence_interval
    ours = mean_interval(values, n_boot=10_000, seed=0)
    # Means are multiples of 1/180; the Monte Carlo error of either end is about 0.002.
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.012)
    assert np.isnan(mean_interval(np.array([0.5]), n_boot=10, seed=0).low)
    assert mean_interval(np.array([0.5, 0.5]), n_boot=10, seed=0)[:2] == (0.5, 0.5)
