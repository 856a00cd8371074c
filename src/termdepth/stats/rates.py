"""Rates over runs: pass@1, pass@k, rates by segment, means over tasks (Section 4.5, Appendix I).

Every function takes the runs table (columns model, dataset, task, valid, passed, ...) already restricted to the phase it
is about, and answers per group (`by`, default one row a model). Runs with valid = False (refusals, infrastructure) are
left out of every denominator, and so is a task without a valid run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from termdepth.stats._arrays import Floats, as_floats, join_notes, left_out, require_columns
from termdepth.stats.bootstrap import mean_interval, row_interval
from termdepth.stats.samples import Share, share_of_counts

TASK = ["dataset", "task"]


class SegmentRates(NamedTuple):
    """`segments`: one row per group and segment; `summary`: one row per group. Columns: see `segment_pass_rates`."""

    segments: pd.DataFrame
    summary: pd.DataFrame


def pass_at_1(
    runs: pd.DataFrame, by: Sequence[str] = ("model",), *, n_boot: int = 10_000, seed: int = 0, level: float = 0.95
) -> pd.DataFrame:
    """pass@1: share of passing runs within each task, averaged over tasks (Table 2), with an interval over tasks.

    Returns:
        by..., pass_at_1, ci_low, ci_high, n_tasks, n_tasks_left_out, n_runs, n_runs_left_out, note. A group without a
        valid run has nan and a note.
    """
    return _rate_table(runs, by, "pass_at_1", 1, n_boot, seed, level)


def pass_at_k(
    runs: pd.DataFrame,
    k: int,
    by: Sequence[str] = ("model",),
    *,
    n_boot: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """pass@k: probability that at least one of k runs passes, 1 - C(n-c, k) / C(n, k) for c passes in n valid runs of a
    task (Chen et al. 2021, arXiv 2107.03374, eq. 1), averaged over tasks; tasks with fewer than k valid runs are left out.

    Returns:
        as `pass_at_1`, with the column pass_at_k and a column k.
    """
    if k < 1:
        raise ValueError("k is at least 1")
    table = _rate_table(runs, by, "pass_at_k", k, n_boot, seed, level)
    table.insert(len(by), "k", k)
    return table


def task_rates(runs: pd.DataFrame, by: Sequence[str] = ("model",)) -> pd.DataFrame:
    """Valid runs and passes of each task: by..., dataset, task, n_runs, n_passed, rate. Tasks without one are absent."""
    keys = _task_keys(by)
    require_columns(runs, [*keys, "valid", "passed"])
    usable = _usable(runs, keys, "passed")
    frame = runs.loc[usable, keys].assign(passed=as_floats(runs.loc[usable, "passed"]))
    rates: pd.DataFrame = (
        frame.groupby(keys, observed=True, sort=False)["passed"].agg(n_runs="size", n_passed="sum").reset_index()
    )
    rates["n_passed"] = rates["n_passed"].astype(np.int64)
    rates["rate"] = rates["n_passed"] / rates["n_runs"]
    return rates


def mean_pass_rate(runs: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Pass rate of each task averaged over models, for tasks with a valid run of every one (Section 4.3: the mean of four
    evaluated models over the tasks with results from all four).

    Returns:
        dataset, task, rate, n_runs.
    """
    rates = task_rates(runs[runs["model"].isin(list(models))])
    grouped = rates.groupby(TASK, observed=True, sort=False).agg(
        rate=("rate", "mean"), n_runs=("n_runs", "sum"), n_models=("model", "nunique")
    )
    complete = grouped["n_models"] == len(set(models))
    return grouped.loc[complete, ["rate", "n_runs"]].reset_index()


def passed_by_none(runs: pd.DataFrame) -> Share:
    """Tasks that no model passes, of those with a valid run of every model in the table (Section 4.5: 29 of 90)."""
    rates = task_rates(runs)
    tasks = rates.groupby(TASK, observed=True).agg(models=("model", "nunique"), passes=("n_passed", "sum"))
    # A model whose runs are all invalid has results on no task, so no task has results from all models.
    common = tasks[tasks["models"] == runs["model"].nunique()]
    return share_of_counts(int((common["passes"] == 0).sum()), len(common))


def over_tasks(
    runs: pd.DataFrame, how: Mapping[str, str], by: Sequence[str] = ("model",), *, passing: bool = False
) -> pd.DataFrame:
    """Columns averaged over the valid runs of each task, then summarised over tasks (Tables 2 and 6).

    Args:
        how: column -> "mean" or "median" over tasks. Missing values are left out.
        passing: over passing runs only (and the tasks that have one).

    Returns:
        by..., one column for each key of `how`, n_tasks; a row for every group in `runs`, nan where it has no task.
    """
    keys = _task_keys(by)
    require_columns(runs, [*keys, "valid", "passed", *how])
    usable = _usable(runs, keys, "passed")
    if passing:
        usable &= as_floats(runs["passed"]) == 1
    frame = runs.loc[usable, keys].assign(**{name: as_floats(runs.loc[usable, name]) for name in how})
    tasks = frame.groupby(keys, observed=True, sort=False)[list(how)].mean().reset_index()
    grouped = tasks.groupby(list(by), observed=True, sort=False)
    table: pd.DataFrame = grouped.agg(dict(how)).join(grouped.size().rename("n_tasks"))
    everything = runs.groupby(list(by), observed=True, sort=False).size().index
    table = table.reindex(everything).reset_index()
    table["n_tasks"] = table["n_tasks"].fillna(0).astype(np.int64)
    return table


def evaluation_summary(
    runs: pd.DataFrame, by: Sequence[str] = ("model",), *, n_boot: int = 10_000, seed: int = 0
) -> pd.DataFrame:
    """Table 2: pass@1 (see `pass_at_1`), mean fraction of segments passed, turns, minutes and context tokens over all
    valid runs, and turns and minutes over passing runs (columns passing_turns, passing_minutes), each averaged within a
    task and then over tasks.
    """
    require_columns(runs, ["segments_passed", "n_segments"])
    total = as_floats(runs["n_segments"])
    fraction = np.divide(as_floats(runs["segments_passed"]), total, out=np.full(len(runs), np.nan), where=total > 0)
    needed = [*_task_keys(by), "valid", "passed", "turns", "minutes", "context_tokens"]
    require_columns(runs, needed)
    runs = runs[needed].assign(segments=fraction)
    table = pass_at_1(runs, by, n_boot=n_boot, seed=seed)
    every = over_tasks(runs, dict.fromkeys(["segments", "turns", "minutes", "context_tokens"], "mean"), by)
    passing = over_tasks(runs, dict.fromkeys(["turns", "minutes"], "mean"), by, passing=True)
    passing = passing.rename(columns={"turns": "passing_turns", "minutes": "passing_minutes"})
    for part in (every, passing):
        table = table.merge(part.drop(columns="n_tasks"), on=list(by), how="left")
    return table


def segment_pass_rates(
    runs: pd.DataFrame, by: Sequence[str] = ("model",), *, n_boot: int = 2_000, seed: int = 0, level: float = 0.95
) -> SegmentRates:
    """Figure 6: how runs fare segment by segment, pooled over valid runs (not averaged by task).

    A run on a task with k segments passes segments 1..segments_passed in a row and stops. For segment i: `on` runs are
    on tasks with at least i segments, `reached` of them passed the i - 1 before, `passed` of them passed i. The per-segment
    pass rate is the geometric mean of the conditional rates passed / reached (Section 4.5).

    The interval resamples tasks; the default n_boot places its ends within about 3 % of its half-width, enough for
    a figure, because each of these replicates costs more than those of a mean.

    Returns:
        segments: by..., segment, on, reached, passed, share (passed / on), conditional (passed / reached; nan if none).
        summary: by..., per_segment (the geometric mean, over the segments that some run reached), ci_low, ci_high,
        share_all (share at the last segment of the longest tasks in the table), n_all (runs on them), n_runs,
        n_runs_left_out, note.
    """
    keys = _task_keys(by)
    require_columns(runs, [*keys, "valid", "segments_passed", "n_segments"])
    usable = _usable(runs, keys, "segments_passed", "n_segments")
    totals = runs.groupby(list(by), observed=True, sort=False).size()
    part = runs.loc[usable, keys]
    n_segments = as_floats(runs.loc[usable, "n_segments"]).astype(np.int64)
    done = np.clip(as_floats(runs.loc[usable, "segments_passed"]).astype(np.int64), 0, n_segments)
    task = part.groupby(keys, observed=True, sort=False).ngroup().to_numpy()
    first_row = np.unique(task, return_index=True)[1]
    tasks = part.iloc[first_row].reset_index(drop=True)
    k = int(n_segments.max()) if len(n_segments) else 0

    def at_least(values: Any) -> Floats:
        """Runs of each task with a value of at least 0..k, shape (tasks, k + 1)."""
        table = np.bincount(task * (k + 1) + values, minlength=len(tasks) * (k + 1)).reshape(len(tasks), k + 1)
        return np.cumsum(table[:, ::-1], axis=1)[:, ::-1].astype(np.float64)

    passed = at_least(done)
    complete = np.zeros_like(passed)
    np.add.at(complete, (task[done == n_segments], done[done == n_segments]), 1.0)
    # Reaching segment i takes i - 1 passes on a task that has more than i - 1 segments.
    reached, on, passed = (passed - complete)[:, :-1], at_least(n_segments)[:, 1:], passed[:, 1:]

    rows, summary = [], []
    of_group = tasks.groupby(list(by), observed=True, sort=False).indices if len(tasks) else {}
    for key, total in totals.items():
        names = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
        index = of_group.get(key, np.empty(0, dtype=np.int64))
        r, p, o = reached[index].sum(axis=0), passed[index].sum(axis=0), on[index].sum(axis=0)
        conditional = np.divide(p, r, out=np.full(k, np.nan), where=r > 0)
        overall = np.divide(p, o, out=np.full(k, np.nan), where=o > 0)
        for i in range(k):
            rows.append({**names, "segment": i + 1, "on": int(o[i]), "reached": int(r[i]), "passed": int(p[i]),
                         "share": overall[i], "conditional": conditional[i]})  # fmt: skip
        n_runs = int(reached[index, 0].sum()) if k else 0
        geometric = float(_geometric_mean(np.concatenate([r, p])[None])[0]) if n_runs else np.nan
        interval = row_interval(
            np.hstack([reached[index], passed[index]]), _geometric_mean, n_boot=n_boot, seed=seed, level=level
        )
        unreached = int(((o > 0) & (r == 0)).sum())
        note = join_notes(
            "no valid run" if not n_runs else interval.note,
            f"{unreached} of {k} segments reached by no run" if unreached else "",
        )
        summary.append({**names, "per_segment": geometric, "ci_low": interval.low, "ci_high": interval.high,
                        "share_all": overall[-1] if k else np.nan, "n_all": int(o[-1]) if k else 0,
                        "n_runs": n_runs, "n_runs_left_out": int(total) - n_runs, "note": note})  # fmt: skip
    segment_columns = ["segment", "on", "reached", "passed", "share", "conditional"]
    summary_columns = ["per_segment", "ci_low", "ci_high", "share_all", "n_all", "n_runs", "n_runs_left_out", "note"]
    return SegmentRates(
        pd.DataFrame(rows, columns=[*by, *segment_columns]), pd.DataFrame(summary, columns=[*by, *summary_columns])
    )


def category_shares(
    runs: pd.DataFrame, category: str = "outcome", by: Sequence[str] = ("model",), order: Sequence[str] | None = None
) -> pd.DataFrame:
    """Share of each group's runs in each category (Figure 14), every combination present, zeros included.

    Runs without a category are left out. Returns by..., category, count, total, share (nan if total is 0).
    """
    require_columns(runs, [*by, category])
    counts = runs.groupby([*by, category], observed=True).size().unstack(fill_value=0)
    counts = counts.reindex(columns=list(order if order is not None else counts.columns), fill_value=0).reset_index()
    table = counts.melt(id_vars=list(by), var_name=category, value_name="count", ignore_index=False)
    table = table.sort_index(kind="stable").reset_index(drop=True)
    table["total"] = table.groupby(list(by), observed=True)["count"].transform("sum")
    table["share"] = table["count"] / table["total"].where(table["total"] > 0)
    return table


def fewest_turns_runs(runs: pd.DataFrame, by: Sequence[str] = ("model",)) -> pd.DataFrame:
    """The passing run with the fewest turns of each task, the first attempt of equals: the run that gives N (Table 1)."""
    keys = _task_keys(by)
    require_columns(runs, [*keys, "valid", "passed", "turns", "attempt"])
    passing = _usable(runs, keys, "passed", "turns") & (as_floats(runs["passed"]) == 1)
    ordered: pd.DataFrame = runs[passing].sort_values(["turns", "attempt"], kind="stable")
    return ordered.drop_duplicates(keys).sort_index()


def _task_keys(by: Sequence[str]) -> list[str]:
    """Columns that tell the tasks of a group apart; `by` may itself hold the dataset."""
    return list(dict.fromkeys([*by, *TASK]))


def _usable(runs: pd.DataFrame, keys: Sequence[str], *needed: str) -> NDArray[np.bool_]:
    """Valid runs that have every key and every needed value."""
    usable: NDArray[np.bool_] = (as_floats(runs["valid"]) == 1) & runs[list(keys)].notna().to_numpy().all(axis=1)
    for name in needed:
        usable &= ~np.isnan(as_floats(runs[name]))
    return usable


def _geometric_mean(sums: Floats) -> Floats:
    """Geometric mean of passed / reached over the segments reached, shape (b,), from sums (b, 2k): reached, then passed."""
    k = sums.shape[1] // 2
    reached, passed = sums[:, :k], sums[:, k:]
    some = reached > 0
    positive = some & (passed > 0)
    logs = np.log(np.divide(passed, reached, out=np.ones_like(passed), where=positive))
    segments = some.sum(axis=1)
    mean = np.exp(logs.sum(axis=1) / np.maximum(segments, 1))
    # A segment reached but never passed makes the product 0.
    mean[(some & ~positive).any(axis=1)] = 0.0
    mean[segments == 0] = np.nan
    return np.asarray(mean)


def _at_least_one(n: Floats, c: Floats, k: int) -> Floats:
    """1 - C(n-c, k) / C(n, k), for n >= k; by log-gamma, since the binomials overflow beyond about a thousand runs."""
    failures = n - c
    possible = failures >= k
    f = np.where(possible, failures, k)
    log_ratio = (
        special.gammaln(f + 1) - special.gammaln(f - k + 1) - special.gammaln(n + 1) + special.gammaln(n - k + 1)
    )
    return np.where(possible, -np.expm1(np.minimum(log_ratio, 0.0)), 1.0)


def _rate_table(
    runs: pd.DataFrame, by: Sequence[str], name: str, k: int, n_boot: int, seed: int, level: float
) -> pd.DataFrame:
    tasks = task_rates(runs, by)
    enough = tasks[tasks["n_runs"] >= k]
    n, c = enough["n_runs"].to_numpy(np.float64), enough["n_passed"].to_numpy(np.float64)
    enough = enough.assign(rate=c / n if k == 1 else _at_least_one(n, c, k))
    of_group = enough.groupby(list(by), observed=True, sort=False).indices if len(enough) else {}
    everything = runs.groupby(_task_keys(by), observed=True, sort=False).size().reset_index(name="runs")
    totals = everything.groupby(list(by), observed=True, sort=False)["runs"].agg(["size", "sum"])
    rates, counts = enough["rate"].to_numpy(), enough["n_runs"].to_numpy()
    rows = []
    for key, n_tasks, n_runs in totals.itertuples():
        index = of_group.get(key, np.empty(0, dtype=np.int64))
        values, used = rates[index], int(counts[index].sum())
        interval = mean_interval(values, n_boot=n_boot, seed=seed, level=level)
        few = "no valid run" if k == 1 else f"fewer than {k} valid runs"
        rows.append(
            {
                **dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True)),
                name: float(values.mean()) if values.size else np.nan,
                "ci_low": interval.low,
                "ci_high": interval.high,
                "n_tasks": values.size,
                "n_tasks_left_out": int(n_tasks) - values.size,
                "n_runs": used,
                "n_runs_left_out": int(n_runs) - used,
                "note": join_notes(left_out(int(n_tasks) - values.size, "task", few), interval.note),
            }
        )
    columns = [name, "ci_low", "ci_high", "n_tasks", "n_tasks_left_out", "n_runs", "n_runs_left_out", "note"]
    return pd.DataFrame(rows, columns=[*by, *columns])
