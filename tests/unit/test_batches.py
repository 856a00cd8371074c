"""Which tasks share a job: stable, so that a change of one task re-runs little."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from termdepth.pipeline.batches import batch_of, bucket, n_batches, n_first, n_first_batches, order_tasks

names = st.lists(
    st.text(alphabet="abcdefghij-0123456789", min_size=1, max_size=12), min_size=1, max_size=80, unique=True
)


def rows(tasks: list[str], **changes: Any) -> list[dict[str, Any]]:
    base = {"problem": None, "light": True, "light_rule": None, "light_evidence": None, "w_lines": 3}
    return [{"task": t, **base, **changes} for t in tasks]


@given(names, st.integers(1, 30))
def test_every_task_has_a_batch_that_follows_from_its_name(tasks: list[str], per_job: int) -> None:
    n = n_batches(len(tasks), per_job)
    assert n & (n - 1) == 0 and len(tasks) / n <= per_job
    assert all(0 <= bucket(t, n) < n for t in tasks)
    found = order_tasks(rows(tasks), tasks_per_job=per_job)
    assert {r["task"]: r["batch"] for r in found} == {t: bucket(t, n) for t in tasks}
    assert sorted(r["order"] for r in found) == list(range(len(tasks)))


@given(names, st.integers(1, 30))
def test_one_task_more_moves_no_other_unless_the_number_of_batches_doubles(tasks: list[str], per_job: int) -> None:
    old = {r["task"]: r["batch"] for r in order_tasks(rows(tasks), tasks_per_job=per_job)}
    new = {r["task"]: r["batch"] for r in order_tasks(rows([*tasks, "the-new-one"]), tasks_per_job=per_job)}
    if n_batches(len(tasks), per_job) == n_batches(len(tasks) + 1, per_job):
        assert {t: b for t, b in new.items() if t in old} == old
    else:  # then each batch is split in two
        assert all(new[t] % n_batches(len(tasks), per_job) == old[t] for t in old)


@given(names, st.integers(0, 9), st.integers(1, 40), st.integers(1, 40))
def test_larger_sample_only_adds(tasks: list[str], seed: int, a: int, b: int) -> None:
    orders = [
        {r["task"]: r["order"] for r in order_tasks(rows(tasks), sample=n, seed=seed)} for n in (min(a, b), max(a, b))
    ]
    assert orders[0] == orders[1]


@given(names, st.integers(0, 9), st.data())
def test_order_does_not_depend_on_the_order_found(tasks: list[str], seed: int, data: st.DataObject) -> None:
    other = data.draw(st.permutations(tasks))
    a = {r["task"]: r["order"] for r in order_tasks(rows(tasks), sample=5, seed=seed)}
    assert a == {r["task"]: r["order"] for r in order_tasks(rows(other), sample=5, seed=seed)}


@given(st.integers(1, 60), st.sampled_from([0.0, 0.25, 1.0]), st.integers(1, 30), st.integers(1, 300))
def test_the_first_batches_hold_the_sample_and_its_reserve(
    sample: int, reserve: float, per_job: int, listed: int
) -> None:
    how: dict[str, Any] = {"sample": sample, "reserve": reserve, "tasks_per_job": per_job}
    batches = [batch_of(i, f"t{i}", listed, **how) for i in range(listed)]
    assert batches == sorted(batches) and set(batches) == set(range(max(batches) + 1))
    first = n_first_batches(max(batches) + 1, **how)
    assert sum(b < first for b in batches) >= min(listed, n_first(sample, reserve))


def test_why_a_task_is_left_out() -> None:
    found = order_tasks(
        rows(["fine"])
        + rows(["broken"], problem="task.toml is missing", light=None, w_lines=None)
        + rows(["heavy"], light=False, light_rule="gpu", light_evidence="Dockerfile:1")
        + rows(["other"])
        + rows(["fine-too"], light=None)
        + rows(["fine-but-empty"], w_lines=None),
        patterns=["fine*", "broken", "heavy"],
    )
    reasons = {r["task"]: r["left_out"] for r in found}
    assert reasons == {
        "fine": None,
        "fine-too": None,
        "broken": "cannot be read: task.toml is missing",
        "heavy": "not light: gpu: Dockerfile:1",
        "other": "name not asked for",
        "fine-but-empty": "no reference solution",
    }
    assert [r["task"] for r in found if r["order"] is None] == ["broken", "heavy", "other", "fine-but-empty"]
    assert all((r["batch"] is None) == (r["order"] is None) for r in found)
