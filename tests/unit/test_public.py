"""Pass rates from published trials."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from termdepth.data.io import to_arrow
from termdepth.data.schema import PUBLIC_PASS_RATES
from termdepth.errors import UserError
from termdepth.public import pass_rates, public_columns
from termdepth.stats import spearman

TB2 = Path(__file__).parents[2] / "resources" / "public" / "tb2"
HEAD = "task,model,attempt,reward,exception,turns\n"


def test_the_public_trials_of_terminal_bench_show_the_known_numbers() -> None:
    rows = pass_rates(TB2 / "tb2_public_trials.csv", TB2 / "tb2_tasks.csv", "TB2", "released with TMax")
    rates = pd.DataFrame(rows)
    by_rating = rates.groupby("author_rating")["rate"]
    assert by_rating.size().to_dict() == {"easy": 4, "medium": 55, "hard": 30}
    assert by_rating.mean().round(3).to_dict() == {"easy": 0.581, "medium": 0.263, "hard": 0.076}
    rating = rates["author_rating"].map({"easy": 0, "medium": 1, "hard": 2})
    assert spearman(rating, rates["rate"], n_boot=0).rho == pytest.approx(-0.483, abs=0.0005)
    assert rates["runs"].sum() == 3560
    assert set(rates["models"]) == {8}
    to_arrow(rows, PUBLIC_PASS_RATES)


def trials(tmp_path: Path, text: str, name: str = "trials.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_missing_verdict_counts_as_not_passed(tmp_path: Path) -> None:
    path = trials(tmp_path, HEAD + "b,m,1,1.0,,4\nb,m,2,,Timeout,8\nb,n,1,0.5,,\na,m,1,1,,2\n")
    a, b = pass_rates(path, None, "set", "here")
    assert (b["task"], b["runs"], b["models"], b["rate"], b["turns"]) == ("b", 3, 2, pytest.approx(1 / 3), 6.0)
    assert (a["task"], a["rate"], a["author_rating"], a["w_naive_lines"]) == ("a", 1.0, None, None)


def test_tasks_are_described_by_the_second_file(tmp_path: Path) -> None:
    tasks = trials(
        tmp_path, "task,author_difficulty,solution_lines,expert_minutes\na,hard,12,\nz,easy,1,5\n", "tasks.csv"
    )
    (row,) = pass_rates(trials(tmp_path, HEAD + "a,m,1,0,,3\n"), tasks, "set", "here")
    assert (row["author_rating"], row["w_naive_lines"], row["expert_minutes"], row["category"]) == (
        "hard",
        12,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        (HEAD + "a,m,1,yes,,3\n", 2, "reward"),
        (HEAD + "a,m,1,nan,,3\n", 2, "reward"),
        (HEAD + "a,m,1,1,,3\na,m,2,1,,-1\n", 3, "turns"),
        (HEAD + ",m,1,1,,3\n", 2, "task"),
        (HEAD + "a,m,1\n", 2, "values"),
        (HEAD + "a,m,1,1,,3,9,9\n", 2, "values"),
        ("task,model\na,m\n", 1, "reward"),
        ("", 1, "reward"),
        (HEAD + 'a,"m"x,1,1,,3\n', 2, "CSV"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, line: int, word: str) -> None:
    path = trials(tmp_path, text)
    with pytest.raises(UserError) as caught:
        pass_rates(path, None, "set", "here")
    assert f"{path}:{line}" in str(caught.value)
    assert word in str(caught.value)


def test_a_file_that_is_not_there_or_not_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"gone\.csv"):
        pass_rates(tmp_path / "gone.csv", None, "set", "here")
    (tmp_path / "latin.csv").write_bytes(HEAD.encode() + b"caf\xe9,m,1,1,,3\n")
    with pytest.raises(UserError, match="UTF-8"):
        pass_rates(tmp_path / "latin.csv", None, "set", "here")


def test_a_task_described_twice_is_refused(tmp_path: Path) -> None:
    tasks = trials(tmp_path, "task,category\na,x\na,y\n", "tasks.csv")
    with pytest.raises(UserError, match=r"tasks\.csv:3"):
        pass_rates(trials(tmp_path, HEAD + "a,m,1,0,,3\n"), tasks, "set", "here")


def test_trials_are_columns_to_sample_by(tmp_path: Path) -> None:
    path = trials(tmp_path, "task,model,reward,turns\na,m,1,7\na,m,1,5\na,n,0,2\nb,n,0.5,3\nb,n,,\n")
    found = public_columns(path)
    assert found["a"] == {
        "public.passes": 2, "public.runs": 3, "public.fewest_turns": 5,
        "public.m.passes": 2, "public.m.runs": 2, "public.m.fewest_turns": 5,
        "public.n.passes": 0, "public.n.runs": 1, "public.n.fewest_turns": None,
    }  # fmt: skip
    assert found["b"]["public.passes"] == 0 and found["b"]["public.m.runs"] == 0
