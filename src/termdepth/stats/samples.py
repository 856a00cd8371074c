"""Summaries of one sample: quantiles, shares, the sign test, reweighting, means by level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from termdepth.stats._arrays import Floats, as_floats, check_same_rows, join_notes, left_out

BOX = (0.10, 0.25, 0.50, 0.75, 0.90)


class QuantileBox(NamedTuple):
    """Quantiles of a sample of n values; nan if n is 0. `note` says what was left out."""

    p10: float
    p25: float
    p50: float
    p75: float
    p90: float
    n: int
    note: str = ""


@dataclass(frozen=True)
class Share:
    """count of total, as a share in [0, 1] with a Wilson interval; nan if total is 0."""

    count: int
    total: int
    share: float
    ci_low: float
    ci_high: float


class ReweightedShare(NamedTuple):
    """A share with labels at their original proportions, and the share of the original tasks that these labels cover."""

    share: float
    coverage: float
    note: str = ""


@dataclass(frozen=True)
class SignTest:
    """Two-sided sign test: p_value is nan if every pair is tied; n counts the pairs that are not."""

    p_value: float
    wins: int
    losses: int
    ties: int
    note: str = ""

    @property
    def n(self) -> int:
        return self.wins + self.losses


def quantiles(values: Any, probabilities: Any, method: Literal["linear", "lower"] = "linear") -> Floats:
    """Quantiles of the values that are not missing, shape of probabilities; nan if there are none.

    "linear" interpolates between order statistics (Hyndman & Fan 1996, type 7), "lower" takes the order statistic below,
    so that a quantile of D is a cap. Infinite values are values above all others: interpolation towards one gives inf.
    """
    v = as_floats(values)
    v = np.sort(v[~np.isnan(v)])
    p = np.asarray(probabilities, dtype=np.float64)
    if not v.size:
        return np.full(p.shape, np.nan)
    # Rounded because 0.7 * 10 is below 7 in floating point.
    position = np.round(p * (v.size - 1), 9)
    below = np.floor(position).astype(np.int64)
    low, high = v[below], v[np.minimum(below + 1, v.size - 1)]
    fraction = position - below
    if method == "lower":
        return low
    between = (fraction > 0) & (low != high)
    # Interpolated where both ends are finite; inf - inf never occurs because equal ends are not interpolated.
    step = np.subtract(high, low, out=np.zeros(p.shape), where=between)
    return low + np.multiply(step, fraction, out=np.zeros(p.shape), where=between)


def quantile_box(values: Any, method: Literal["linear", "lower"] = "linear") -> QuantileBox:
    """The 10th, 25th, 50th, 75th and 90th percentiles (Figure 3: boxes 25 to 75, whiskers 10 to 90), see `quantiles`."""
    v = as_floats(values)
    missing = int(np.isnan(v).sum())
    p10, p25, p50, p75, p90 = (float(q) for q in quantiles(v, BOX, method))
    note = join_notes(left_out(missing, "value", "missing"), "" if v.size > missing else "no values")
    return QuantileBox(p10, p25, p50, p75, p90, v.size - missing, note)


def share_of_counts(count: int, total: int, level: float = 0.95) -> Share:
    """count / total with its Wilson score interval (Wilson 1927)."""
    if not 0 <= count <= total:
        raise ValueError(f"a count of {count} out of {total}")
    if not total:
        return Share(0, 0, np.nan, np.nan, np.nan)
    z2 = float(special.ndtri((1 + level) / 2)) ** 2
    p = count / total
    centre = (p + z2 / (2 * total)) / (1 + z2 / total)
    half = np.sqrt(z2 * (p * (1 - p) / total + z2 / (4 * total**2))) / (1 + z2 / total)
    low = 0.0 if count == 0 else float(centre - half)
    high = 1.0 if count == total else float(centre + half)
    return Share(int(count), int(total), p, low, high)


def share(flags: Any, level: float = 0.95) -> Share:
    """Share of true flags among those not missing."""
    f = as_floats(flags)
    f = f[~np.isnan(f)]
    return share_of_counts(int((f != 0).sum()), f.size, level)


def share_between(values: Any, low: float = -np.inf, high: float = np.inf, level: float = 0.95) -> Share:
    """Share of values in [low, high], both ends included, among those not missing.

    For D as `d_rank_value` gives it: share_between(d, high=3) and share_between(d, low=5) are Table 1's columns; a task
    above the largest cap counts in the second.
    """
    v = as_floats(values)
    v = v[~np.isnan(v)]
    return share_of_counts(int(((v >= low) & (v <= high)).sum()), v.size, level)


def sign_test(x: Any, y: Any = None) -> SignTest:
    """Two-sided sign test of paired values (Section 4.4): wins are pairs with x > y, losses x < y; ties are left out.

    `x` alone is taken as differences (y = 0). Pairs are compared, not subtracted, so D above the largest cap (inf) is a
    win over any cap and a tie with itself. Pairs with a missing value are left out with a note.
    """
    a = as_floats(x)
    b = np.zeros_like(a) if y is None else as_floats(y)
    check_same_rows([x, y] if y is not None else [x])
    known = ~(np.isnan(a) | np.isnan(b))
    a, b = a[known], b[known]
    note = left_out(int((~known).sum()), "pair", "a value is missing")
    test = sign_test_counts(int((a > b).sum()), int((a < b).sum()), int((a == b).sum()))
    return SignTest(test.p_value, test.wins, test.losses, test.ties, join_notes(note, test.note))


def sign_test_counts(wins: int, losses: int, ties: int = 0) -> SignTest:
    """Two-sided sign test from counts: 2 P(X <= min(wins, losses)) for X ~ Binomial(wins + losses, 1/2), at most 1.

    Source: Dixon & Mood (1946), JASA 41:557-566. The exact binomial tail, no approximation.
    """
    if min(wins, losses, ties) < 0:
        raise ValueError("counts are not negative")
    n = wins + losses
    if not n:
        return SignTest(np.nan, wins, losses, ties, "no pair differs: undefined")
    p_value = min(1.0, 2 * float(special.bdtr(min(wins, losses), n, 0.5)))
    return SignTest(p_value, wins, losses, ties)


def reweighted_share(flags: Any, labels: Any, original_proportions: Mapping[Any, float]) -> ReweightedShare:
    """Share of true flags when each label takes its original proportion (Appendix C, Table 5; post-stratification).

    The share is taken within each label and averaged with the labels' original proportions as weights, over the labels
    present in the sample.

    Args:
        flags: true or false per sampled (solved) task.
        labels: the label of each, same length.
        original_proportions: proportion or count of each label in the original dataset; need not add up to 1.

    Returns:
        share, and coverage: the part of the original tasks whose label is in the sample (Table 5's daggers). nan and 0
        with a note if there is none. Tasks without a flag, without a label, or whose label the original does not have
        are left out, with a note.
    """
    check_same_rows([flags, labels])
    original = {label: float(weight) for label, weight in original_proportions.items()}
    if any(not np.isfinite(weight) or weight < 0 for weight in original.values()):
        raise ValueError("original proportions are finite and not negative")
    frame = pd.DataFrame({"flag": as_floats(flags), "label": np.asarray(pd.Series(labels), dtype=object)})
    missing = frame["flag"].isna() | frame["label"].isna()
    unknown = ~missing & ~frame["label"].isin(list(original))
    frame = frame[~(missing | unknown)]
    note = join_notes(
        left_out(int(missing.sum()), "task", "no flag or no label"),
        left_out(int(unknown.sum()), "task", "its label is not among the original ones"),
    )
    shares = frame["flag"].ne(0).groupby(frame["label"]).mean()
    weights = np.array([original[label] for label in shares.index], dtype=np.float64)
    total, present = sum(original.values()), float(weights.sum())
    if present <= 0:
        return ReweightedShare(np.nan, 0.0, join_notes(note, "no label of the original dataset in the sample"))
    return ReweightedShare(float(shares.to_numpy() @ weights) / present, present / total, note)


def mean_by_level(values: Any, levels: Any, order: list[Any] | None = None) -> pd.DataFrame:
    """Mean and number of values at each level (Figure 8).

    Args:
        values: for instance pass rates; missing ones are left out.
        levels: the label of each value.
        order: levels from easiest to hardest; without it, sorted. A level without values has n 0 and mean nan.

    Returns:
        columns level, mean, n.
    """
    check_same_rows([values, levels])
    frame = pd.DataFrame({"value": as_floats(values), "level": np.asarray(pd.Series(levels), dtype=object)}).dropna()
    grouped = frame.groupby("level", sort=True)["value"].agg(["mean", "size"])
    if order is not None:
        grouped = grouped.reindex(order)
    return pd.DataFrame(
        {
            "level": list(grouped.index),
            "mean": grouped["mean"].to_numpy(dtype=np.float64),
            "n": grouped["size"].fillna(0).to_numpy(dtype=np.int64),
        }
    )
