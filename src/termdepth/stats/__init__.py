"""Statistics of the paper: pure functions on columns and data frames, no files, no plots.

Missing values are left out and said so in a `note`; degenerate data give nan and a note, never an exception.
"""

from termdepth.stats.bootstrap import Interval, mean_interval
from termdepth.stats.correlation import (
    Correlation,
    average_ranks,
    expected_interval,
    rank_partial_correlation,
    spearman,
)
from termdepth.stats.depth import (
    QUADRANTS,
    audit_summary,
    cap_steps,
    d_rank_value,
    percentile_by_quadrant,
    within_group_percentile,
)
from termdepth.stats.rates import (
    SegmentRates,
    category_shares,
    evaluation_summary,
    fewest_turns_runs,
    mean_pass_rate,
    over_tasks,
    pass_at_1,
    pass_at_k,
    passed_by_none,
    segment_pass_rates,
    task_rates,
)
from termdepth.stats.samples import (
    QuantileBox,
    ReweightedShare,
    Share,
    SignTest,
    mean_by_level,
    quantile_box,
    quantiles,
    reweighted_share,
    share,
    share_between,
    share_of_counts,
    sign_test,
    sign_test_counts,
)

__all__ = [
    "QUADRANTS",
    "Correlation",
    "Interval",
    "QuantileBox",
    "ReweightedShare",
    "SegmentRates",
    "Share",
    "SignTest",
    "audit_summary",
    "average_ranks",
    "cap_steps",
    "category_shares",
    "d_rank_value",
    "evaluation_summary",
    "expected_interval",
    "fewest_turns_runs",
    "mean_by_level",
    "mean_interval",
    "mean_pass_rate",
    "over_tasks",
    "pass_at_1",
    "pass_at_k",
    "passed_by_none",
    "percentile_by_quadrant",
    "quantile_box",
    "quantiles",
    "rank_partial_correlation",
    "reweighted_share",
    "segment_pass_rates",
    "share",
    "share_between",
    "share_of_counts",
    "sign_test",
    "sign_test_counts",
    "spearman",
    "task_rates",
    "within_group_percentile",
]
