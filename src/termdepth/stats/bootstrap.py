"""Seeded percentile bootstrap, vectorised over replicates.

A resample of n rows is described by how often each row was drawn. Statistics that are sums over rows (means, rates,
covariances of ranks) follow from these counts by array operations, so no replicate runs in a Python loop.

Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 13 (percentile interval).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from termdepth.stats._arrays import Floats, Ints

# Elements of one chunk of (replicates x rows): small enough to stay in cache, large enough to hide Python's overhead.
CHUNK = 250_000


class Interval(NamedTuple):
    """Percentile interval; nan, nan where it is undefined, with the reason in `note`."""

    low: float
    high: float
    note: str


def resample_counts(sizes: Ints, n_boot: int, seed: int) -> Iterator[Floats]:
    """How often each row is drawn in each replicate, in chunks of shape (b, n) that add up to n_boot replicates.

    Rows are ordered by stratum; `sizes` (shape (strata,)) says how many rows each has, and each stratum is resampled
    with replacement to its own size.
    """
    rng = np.random.default_rng(seed)
    n = int(sizes.sum())
    ends = np.cumsum(sizes)
    step = max(1, CHUNK // max(n, 1))
    for start in range(0, n_boot, step):
        b = min(step, n_boot - start)
        drawn = np.empty((b, n), dtype=np.int64)
        for low, high in zip(ends - sizes, ends, strict=True):
            drawn[:, low:high] = rng.integers(low, high, size=(b, high - low))
        drawn += np.arange(b, dtype=np.int64)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=b * n).reshape(b, n).astype(np.float64)


def percentile_interval(replicates: Floats, level: float = 0.95) -> Interval:
    """The central `level` of the replicates. Undefined ones (nan) are left out; more than half of them: no interval."""
    defined = replicates[~np.isnan(replicates)]
    undefined = replicates.size - defined.size
    note = f"{undefined:,} of {replicates.size:,} bootstrap replicates undefined" if undefined else ""
    if 2 * defined.size <= replicates.size or not defined.size:
        return Interval(np.nan, np.nan, note or "no bootstrap replicates")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), note)


def mean_interval(values: Floats, *, n_boot: int, seed: int, level: float = 0.95) -> Interval:
    """Interval of the mean of `values` (no nan), resampling values.

    The resample is drawn as multinomial counts of the distinct values, the same distribution as drawing rows, because
    rates of tasks take few distinct values. Fewer than two values: nan with a note.
    """
    if values.size < 2:
        return Interval(np.nan, np.nan, "fewer than 2 tasks: no interval")
    distinct, counts = np.unique(values, return_counts=True)
    if distinct.size == 1:
        return Interval(float(distinct[0]), float(distinct[0]), "all values equal: interval of width 0")
    rng = np.random.default_rng(seed)
    means = np.empty(n_boot)
    step = max(1, 4 * CHUNK // distinct.size)
    for start in range(0, n_boot, step):
        stop = min(start + step, n_boot)
        drawn = rng.multinomial(values.size, counts / values.size, size=stop - start)
        means[start:stop] = drawn @ distinct / values.size
    return percentile_interval(means, level)


def row_interval(
    rows: Floats, statistic: Callable[[Floats], Floats], *, n_boot: int, seed: int, level: float = 0.95
) -> Interval:
    """Interval of a statistic of column sums.

    Args:
        rows: shape (n, m), one row a resampled unit (a task), its columns the sums the statistic needs.
        statistic: maps sums of shape (b, m) to values of shape (b,), nan where undefined.
    """
    if len(rows) < 2:
        return Interval(np.nan, np.nan, "fewer than 2 tasks: no interval")
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    rng = np.random.default_rng(seed)
    values = np.empty(n_boot)
    step = max(1, 4 * CHUNK // len(distinct))
    for start in range(0, n_boot, step):
        stop = min(start + step, n_boot)
        values[start:stop] = statistic(rng.multinomial(len(rows), counts / len(rows), size=stop - start) @ distinct)
    return percentile_interval(values, level)
