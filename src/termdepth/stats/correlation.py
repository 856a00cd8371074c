"""Rank correlations: Spearman's, and the partial one of Section 4.3.

Definition (Conover & Iman 1981, The American Statistician 35:124-129, the paper's source): every variable is replaced by
its ranks, ties by their average, and the usual partial correlation of the ranks is taken, that is the correlation of what
is left of two variables after a linear regression of each on the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

from termdepth.stats._arrays import (
    Floats,
    Ints,
    as_columns,
    as_floats,
    check_same_rows,
    group_codes,
    join_notes,
    left_out,
)
from termdepth.stats.bootstrap import percentile_interval, resample_counts

Pooling = Literal["ranks", "within"]

# Share of a variable's rank variance below which nothing is left to correlate (exact zero up to rounding).
_NOTHING_LEFT = 1e-9


@dataclass(frozen=True)
class Correlation:
    """A rank correlation.

    Attributes:
        rho: in [-1, 1]; nan where undefined.
        p_value: two-sided, from t = rho * sqrt(df / (1 - rho^2)) with df = n - 2 - (number of covariates), less
            (number of groups - 1) for ranks within groups; nan where undefined.
        ci_low, ci_high: percentile bootstrap interval over rows; nan where undefined or not asked for.
        n: rows used.
        note: what a reader must know (rows left out, why undefined); empty if nothing.
    """

    rho: float
    p_value: float
    ci_low: float
    ci_high: float
    n: int
    note: str = ""


def average_ranks(values: Floats, groups: Ints | None = None) -> Floats:
    """Ranks 1..n, ties averaged, shape (n,); within each group if groups (codes) are given. Infinities are ranked."""
    codes = np.zeros(len(values), dtype=np.int64) if groups is None else groups
    return _Ranker(values, codes).ranks(np.ones((1, len(values)))).reshape(-1)


def rank_partial_correlation(
    y: Any,
    x: Any,
    covariates: Any,
    *,
    groups: Any = None,
    pooling: Pooling = "ranks",
    n_boot: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Correlation:
    """Rank partial correlation of y and x given the covariates (Section 4.3; Conover & Iman 1981).

    Args:
        y, x: columns of n numbers; infinite values are ranked (D above the largest cap is inf, see `d_rank_value`).
        covariates: one column or several (list, mapping, data frame); none gives Spearman's correlation.
        groups: the dataset of each row; used with pooling="within" only.
        pooling: "ranks" ranks all rows together, so that differences between datasets count. "within" takes
            each row's percentile in its dataset, (rank - 1/2) / size, so that only differences inside datasets count.
        n_boot: bootstrap replicates; 0 for no interval. Rows are resampled, within their dataset for "within", and
            ranked anew in each replicate.
        seed: of the bootstrap; the same seed gives the same interval.
        level: of the interval.

    Returns:
        A `Correlation`. Never raises for degenerate data: rows with a missing value are left out; fewer than 4 rows, no
        degree of freedom left, a constant y or x, or nothing left of either once the covariates are removed give nan
        with a note. A constant or redundant covariate removes nothing and takes no degree of freedom.

    Raises:
        ValueError: columns of different lengths or indexes, text, or pooling="within" without groups.
    """
    columns = [y, x, *as_columns(covariates)]
    if pooling not in ("ranks", "within"):
        raise ValueError(f"pooling is 'ranks' or 'within', not {pooling!r}")
    if pooling == "within" and groups is None:
        raise ValueError("pooling='within' needs groups")
    within = pooling == "within"
    check_same_rows([*columns, groups] if within else columns)
    data = np.column_stack([as_floats(column) for column in columns])
    codes = group_codes(groups) if within else np.zeros(len(data), dtype=np.int64)

    complete = ~np.isnan(data).any(axis=1) & (codes >= 0)
    notes = [left_out(int((~complete).sum()), "row", "a value is missing")]
    data, codes = data[complete], codes[complete]
    if within and len(codes):
        # A dataset with one row has no differences inside it.
        alone = np.bincount(codes)[codes] < 2
        notes.append(left_out(int(alone.sum()), "row", "alone in its group"))
        data, codes = data[~alone], codes[~alone]
    codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    order = np.argsort(codes, kind="stable")
    data, codes = data[order], codes[order]
    n = len(data)

    def undefined(why: str) -> Correlation:
        return Correlation(np.nan, np.nan, np.nan, np.nan, n, join_notes(*notes, why))

    if n < 4:
        return undefined("fewer than 4 rows: undefined")
    sizes = np.bincount(codes)
    rankers = [_Ranker(column, codes) for column in data.T]
    for name, ranker in zip(("y", "x"), rankers, strict=False):
        if ranker.constant:
            return undefined(f"{name} is constant{' within every group' if within else ''}: undefined")
    once = np.ones((1, n))
    covariance = _rank_covariance(rankers, once)
    removed = _rank_of_covariates(covariance[0])
    if removed < len(columns) - 2:
        notes.append("a covariate is constant or follows from the others and removes nothing")
    df = n - 2 - removed - (len(sizes) - 1)
    if df < 1:
        return undefined(f"{n} rows leave no degree of freedom: undefined")
    rho = float(_partial(covariance)[0])
    if np.isnan(rho):
        return undefined("the covariates leave nothing of y or of x: undefined")
    p_value = _t_test(rho, df)
    if n_boot < 1:
        return Correlation(rho, p_value, np.nan, np.nan, n, join_notes(*notes))
    replicates = np.concatenate(
        [_partial(_rank_covariance(rankers, counts)) for counts in resample_counts(sizes, n_boot, seed)]
    )
    interval = percentile_interval(replicates, level)
    return Correlation(rho, p_value, interval.low, interval.high, n, join_notes(*notes, interval.note))


def spearman(
    x: Any,
    y: Any,
    *,
    groups: Any = None,
    pooling: Pooling = "ranks",
    n_boot: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Correlation:
    """Spearman's rank correlation: the correlation of the ranks, ties averaged (Spearman 1904).

    Arguments, result and degenerate data as in `rank_partial_correlation` without covariates.
    """
    return rank_partial_correlation(x, y, [], groups=groups, pooling=pooling, n_boot=n_boot, seed=seed, level=level)


def expected_interval(rho: float, n: int, *, n_covariates: int = 0, level: float = 0.95) -> tuple[float, float]:
    """The confidence interval to expect at n rows if the rank correlation is rho, before any run is made.

    For a power note only: Fisher's z with standard error 1.03 / sqrt(n - 3 - n_covariates) (Fieller, Hartley & Pearson
    1957, for ranks). nan, nan for too few rows.
    """
    room = n - 3 - n_covariates
    if room < 1 or not -1 < rho < 1:
        return np.nan, np.nan
    half = float(special.ndtri((1 + level) / 2)) * 1.03 / np.sqrt(room)
    return float(np.tanh(np.arctanh(rho) - half)), float(np.tanh(np.arctanh(rho) + half))


class _Ranker:
    """Centred average ranks of one column, for any resample given as counts of its rows.

    Rows are ordered by group code. The rank of a value in a resample follows from the cumulative counts of the distinct
    values, so that ranking needs one sort for all replicates.
    """

    def __init__(self, values: Floats, codes: Ints) -> None:
        n = len(values)
        self._order = np.lexsort((values, codes))
        v, g = values[self._order], codes[self._order]
        new = np.ones(n, dtype=bool)
        new[1:] = (v[1:] != v[:-1]) | (g[1:] != g[:-1])
        self._starts = np.flatnonzero(new)
        self._level = np.empty(n, dtype=np.int64)
        self._level[self._order] = np.cumsum(new) - 1
        sizes = np.bincount(g)
        sizes = sizes[sizes > 0]
        of_group = np.cumsum(np.diff(g[self._starts], prepend=g[:1]) != 0)
        self._before = (np.cumsum(sizes) - sizes)[of_group]
        self._size = sizes[of_group]
        self._grouped = len(sizes) > 1
        self._plain = len(self._starts) == n
        self.constant = len(self._starts) == len(sizes)

    def _level_ranks(self, counts: Floats) -> Floats:
        sorted_counts = counts.take(self._order, axis=1)
        if not self._plain:
            sorted_counts = np.add.reduceat(sorted_counts, self._starts, axis=1)
        ranks = np.cumsum(sorted_counts, axis=1)
        ranks -= 0.5 * sorted_counts
        ranks += 0.5 - self._before
        return ranks

    def ranks(self, counts: Floats) -> Floats:
        """Ranks 1..n (within groups), shape (b, n)."""
        return self._level_ranks(counts).take(self._level, axis=1)

    def centred(self, counts: Floats) -> Floats:
        """Ranks less their mean, which ties and resampling leave at (n + 1) / 2; per group divided by its size."""
        ranks = self._level_ranks(counts)
        ranks -= 0.5 * (self._size + 1)
        if self._grouped:
            ranks /= self._size
        return ranks.take(self._level, axis=1)


def _rank_covariance(rankers: list[_Ranker], counts: Floats) -> Floats:
    """Sums of products of centred ranks, shape (b, m, m), one matrix a resample."""
    m = len(rankers)
    centred = [ranker.centred(counts) for ranker in rankers]
    out = np.empty((len(counts), m, m))
    for i in range(m):
        weighted = centred[i] * counts
        for j in range(i, m):
            out[:, i, j] = out[:, j, i] = np.einsum("bn,bn->b", weighted, centred[j])
    return out


def _scaled(covariance: Floats) -> Floats:
    """Correlations, shape (..., m, m); rows of a constant variable are 0."""
    scale = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    return np.asarray(covariance * inverse[..., :, None] * inverse[..., None, :])


def _rank_of_covariates(covariance: Floats) -> int:
    """How many of the covariates are linearly independent, covariates being all but the first two variables."""
    if len(covariance) < 3:
        return 0
    return int(np.linalg.matrix_rank(_scaled(covariance)[2:, 2:], tol=_NOTHING_LEFT, hermitian=True))


def _partial(covariance: Floats) -> Floats:
    """Partial correlation of variables 0 and 1 given the rest, shape (b,); nan where nothing is left of either."""
    r = _scaled(covariance)
    left = r[:, :2, :2].copy()
    if r.shape[1] > 2:
        inverse = np.linalg.pinv(r[:, 2:, 2:], rcond=_NOTHING_LEFT, hermitian=True)
        left -= r[:, :2, 2:] @ inverse @ r[:, 2:, :2]
    vy, vx = left[:, 0, 0], left[:, 1, 1]
    defined = (vy > _NOTHING_LEFT) & (vx > _NOTHING_LEFT)
    rho = np.full(len(r), np.nan)
    np.divide(left[:, 0, 1], np.sqrt(np.where(defined, vy * vx, 1.0)), out=rho, where=defined)
    return rho.clip(-1.0, 1.0)


def _t_test(rho: float, df: int) -> float:
    if abs(rho) >= 1:
        return 0.0
    return float(2 * special.stdtr(df, -abs(rho) * np.sqrt(df / (1 - rho**2))))
