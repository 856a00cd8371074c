"""Rank correlations against pingouin, scipy and statsmodels, and on degenerate data."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pingouin
import pytest
import scipy.stats
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from termdepth.stats import average_ranks, expected_interval, rank_partial_correlation, spearman
from termdepth.stats.bootstrap import percentile_interval, resample_counts

CAPS = np.array([1, 2, 3, 5, 10, 20, 40, 80])


def tasks(n: int = 105, seed: int = 3) -> pd.DataFrame:
    """Tied ordinal D, skewed W, rates on a coarse grid: the kind of data the paper has."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=n)
    d = CAPS[np.clip(np.digitize(latent + rng.normal(size=n), [-0.3, 0.5, 1, 1.5, 2]), 0, 7)]
    w = np.round(np.exp(3 + 0.5 * latent + rng.normal(size=n)))
    turns = np.round(np.exp(2 + 0.3 * latent + 0.5 * rng.normal(size=n)))
    rate = np.round(8 / (1 + np.exp(latent + 0.3 * rng.normal(size=n)))) / 8
    group = np.where(np.arange(n) % 3 == 0, "TB2", "TW")
    return pd.DataFrame({"rate": rate, "d": d, "w": w, "turns": turns, "dataset": group})


@pytest.mark.parametrize("covariates", [["w"], ["w", "turns"]])
def test_partial_correlation_is_pingouins(covariates: list[str]) -> None:
    t = tasks()
    ours = rank_partial_correlation(t["rate"], t["d"], t[covariates], n_boot=0)
    theirs = pingouin.partial_corr(t, x="d", y="rate", covar=covariates, method="spearman").iloc[0]
    assert ours.rho == pytest.approx(theirs["r"], abs=1e-12)
    assert ours.p_value == pytest.approx(theirs["p_val"], rel=1e-9)
    assert ours.n == 105 and ours.note == ""


def test_partial_correlation_is_that_of_ols_residuals_of_ranks() -> None:
    t = tasks()
    ranks = t[["rate", "d", "w"]].rank()
    z = sm.add_constant(ranks["w"])
    residuals = [sm.OLS(ranks[name], z).fit().resid for name in ("rate", "d")]
    full = sm.OLS(ranks["rate"], sm.add_constant(ranks[["d", "w"]])).fit()
    ours = rank_partial_correlation(t["rate"], t["d"], t["w"], n_boot=0)
    assert ours.rho == pytest.approx(np.corrcoef(residuals)[0, 1], abs=1e-12)
    assert ours.p_value == pytest.approx(full.pvalues["d"], rel=1e-9)


def test_within_ranks_are_a_regression_with_a_constant_per_dataset() -> None:
    t = tasks()
    size = t.groupby("dataset")["d"].transform("size")
    ranks = t[["rate", "d", "w"]].groupby(t["dataset"]).rank().div(size, axis=0)
    design = pd.concat([ranks[["d", "w"]], pd.get_dummies(t["dataset"], dtype=float)], axis=1)
    full = sm.OLS(ranks["rate"], design).fit()
    ours = rank_partial_correlation(t["rate"], t["d"], t["w"], groups=t["dataset"], pooling="within", n_boot=0)
    assert ours.p_value == pytest.approx(full.pvalues["d"], rel=1e-9)
    assert ours.rho == pytest.approx(np.sign(full.params["d"]) * _partial_r(full, "d"), abs=1e-12)


def _partial_r(fit: sm.regression.linear_model.RegressionResultsWrapper, name: str) -> float:
    return float(np.sqrt(fit.tvalues[name] ** 2 / (fit.tvalues[name] ** 2 + fit.df_resid)))


def test_within_ignores_differences_between_datasets() -> None:
    """Two datasets, unrelated inside, far apart: pooled ranks correlate, ranks within do not."""
    rng = np.random.default_rng(5)
    group = np.repeat(["a", "b"], 200)
    shift = np.repeat([0.0, 100.0], 200)
    x, y = rng.normal(size=(2, 400)) + shift
    assert spearman(x, y, groups=group, n_boot=0).rho > 0.7
    # Standard error 1/sqrt(400) = 0.05: three of them.
    assert abs(spearman(x, y, groups=group, pooling="within", n_boot=0).rho) < 0.15


def test_spearman_is_scipys() -> None:
    t = tasks()
    ours, theirs = spearman(t["rate"], t["d"], n_boot=0), scipy.stats.spearmanr(t["rate"], t["d"])
    assert ours.rho == pytest.approx(theirs.statistic, abs=1e-12)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)


def test_average_ranks_are_scipys() -> None:
    t = tasks()
    np.testing.assert_allclose(average_ranks(t["rate"].to_numpy()), scipy.stats.rankdata(t["rate"]))
    first = (t["dataset"] == "TB2").to_numpy()
    u = average_ranks(t["d"].to_numpy(float))[first].sum() - first.sum() * (first.sum() + 1) / 2
    assert u == scipy.stats.mannwhitneyu(t["d"][first], t["d"][~first]).statistic


@pytest.mark.parametrize("pooling", ["ranks", "within"])
def test_bootstrap_is_the_loop_over_resampled_rows(pooling: str) -> None:
    t = tasks(60).sort_values("dataset", kind="stable", ignore_index=True)
    within = pooling == "within"
    sizes = t.groupby("dataset").size().to_numpy() if within else np.array([60])
    values = []
    for counts in np.concatenate(list(resample_counts(sizes, 200, seed=11))):
        sample = t.loc[np.repeat(np.arange(60), counts.astype(int))].reset_index(drop=True)
        assert not within or (sample.groupby("dataset").size().to_numpy() == sizes).all()
        keys = sample["dataset"] if within else np.zeros(60)
        ranks = sample[["rate", "d", "w"]].groupby(keys).rank()
        ranks = (ranks - 0.5).div(ranks.groupby(keys)["d"].transform("size"), axis=0)
        r = ranks.corr().to_numpy()
        values.append((r[0, 1] - r[0, 2] * r[1, 2]) / np.sqrt((1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2)))
    expected = percentile_interval(np.array(values))
    ours = rank_partial_correlation(
        t["rate"], t["d"], t["w"], groups=t["dataset"], pooling=pooling, n_boot=200, seed=11
    )
    assert (ours.ci_low, ours.ci_high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_bootstrap_agrees_with_scipys() -> None:
    t = tasks()
    theirs = scipy.stats.bootstrap(
        (t["rate"], t["d"]),
        lambda a, b: scipy.stats.spearmanr(a, b).statistic,
        paired=True,
        vectorized=False,
        method="percentile",
        n_resamples=2000,
        rng=np.random.default_rng(1),
    ).confidence_interval
    ours = spearman(t["rate"], t["d"], seed=2)
    # The Monte Carlo error of a 2.5 % quantile from 2,000 draws is about 0.006 here: four of them.
    assert (ours.ci_low, ours.ci_high) == pytest.approx((theirs.low, theirs.high), abs=0.025)


def test_interval_covers_the_true_value() -> None:
    """Bivariate normal, r = 0.5: Spearman's population value is 6/pi asin(r/2)."""
    rng = np.random.default_rng(8)
    truth, hits = 6 / np.pi * np.arcsin(0.25), 0
    for seed in range(300):
        x = rng.normal(size=80)
        y = 0.5 * x + np.sqrt(0.75) * rng.normal(size=80)
        r = spearman(x, y, n_boot=400, seed=seed)
        hits += r.ci_low <= truth <= r.ci_high
    # Nominal 0.95, three binomial standard errors (0.013) and a little for a percentile interval at n = 80.
    assert 0.90 <= hits / 300 <= 0.99


def test_seed_decides_the_interval() -> None:
    t = tasks()
    a, b, c = (rank_partial_correlation(t["rate"], t["d"], t["w"], n_boot=500, seed=s) for s in (1, 1, 2))
    assert a == b
    assert a.ci_low != c.ci_low
    assert a.ci_low < a.rho < a.ci_high


def test_resamples_do_not_depend_on_the_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    t = tasks()
    whole = spearman(t["rate"], t["d"], n_boot=501, seed=4)
    monkeypatch.setattr("termdepth.stats.bootstrap.CHUNK", 10 * len(t))
    assert spearman(t["rate"], t["d"], n_boot=501, seed=4) == whole


def test_infinite_d_ranks_above_every_cap() -> None:
    t = tasks()
    above = t["d"].astype(float).where(t["d"] < 10, np.inf)
    stand_in = t["d"].where(t["d"] < 10, 10_000)
    assert spearman(t["rate"], above, n_boot=50) == spearman(t["rate"], stand_in, n_boot=50)


def test_columns_of_every_kind_give_the_same() -> None:
    t = tasks()
    expected = rank_partial_correlation(t["rate"], t["d"], t["w"], n_boot=0)
    rating = pd.Categorical(t["d"], categories=list(CAPS), ordered=True)
    for d in (t["d"].astype("Int64"), list(t["d"]), t["d"].to_numpy(), rating, pd.Series(rating), tuple(t["d"])):
        assert rank_partial_correlation(t["rate"], d, t["w"], n_boot=0) == expected
    for w in ([t["w"]], t[["w"]], {"w": t["w"]}, t[["w"]].to_numpy(), list(t["w"])):
        assert rank_partial_correlation(t["rate"], t["d"], w, n_boot=0) == expected
    assert rank_partial_correlation(t["rate"], t["d"], [], n_boot=0) == spearman(t["rate"], t["d"], n_boot=0)


def test_missing_values_are_left_out_and_said() -> None:
    t = tasks().astype({"d": "Int64"})
    t.loc[[3, 5], "d"] = pd.NA
    t.loc[[5, 9], "w"] = np.nan
    ours = rank_partial_correlation(t["rate"], t["d"], t["w"], n_boot=100)
    rest = t.dropna()
    expected = rank_partial_correlation(rest["rate"], rest["d"], rest["w"], n_boot=100)
    assert ours.note == "3 rows left out: a value is missing"
    assert (ours.rho, ours.p_value, ours.ci_low, ours.n) == (expected.rho, expected.p_value, expected.ci_low, 102)


TEN = np.arange(10.0)
OTHER = np.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3])


@pytest.mark.parametrize(
    ("y", "x", "z", "note"),
    [
        ([], [], [], "fewer than 4 rows"),
        ([1, 2, 3], [1, 2, 3], [3, 1, 2], "fewer than 4 rows"),
        ([np.nan] * 10, TEN, OTHER, "fewer than 4 rows"),
        ([None] * 10, TEN, OTHER, "fewer than 4 rows"),
        (np.ones(10), TEN, OTHER, "y is constant"),
        (TEN, np.full(10, np.inf), OTHER, "x is constant"),
        (TEN, OTHER, TEN, "nothing of y"),
        (OTHER, TEN, -(TEN**3), "nothing of y or of x"),
        (TEN[:4], OTHER[:4], [[1, 3, 2, 4], [2, 1, 4, 3]], "no degree of freedom"),
    ],
)
def test_degenerate_data_give_nan_and_a_note(y: object, x: object, z: object, note: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = rank_partial_correlation(y, x, z, n_boot=50)
    assert np.isnan([result.rho, result.p_value, result.ci_low, result.ci_high]).all()
    assert note in result.note


@pytest.mark.parametrize("z", [np.ones(10), [np.ones(10), np.full(10, 7)]])
def test_a_constant_covariate_removes_nothing(z: object) -> None:
    result, plain = rank_partial_correlation(TEN, OTHER, z, n_boot=0), spearman(TEN, OTHER, n_boot=0)
    assert (result.rho, result.p_value) == pytest.approx((plain.rho, plain.p_value))
    assert "removes nothing" in result.note


def test_a_repeated_covariate_counts_once() -> None:
    t = tasks()
    once = rank_partial_correlation(t["rate"], t["d"], t["w"], n_boot=0)
    twice = rank_partial_correlation(t["rate"], t["d"], [t["w"], t["w"] ** 2], n_boot=0)
    assert (twice.rho, twice.p_value) == pytest.approx((once.rho, once.p_value))
    assert "removes nothing" in twice.note


def test_perfect_correlation() -> None:
    result = spearman(TEN, -TEN, n_boot=100)
    assert (result.rho, result.p_value, result.ci_low, result.ci_high) == (-1.0, 0.0, -1.0, -1.0)


def test_a_group_of_one_is_left_out_within() -> None:
    result = spearman([*TEN, 99], [*OTHER, 99], groups=["a"] * 10 + ["b"], pooling="within", n_boot=0)
    assert result.n == 10 and "1 row left out: alone in its group" in result.note
    assert result.rho == pytest.approx(spearman(TEN, OTHER, n_boot=0).rho)


def test_undefined_replicates_are_said() -> None:
    """One value of five differs: a replicate without it is constant. (4/5)^5 = 0.33 of them."""
    result = spearman([0, 0, 0, 0, 1], [1, 2, 3, 4, 5], n_boot=2000)
    assert "of 2,000 bootstrap replicates undefined" in result.note
    undefined = int(result.note.split(" of ")[0].replace(",", ""))
    # Binomial standard error 21: four of them.
    assert abs(undefined - 2000 * 0.8**5) < 84


def test_what_is_a_mistake_raises() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        spearman([1, 2, 3, 4], [1, 2, 3])
    with pytest.raises(ValueError, match="different indexes"):
        spearman(pd.Series(TEN), pd.Series(OTHER, index=range(5, 15)))
    with pytest.raises(ValueError, match="needs groups"):
        spearman(TEN, OTHER, pooling="within")
    with pytest.raises(ValueError, match="expected numbers"):
        spearman(TEN, list("abcdefghij"))
    with pytest.raises(ValueError, match="needs an order"):
        spearman(TEN, pd.Categorical(list("abcdefghij")))


VALUES = st.one_of(st.sampled_from([0.0, 1.0, 2.0, np.inf, -np.inf, np.nan]), st.floats(allow_nan=True))


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(st.tuples(VALUES, VALUES, VALUES, st.sampled_from(["a", "b", None])), max_size=12))
def test_any_data_give_a_defined_answer(rows: list[tuple[float, float, float, str | None]]) -> None:
    y, x, z, g = ([row[i] for row in rows] for i in range(4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for result in (
            rank_partial_correlation(y, x, z, n_boot=20),
            rank_partial_correlation(y, x, z, groups=g, pooling="within", n_boot=20),
        ):
            if np.isnan(result.rho):
                assert result.note and np.isnan(result.p_value)
            else:
                assert -1 <= result.rho <= 1 and 0 <= result.p_value <= 1
                assert np.isnan(result.ci_low) or -1 <= result.ci_low <= result.ci_high <= 1


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 1000))
def test_only_the_order_matters(seed: int) -> None:
    t = tasks(30, seed)
    a = rank_partial_correlation(t["rate"], t["d"], t["w"], n_boot=0)
    b = rank_partial_correlation(np.exp(t["rate"]), np.log(t["d"]), -(t["w"] ** 3), n_boot=0)
    swapped = rank_partial_correlation(t["d"], t["rate"], t["w"], n_boot=0)
    assert a.rho == pytest.approx(b.rho, abs=1e-12) == pytest.approx(swapped.rho, abs=1e-12)


def test_expected_interval_is_near_the_papers() -> None:
    """Ours in Figure 4: n = 52, rho = -0.29, bootstrap CI -0.53 to -0.02. A power note needs one decimal."""
    low, high = expected_interval(-0.29, 52, n_covariates=1)
    assert (low, high) == pytest.approx((-0.53, -0.02), abs=0.03)
    assert np.isnan(expected_interval(0.3, 3)).all()
