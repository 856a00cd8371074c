"""D as a number that can be ranked, and what the audit does with it (Sections 4.2, 4.3; Appendix E)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import pandas as pd

from termdepth.stats._arrays import Floats, as_floats, check_same_rows, group_codes, require_columns
from termdepth.stats.correlation import average_ranks
from termdepth.stats.samples import quantiles, share_between

QUADRANTS = ("shallow, small", "shallow, large", "deep, small", "deep, large")


def d_rank_value(d: Any, d_above_largest: Any) -> Floats:
    """D for ranks, shape (n,): the cap in turns, inf where the task passed only without a cap, nan without an estimate.

    "Above the largest cap" is no number of turns (Section 3.1), but it is larger than every cap, which is all that ranks,
    shares at a threshold and quantiles by order statistics need. Never average it.
    """
    check_same_rows([d, d_above_largest])
    above = as_floats(d_above_largest)
    return np.where(above == 1, np.inf, as_floats(d))


def cap_steps(before: Any, after: Any, caps: Iterable[int]) -> Floats:
    """How many caps D drops from `before` to `after`, shape (n,): 0 is the same, negative is a rise, nan if either is
    missing. Above the largest cap (inf) is one step above it (Figure 5, Appendix E.1).

    Raises:
        ValueError: a D that is not one of the caps.
    """
    check_same_rows([before, after])
    ladder = np.array([*sorted(caps), np.inf])

    def position(values: Any) -> Floats:
        v = as_floats(values)
        unknown = ~np.isnan(v) & ~np.isin(v, ladder)
        if unknown.any():
            raise ValueError(f"D = {v[unknown][0]:g} is not one of the caps {sorted(caps)}")
        return np.where(np.isnan(v), np.nan, np.searchsorted(ladder, v))

    return position(before) - position(after)


def audit_summary(depth: pd.DataFrame, by: str = "dataset") -> pd.DataFrame:
    """Table 1's columns from the depth table, one row per dataset.

    Args:
        depth: columns dataset (or `by`), solved, d, d_above_largest, n (N in turns), w_lines.

    Returns:
        by, sampled, solved, share_d_le_3, share_d_ge_5, median_d, median_n, median_w, mean_n; all but `sampled` over
        solved tasks; nan where a dataset has none. Medians interpolate; a median D above the largest cap is inf.
    """
    require_columns(depth, [by, "solved", "d", "d_above_largest", "n", "w_lines"])
    rows = []
    for name, tasks in depth.groupby(by, sort=False, observed=True):
        solved = tasks[as_floats(tasks["solved"]) == 1]
        d = d_rank_value(solved["d"], solved["d_above_largest"])
        n = as_floats(solved["n"])
        rows.append(
            {
                by: name,
                "sampled": len(tasks),
                "solved": len(solved),
                "share_d_le_3": share_between(d, high=3).share,
                "share_d_ge_5": share_between(d, low=5).share,
                "median_d": float(quantiles(d, 0.5)),
                "median_n": float(quantiles(n, 0.5)),
                "median_w": float(quantiles(solved["w_lines"], 0.5)),
                "mean_n": float(n[~np.isnan(n)].mean()) if (~np.isnan(n)).any() else np.nan,
            }
        )
    columns = ["sampled", "solved", "share_d_le_3", "share_d_ge_5", "median_d", "median_n", "median_w", "mean_n"]
    return pd.DataFrame(rows, columns=[by, *columns])


def within_group_percentile(values: Any, groups: Any) -> Floats:
    """Percentile of each value within its group, shape (n,), in (0, 1): (average rank - 1/2) / group size.

    The mean over a group is exactly 1/2 whatever its size, so that datasets of different sizes can be pooled. nan where
    the value or the group is missing; missing values do not count in the size.
    """
    check_same_rows([values, groups])
    v, codes = as_floats(values), group_codes(groups)
    known = ~np.isnan(v) & (codes >= 0)
    out = np.full(len(v), np.nan)
    if known.any():
        sizes = np.bincount(codes[known])
        out[known] = (average_ranks(v[known], codes[known]) - 0.5) / sizes[codes[known]]
    return out


def percentile_by_quadrant(
    frame: pd.DataFrame,
    *,
    rate: str = "rate",
    d: str = "d",
    w: str = "w_lines",
    group: str = "dataset",
    d_split: float = 2,
    w_split: Literal["pooled", "within"] | float = "pooled",
) -> pd.DataFrame:
    """Mean within-dataset percentile of the pass rate by quadrant of D and W (Section 4.3, last paragraph).

    Args:
        frame: one row a task, `d` as `d_rank_value` gives it. Rows with a missing value are left out first.
        d_split: D >= d_split is deep.
        w_split: W above the median of all rows ("pooled"), of the row's dataset ("within") or a number is large; a task
            at the median is small.

    Returns:
        four rows, in the order of QUADRANTS: quadrant, deep, large, n, mean_percentile (nan if n is 0; lower is harder).
    """
    require_columns(frame, [rate, d, w, group])
    rates, depths, works = as_floats(frame[rate]), as_floats(frame[d]), as_floats(frame[w])
    known = ~(np.isnan(rates) | np.isnan(depths) | np.isnan(works)) & frame[group].notna().to_numpy()
    rates, depths, works = rates[known], depths[known], works[known]
    groups = frame.loc[known, group].to_numpy()
    percentile = within_group_percentile(rates, groups)
    if w_split == "within":
        split: Any = pd.Series(works).groupby(group_codes(groups)).transform("median").to_numpy()
    else:
        split = float(quantiles(works, 0.5)) if w_split == "pooled" else w_split
    deep, large = depths >= d_split, works > split
    rows = []
    for name, is_deep, is_large in zip(QUADRANTS, (False, False, True, True), (False, True, False, True), strict=True):
        cell = percentile[(deep == is_deep) & (large == is_large)]
        rows.append((name, is_deep, is_large, cell.size, float(cell.mean()) if cell.size else np.nan))
    return pd.DataFrame(rows, columns=["quadrant", "deep", "large", "n", "mean_percentile"])
