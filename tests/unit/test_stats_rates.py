"""Rates over runs against plain loops over the definitions."""

from __future__ import annotations

import itertools
import subprocess
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from termdepth.stats import (
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


def runs_table(seed: int = 1, n_tasks: int = 30, attempts: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for model, skill in (("good", 0.9), ("weak", 0.7)):
        for task in range(n_tasks):
            k = int(rng.choice([3, 5, 6, 6, 6]))
            for attempt in range(1, attempts + 1):
                done = 0
                while done < k and rng.random() < skill:
                    done += 1
                rows.append(
                    {
                        "model": model, "dataset": "ours" if task % 2 else "other", "task": f"t{task // 2}",
                        "attempt": attempt, "valid": rng.random() < 0.8, "passed": done == k,
                        "segments_passed": done, "n_segments": k, "turns": int(rng.integers(1, 150)),
                        "minutes": float(rng.exponential(10)), "context_tokens": int(rng.integers(1000, 90000)),
                        "outcome": "passed" if done == k else str(rng.choice(["failed_checks", "turn_limit"])),
                    }
                )  # fmt: skip
    # One task of the weak model has no valid run, as with refusals (Appendix I).
    table = pd.DataFrame(rows)
    table.loc[(table["model"] == "weak") & (table["task"] == "t3"), "valid"] = False
    return table


def valid_by_task(runs: pd.DataFrame) -> dict[str, dict[tuple[str, str], list[dict[str, object]]]]:
    out: dict[str, dict[tuple[str, str], list[dict[str, object]]]] = defaultdict(lambda: defaultdict(list))
    for row in runs.to_dict("records"):
        if row["valid"]:
            out[row["model"]][row["dataset"], row["task"]].append(row)
    return out


def test_pass_at_1_is_the_mean_of_task_means() -> None:
    runs = runs_table()
    table = pass_at_1(runs, n_boot=200).set_index("model")
    for model, tasks in valid_by_task(runs).items():
        rates = [np.mean([run["passed"] for run in group]) for group in tasks.values()]
        row = table.loc[model]
        assert row["pass_at_1"] == pytest.approx(np.mean(rates))
        assert row["n_tasks"] == len(tasks) and row["n_runs"] == sum(map(len, tasks.values()))
        assert row["n_runs"] + row["n_runs_left_out"] == 120
        assert row["ci_low"] < row["pass_at_1"] < row["ci_high"]
    assert table.loc["weak", "n_tasks_left_out"] == 2
    assert table.loc["weak", "note"] == "2 tasks left out: no valid run"


def test_pass_at_1_weighs_tasks_not_runs() -> None:
    runs = pd.DataFrame(
        {
            "model": "m", "dataset": "d", "task": ["a", "a", "a", "a", "b"],
            "valid": True, "passed": [False, False, False, False, True],
        }
    )  # fmt: skip
    assert pass_at_1(runs, n_boot=0)["pass_at_1"].item() == 0.5


def test_pass_at_1_interval_is_over_tasks() -> None:
    runs = runs_table(n_tasks=60)
    runs = runs[runs["model"] == "good"]
    rates = task_rates(runs)["rate"].to_numpy()
    theirs = scipy.stats.bootstrap(
        (rates,), np.mean, method="percentile", n_resamples=10_000, rng=np.random.default_rng(0)
    ).confidence_interval
    ours = pass_at_1(runs).iloc[0]
    # Monte Carlo error of either end is about 0.002.
    assert (ours["ci_low"], ours["ci_high"]) == pytest.approx((theirs.low, theirs.high), abs=0.01)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_pass_at_k_is_the_share_of_subsets_with_a_pass(k: int) -> None:
    runs = runs_table()
    table = pass_at_k(runs, k, n_boot=0).set_index("model")
    for model, tasks in valid_by_task(runs).items():
        rates = [
            np.mean([any(run["passed"] for run in subset) for subset in itertools.combinations(group, k)])
            for group in tasks.values()
            if len(group) >= k
        ]
        assert table.loc[model, "pass_at_k"] == pytest.approx(np.mean(rates))
        assert table.loc[model, "n_tasks"] == len(rates)


def test_pass_at_k_with_thousands_of_runs_of_a_task() -> None:
    n, c, k = 5000, 3, 2000
    runs = pd.DataFrame({"model": "m", "dataset": "d", "task": "a", "valid": True, "passed": np.arange(n) < c})
    # No pass among k of n: the c passes all fall into the n - k others.
    expected = 1 - np.prod([(n - k - i) / (n - i) for i in range(c)])
    assert pass_at_k(runs, k, n_boot=0)["pass_at_k"].item() == pytest.approx(expected, rel=1e-9)


def test_segment_rates_are_counts_over_runs() -> None:
    runs = runs_table()
    segments, summary = segment_pass_rates(runs, n_boot=200)
    for model, tasks in valid_by_task(runs).items():
        group = [run for task in tasks.values() for run in task]
        rates = []
        for i in range(1, 7):
            on = [run for run in group if run["n_segments"] >= i]
            reached = [run for run in on if run["segments_passed"] >= i - 1]
            passed = [run for run in on if run["segments_passed"] >= i]
            row = segments[(segments["model"] == model) & (segments["segment"] == i)].iloc[0]
            assert (row["on"], row["reached"], row["passed"]) == (len(on), len(reached), len(passed))
            assert row["share"] == pytest.approx(len(passed) / len(on))
            rates.append(len(passed) / len(reached))
            assert row["conditional"] == pytest.approx(rates[-1])
        row = summary[summary["model"] == model].iloc[0]
        assert row["per_segment"] == pytest.approx(scipy.stats.gmean(rates))
        assert row["share_all"] == pytest.approx(len(passed) / len(on)) and row["n_all"] == len(on)
        assert row["ci_low"] < row["per_segment"] < row["ci_high"]
        assert row["n_runs"] == len(group)


@pytest.mark.parametrize(("share_all", "per_segment"), [(0.47, 0.88), (0.16, 0.74)])
def test_figure_6_shares_compound(share_all: float, per_segment: float) -> None:
    """On tasks with six segments the geometric mean is the sixth root of the share that passes all (Section 4.5)."""
    lost = np.round(1000 * share_all ** (np.arange(7) / 6)).astype(int)
    done = np.repeat(range(7), -np.diff([*lost, 0]))
    runs = pd.DataFrame(
        {
            "model": "m", "dataset": "ours", "task": [f"t{i // 2}" for i in range(1000)],
            "valid": True, "segments_passed": done, "n_segments": 6,
        }
    )  # fmt: skip
    row = segment_pass_rates(runs, n_boot=0).summary.iloc[0]
    assert row["share_all"] == pytest.approx(share_all)
    assert round(row["per_segment"], 2) == per_segment


def test_segments_that_no_run_reaches() -> None:
    runs = pd.DataFrame(
        {
            "model": ["m", "m", "stuck"], "dataset": "d", "task": ["a", "b", "b"],
            "valid": True, "segments_passed": [2, 0, 0], "n_segments": [2, 4, 4],
        }
    )  # fmt: skip
    segments, summary = segment_pass_rates(runs, n_boot=50)
    mine = segments[segments["model"] == "m"]
    assert mine["reached"].tolist() == [2, 1, 0, 0]
    assert mine["conditional"].tolist() == pytest.approx([0.5, 1.0, np.nan, np.nan], nan_ok=True)
    assert summary["per_segment"].tolist() == pytest.approx([np.sqrt(0.5), 0.0])
    assert "2 of 4 segments reached by no run" in summary["note"][0]


def test_over_tasks_averages_within_tasks_first() -> None:
    runs = runs_table()
    table = over_tasks(runs, {"turns": "mean", "minutes": "median"}).set_index("model")
    for model, tasks in valid_by_task(runs).items():
        turns = [np.mean([run["turns"] for run in group]) for group in tasks.values()]
        minutes = [np.mean([run["minutes"] for run in group]) for group in tasks.values()]
        assert table.loc[model, "turns"] == pytest.approx(np.mean(turns))
        assert table.loc[model, "minutes"] == pytest.approx(np.median(minutes))
        assert table.loc[model, "n_tasks"] == len(tasks)


def test_evaluation_summary_has_table_2s_columns() -> None:
    runs = runs_table()
    table = evaluation_summary(runs, n_boot=50).set_index("model")
    tasks = valid_by_task(runs)["weak"]
    fractions = [np.mean([run["segments_passed"] / run["n_segments"] for run in group]) for group in tasks.values()]
    passing = [[run["turns"] for run in group if run["passed"]] for group in tasks.values()]
    assert table.loc["weak", "segments"] == pytest.approx(np.mean(fractions))
    assert table.loc["weak", "passing_turns"] == pytest.approx(np.mean([np.mean(turns) for turns in passing if turns]))
    assert {"pass_at_1", "turns", "minutes", "context_tokens", "passing_minutes"} <= set(table.columns)


def test_a_model_without_a_valid_or_passing_run_keeps_its_row() -> None:
    runs = runs_table()
    runs.loc[runs["model"] == "weak", "valid"] = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = evaluation_summary(runs, n_boot=50).set_index("model")
        segments = segment_pass_rates(runs, n_boot=50)
    assert np.isnan(table.loc["weak", "pass_at_1"]) and table.loc["weak", "n_tasks"] == 0
    assert "30 tasks left out: no valid run" in table.loc["weak", "note"]
    assert segments.summary["n_runs"].tolist()[1] == 0 and np.isnan(segments.summary["per_segment"][1])
    runs = runs_table().assign(passed=False)
    table = evaluation_summary(runs, n_boot=50)
    assert (table["pass_at_1"] == 0).all() and table["passing_turns"].isna().all() and table["turns"].notna().all()


def test_no_runs_at_all() -> None:
    runs = runs_table().iloc[:0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in (
            pass_at_1(runs),
            pass_at_k(runs, 2),
            task_rates(runs),
            evaluation_summary(runs),
            *segment_pass_rates(runs),
            category_shares(runs),
            fewest_turns_runs(runs),
            mean_pass_rate(runs, ["m"]),
        ):
            assert len(table) == 0 and {"model", "rate"} & set(table.columns)
        assert np.isnan(passed_by_none(runs).share)


def test_rates_accept_nullable_columns() -> None:
    runs = runs_table()
    nullable = runs.convert_dtypes().astype({"model": "category", "task": "category"})
    nullable.loc[0, "passed"] = pd.NA
    plain = runs.copy()
    plain.loc[0, "valid"] = False
    pd.testing.assert_frame_equal(
        pass_at_1(nullable, n_boot=50), pass_at_1(plain, n_boot=50), check_dtype=False, check_categorical=False
    )


def test_grouping_by_several_columns() -> None:
    runs = runs_table()
    table = pass_at_1(runs, ["model", "dataset"], n_boot=0)
    assert len(table) == 4
    one = runs[(runs["model"] == "good") & (runs["dataset"] == "ours")]
    chosen = table[(table["model"] == "good") & (table["dataset"] == "ours")]
    assert chosen["pass_at_1"].item() == pytest.approx(pass_at_1(one, n_boot=0)["pass_at_1"].item())
    assert len(segment_pass_rates(runs, ["model", "dataset"], n_boot=0).summary) == 4
    assert len(pass_at_1(runs, ["dataset"], n_boot=0)) == 2


def test_tasks_with_results_from_all_models() -> None:
    runs = pd.DataFrame(
        {
            "model": ["x", "y", "x", "y", "x", "y"], "dataset": "d", "task": list("aabbcc"),
            "valid": [True, True, True, True, True, False], "passed": [False, False, True, False, False, False],
        }
    )  # fmt: skip
    none = passed_by_none(runs)
    assert (none.count, none.total) == (1, 2)
    rates = mean_pass_rate(runs, ["x", "y"])
    assert rates[["task", "rate"]].values.tolist() == [["a", 0.0], ["b", 0.5]]


def test_category_shares_have_zeros() -> None:
    runs = pd.DataFrame({"model": ["x", "x", "y"], "outcome": ["passed", "turn_limit", "passed"]})
    table = category_shares(runs, order=["passed", "turn_limit", "refused"])
    assert table["model"].tolist() == ["x"] * 3 + ["y"] * 3
    assert table["count"].tolist() == [1, 1, 0, 1, 0, 0]
    assert table["share"].tolist() == [0.5, 0.5, 0, 1, 0, 0]


def test_the_run_that_gives_n() -> None:
    runs = pd.DataFrame(
        {
            "model": "m", "dataset": "d", "task": list("aaabb"), "attempt": [1, 2, 3, 1, 2], "valid": True,
            "passed": [False, True, True, False, False], "turns": [1, 9, 9, 3, 4],
        }
    )  # fmt: skip
    assert fewest_turns_runs(runs).index.tolist() == [1]


def test_a_missing_column_is_named() -> None:
    with pytest.raises(ValueError, match="no column valid"):
        pass_at_1(runs_table().drop(columns="valid"))


def test_the_benchmark_runs() -> None:
    """The limits (1,000,000 runs, 30 s, 2 GB) are checked by running it without --runs; here only that it still works."""
    script = Path(__file__).parents[1] / "bench" / "bench_stats.py"
    done = subprocess.run([sys.executable, script, "--runs", "5000", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "segment_pass_rates" in done.stdout and "total" in done.stdout
