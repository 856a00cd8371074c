"""The paper's figures that need no raw data, and the bundled public results of Terminal-Bench 2.0."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pingouin
import pytest

from termdepth.stats import (
    audit_summary,
    cap_steps,
    mean_by_level,
    rank_partial_correlation,
    share_of_counts,
    sign_test_counts,
    spearman,
    task_rates,
)

RESOURCES = Path(__file__).parents[2] / "resources"
CAPS = [1, 2, 3, 5, 10, 20, 40, 80]


def paper(name: str) -> pd.DataFrame:
    return pd.read_csv(RESOURCES / "paper" / f"{name}.csv")


COUNTS = paper("counts").set_index("name")["value"]


def test_sign_test_of_the_pairs() -> None:
    """Section 4.4: ours have the higher D in all 35 pairs."""
    p_value = sign_test_counts(int(COUNTS["pairs with an original task"]), 0).p_value
    assert f"{p_value:.1e}" == f"{COUNTS['sign test p']:.1e}" == "5.8e-11"


def test_shares_from_counts() -> None:
    synthetic = share_of_counts(int(COUNTS["solved synthetic tasks with D<=3"]), int(COUNTS["solved synthetic tasks"]))
    human = share_of_counts(
        int(COUNTS["solved human-curated tasks with D>=5"]), int(COUNTS["solved human-curated tasks"])
    )
    assert (round(synthetic.share, 2), round(1 - synthetic.share, 2), round(human.share, 2)) == (0.94, 0.06, 0.10)
    for row in paper("table8_replays").itertuples():
        assert share_of_counts(row.holds, row.total).share == pytest.approx(row.share, abs=6e-4)


def test_table_5_shares_are_whole_tasks_of_table_1() -> None:
    """Each share with D >= 5 is a whole number of solved tasks; the human-curated ones add up to the text's 11."""
    solved = paper("table1_audit").set_index("dataset")["solved"]
    counts = {}
    for row in paper("table5_reweighting").itertuples():
        total = int(solved[row.dataset])
        counts[row.dataset] = round(row.share_d_ge_5_sample * total)
        assert share_of_counts(counts[row.dataset], total).share == pytest.approx(row.share_d_ge_5_sample, abs=6e-4)
    assert counts["TB2"] + counts["TW"] == COUNTS["solved human-curated tasks with D>=5"]
    assert sum(counts.values()) - counts["TB2"] - counts["TW"] == 296 - 278


def test_audit_row_of_ours_from_its_depth_distribution() -> None:
    """Appendix G gives how many of the 54 solved tasks have which D: enough for Table 1's row."""
    numbers = [int(COUNTS[f"ours with D={cap}"]) for cap in (10, 20, 40, 80)]
    above = int(COUNTS["ours passed only without a cap"])
    unsolved = 105 - 54
    d = np.repeat([10, 20, 40, 80], numbers).tolist() + [None] * (above + unsolved)
    depth = pd.DataFrame(
        {
            "dataset": "Ours", "solved": [True] * 54 + [False] * unsolved, "d": pd.array(d, dtype="Int64"),
            "d_above_largest": [False] * 50 + [True] * above + [False] * unsolved, "n": np.nan, "w_lines": np.nan,
        }
    )  # fmt: skip
    row, expected = audit_summary(depth).iloc[0], paper("table1_audit").set_index("dataset").loc["Ours"]
    for name in ("sampled", "solved", "share_d_le_3", "share_d_ge_5", "median_d"):
        assert row[name] == expected[name], name


def test_merged_tasks_of_figure_5() -> None:
    table = paper("figure5_merge").set_index("outcome")["tasks"]
    # Not solved within the original cap is above it: no drop.
    before = [40] * 25
    after = [40] * table["passes at the original cap"] + [np.inf] * table["not solved within the original cap"]
    after += [20] * table["drops by one cap"] + [10] * table["drops by two caps"]
    drops = cap_steps(before, after, CAPS)
    assert share_of_counts(int((drops <= 0).sum()), 25).share == 0.68
    assert ((drops == 1).sum(), (drops == 2).sum()) == (7, 1)


def tb2() -> pd.DataFrame:
    tasks = pd.read_csv(RESOURCES / "public" / "tb2" / "tb2_tasks.csv")
    trials = pd.read_csv(RESOURCES / "public" / "tb2" / "tb2_public_trials.csv")
    # A trial without a verdict counts as failed, as on the leaderboard.
    trials = trials.assign(dataset="TB2", valid=True, passed=trials["reward"].fillna(0))
    rates = task_rates(trials, by=[]).merge(tasks, on="task", validate="one_to_one")
    turns = trials.groupby("task")["turns"].mean().rename("turns").reset_index()
    rating = pd.Categorical(rates["author_difficulty"], ["easy", "medium", "hard"], ordered=True)
    return rates.assign(rating=rating).merge(turns, on="task", validate="one_to_one")


def test_public_pass_rates_by_author_rating() -> None:
    table = tb2()
    levels = mean_by_level(table["rate"], table["author_difficulty"], ["easy", "medium", "hard"])
    assert levels["n"].tolist() == [4, 55, 30]
    assert levels["mean"].round(3).tolist() == [0.581, 0.263, 0.076]


def test_public_pass_rates_against_author_rating() -> None:
    table = tb2()
    result = spearman(table["rating"], table["rate"])
    assert round(result.rho, 3) == -0.483
    # The paper's figure, over other submissions to the same 89 tasks, lies in the interval.
    assert result.ci_low < COUNTS["rank correlation of TB2 author ratings with pass rates"] < result.ci_high < 0
    assert result.n == 89 and result.p_value < 1e-5


def test_public_pass_rates_against_work_and_turns() -> None:
    """No D here, but the same partial correlation runs: work given observed turns, and the reverse."""
    table = tb2()
    for x, z, expected in (("solution_lines", "turns", -0.379), ("turns", "solution_lines", -0.184)):
        ours = rank_partial_correlation(table["rate"], table[x], table[z], n_boot=0)
        theirs = pingouin.partial_corr(table, x=x, y="rate", covar=z, method="spearman").iloc[0]
        assert ours.rho == pytest.approx(theirs["r"], abs=1e-12)
        assert round(ours.rho, 3) == expected
