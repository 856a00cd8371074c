"""How long the statistics take and how much memory, on one core.

    python tests/bench/bench_stats.py [--runs 1000000] [--check]

Prints one table: seconds of each statistic and the peak memory of the process so far. With --check it exits with 1 when
the total is above 30 s or the peak above 2 GB (the limits of issue 5, for 1,000,000 runs).
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from termdepth import stats

LIMIT_SECONDS, LIMIT_GB = 30.0, 2.0


def make_runs(n_runs: int, seed: int = 0) -> pd.DataFrame:
    """Runs of 10 models with 10 attempts on n_runs / 100 tasks of 7 datasets."""
    rng = np.random.default_rng(seed)
    n_tasks = max(1, n_runs // 100)
    task = np.tile(np.repeat(np.arange(n_tasks), 10), 10)[:n_runs]
    model = np.repeat(np.arange(10), n_tasks * 10)[:n_runs]
    k = np.array([3, 5, 6])[task % 3]
    # Passing a segment is a coin whose bias depends on task and model; the run stops at the first that fails.
    reliability = 0.95 - 0.03 * model - 0.2 * rng.random(n_tasks)[task]
    done = np.minimum(rng.geometric(1 - reliability) - 1, k)
    table = pd.DataFrame(
        {
            "dataset": np.array([f"dataset-{i}" for i in range(7)])[task % 7],
            "task": np.array([f"a-task-with-a-usual-name-{i:06d}" for i in range(n_tasks)])[task],
            "model": np.array([f"provider/model-{i}" for i in range(10)])[model],
            "attempt": np.tile(np.arange(1, 11), n_tasks * 10)[:n_runs],
            "valid": rng.random(n_runs) < 0.97,
            "passed": done == k,
            "outcome": np.where(done == k, "passed", rng.choice(["failed_checks", "turn_limit", "time_limit"], n_runs)),
            "segments_passed": done,
            "n_segments": k,
            "turns": rng.integers(1, 151, n_runs),
            "minutes": rng.exponential(10, n_runs),
            "context_tokens": rng.integers(1_000, 100_000, n_runs),
        }
    )
    # Real tables are in order of arrival, not sorted by task.
    return table.sample(frac=1, random_state=0, ignore_index=True)


def make_tasks(rates: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    caps = np.array([1, 2, 3, 5, 10, 20, 40, 80, np.inf])
    return rates.assign(
        d=caps[rng.integers(0, 9, len(rates))],
        w_lines=np.round(rng.lognormal(4, 1, len(rates))),
        label=rng.choice(["easy", "medium", "hard"], len(rates)),
    )


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--check", action="store_true", help="exit with 1 above the limits")
    args = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    runs = make_runs(args.runs)
    tasks = make_tasks(stats.mean_pass_rate(runs, list(runs["model"].unique())))
    rate, d, w = tasks["rate"], tasks["d"], tasks["w_lines"]
    groups = tasks["dataset"]
    jobs: list[tuple[str, Callable[[], object]]] = [
        ("pass_at_1 by model", lambda: stats.pass_at_1(runs)),
        ("pass_at_1 by model and dataset", lambda: stats.pass_at_1(runs, ["model", "dataset"])),
        ("pass_at_k, k = 5", lambda: stats.pass_at_k(runs, 5)),
        ("segment_pass_rates", lambda: stats.segment_pass_rates(runs)),
        ("evaluation_summary (Table 2)", lambda: stats.evaluation_summary(runs)),
        ("category_shares (Figure 14)", lambda: stats.category_shares(runs)),
        ("fewest_turns_runs", lambda: stats.fewest_turns_runs(runs)),
        ("passed_by_none", lambda: stats.passed_by_none(runs)),
        ("mean_pass_rate", lambda: stats.mean_pass_rate(runs, list(runs["model"].unique()))),
        ("rank_partial_correlation", lambda: stats.rank_partial_correlation(rate, d, w)),
        (
            "rank_partial_correlation, within",
            lambda: stats.rank_partial_correlation(rate, d, w, groups=groups, pooling="within"),
        ),
        ("spearman", lambda: stats.spearman(rate, w)),
        ("percentile_by_quadrant", lambda: stats.percentile_by_quadrant(tasks)),
        ("reweighted_share", lambda: stats.reweighted_share(d >= 5, tasks["label"], {"easy": 1, "medium": 2})),
        ("quantile_box of all runs", lambda: stats.quantile_box(runs["minutes"])),
    ]
    print(f"{len(runs):,} runs, {len(tasks):,} tasks, default bootstrap, one core\n")
    print(f"{'statistic':<36}{'seconds':>9}{'peak GB':>9}")
    print(f"{'(making the data)':<36}{'':>9}{peak_gb():>9.2f}")
    total = 0.0
    for name, job in jobs:
        start = time.perf_counter()
        job()
        seconds = time.perf_counter() - start
        total += seconds
        print(f"{name:<36}{seconds:>9.2f}{peak_gb():>9.2f}", flush=True)
    print(f"{'total':<36}{total:>9.2f}{peak_gb():>9.2f}")
    if args.check and (total > LIMIT_SECONDS or peak_gb() > LIMIT_GB):
        print(f"above the limit of {LIMIT_SECONDS:g} s or {LIMIT_GB:g} GB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
