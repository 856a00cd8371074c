"""The merge ablation's rules: which tasks, which checks, which runs, which D (App. H)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from termdepth.depth.protocol import Protocol, Run
from termdepth.merge.checks import Checks, drop, names_of, sections
from termdepth.merge.protocol import MergedDepth, merged_depth, next_merged_run, sample
from termdepth.models.merged_plan import merged_levels, merged_plan_depth
from termdepth.models.plan import Plan, load_plans, plan_depth

CAPS = (1, 2, 3, 5, 10, 20, 40, 80)
PROTOCOL = Protocol(caps=CAPS, runs_per_cap=2, invalid_retries=1)

# What each attempt at each cap gives: passes, fails, or says nothing.
OUTCOMES = st.dictionaries(
    st.sampled_from(CAPS), st.lists(st.sampled_from(["pass", "fail", "invalid"]), min_size=4, max_size=4)
)


def measure(outcomes: dict[int, list[str]], d: int) -> list[Run]:
    runs: list[Run] = []
    while request := next_merged_run(runs, d, PROTOCOL):
        assert request.cap is not None and request.cap <= d and request.phase == "merged"
        said = outcomes.get(request.cap, ["fail"] * 4)[request.attempt - 1]
        runs.append(Run("merged", request.cap, request.attempt, said != "invalid", said == "pass", request.cap))
        assert len(runs) < 50
    return runs


@given(OUTCOMES, st.sampled_from(CAPS))
def test_downward_until_both_runs_of_a_cap_fail(outcomes: dict[int, list[str]], d: int) -> None:
    runs = measure(outcomes, d)
    caps = [run.cap for run in runs]
    assert caps == sorted(caps, key=lambda c: -(c or 0)), "from the largest downward"
    tried = list(dict.fromkeys(caps))
    assert tried == [c for c in reversed(CAPS) if c <= d][: len(tried)], "no cap is left out"
    for cap in tried:
        slot = [r for r in runs if r.cap == cap]
        assert sum(r.valid for r in slot) <= 2 and sum(not r.valid for r in slot) <= 2
        assert not any(r.passed for r in slot[:-1]), "nothing is run at a cap that has passed"
        if cap != tried[-1]:
            assert slot[-1].passed, "only a cap that passes leads to a smaller one"
    found = merged_depth(runs, d, PROTOCOL)
    passed = [r.cap for r in runs if r.passed]
    assert found.d == min(passed, default=None)
    assert found.d is None or found.d <= d
    assert found.solved == (bool(passed) if any(r.valid for r in runs) else None)


def test_not_solved_within_the_original_cap() -> None:
    runs = measure({}, 20)
    assert [(r.cap, r.attempt) for r in runs] == [(20, 1), (20, 2)]
    assert merged_depth(runs, 20, PROTOCOL) == MergedDepth(False, None)


def test_a_cap_may_pass_below_the_smallest_that_is_needed() -> None:
    """The smallest cap of all is tried too, and then there is nothing left."""
    runs = measure({c: ["fail", "pass"] for c in CAPS}, 3)
    assert [(r.cap, r.attempt) for r in runs] == [(3, 1), (3, 2), (2, 1), (2, 2), (1, 1), (1, 2)]
    assert merged_depth(runs, 3, PROTOCOL) == MergedDepth(True, 1)


def test_runs_of_other_phases_do_not_count() -> None:
    other = [Run("probe", 10, 1, True, True, 9), Run("merged", 40, 1, True, True, 9)]
    assert merged_depth(other, 20, PROTOCOL) == MergedDepth(None, None)
    request = next_merged_run(other, 20, PROTOCOL)
    assert request is not None and (request.cap, request.attempt) == (20, 1)


# --- the sample


def depth_row(task: str, **changes: Any) -> dict[str, Any]:
    return {"task": task, "solved": True, "n_segments": 4, "d_first": 20, **changes}


def test_only_solved_tasks_of_several_segments_with_a_measured_d_are_drawn() -> None:
    rows = [
        depth_row("a"),
        depth_row("b", solved=False, d_first=None),
        depth_row("c", n_segments=1),
        depth_row("d", d_first=None),
        depth_row("e"),
    ]
    assert sorted(sample(rows, "all", 0)) == ["a", "e"] == sorted(sample(rows, 25, 3))


def test_the_draw_depends_on_the_seed_only_and_a_larger_one_adds_tasks() -> None:
    rows = [depth_row(f"t{i:02}") for i in range(40)]
    assert sample(rows, 25, 7) == sample(list(reversed(rows)), 25, 7)
    assert sample(rows, 25, 7) != sample(rows, 25, 8)
    assert sample(rows, 25, 7)[:10] == sample(rows, 10, 7)
    assert len(set(sample(rows, 25, 7))) == 25


# --- the checks

LOG = """\
== segment 1
PASS it runs
FAIL report: port: it is 8111, not 8080
== segment 1 failed
== segment 2
PASS it runs
== segment 2 passed
"""


def test_sections() -> None:
    found = sections(LOG + "== segment 3\nno reward here\n== segment 3 gave no reward\n")
    assert [(s, section.passed) for s, section in found.items()] == [(1, False), (2, True), (3, None)]
    assert found[1].log.splitlines() == ["PASS it runs", "FAIL report: port: it is 8111, not 8080"]


def test_checks_that_a_later_segment_changes_are_dropped() -> None:
    own = [Checks(("it runs", "report: port", "report")), Checks(("it runs",))]
    checks, reason = drop(own, LOG)
    assert reason is None
    assert checks[0].dropped == ("report: port",) and checks[0].kept == ("it runs", "report")
    assert not checks[0].left_out and checks[1] == own[1]


def test_another_verifier_is_dropped_as_a_whole() -> None:
    checks, reason = drop([Checks(), Checks()], LOG)
    assert reason is None and checks[0].left_out and not checks[1].left_out
    assert names_of("PASS made up\n", library=False) == ()


def test_no_check_of_the_last_segment_is_dropped() -> None:
    log = LOG.replace("== segment 2 passed", "FAIL it is moved: no\n== segment 2 failed")
    _, reason = drop([Checks(("it runs", "report: port")), Checks(("it runs", "it is moved"))], log)
    assert reason == "checks of the last segment fail after the merged solution: it is moved"


def test_a_crash_drops_nothing() -> None:
    log = LOG.replace("FAIL report: port: it is 8111, not 8080", "FAIL check script: stopped before its last line")
    _, reason = drop([Checks(("it runs", "report: port")), Checks(("it runs",))], log)
    assert reason is not None and "check script: stopped" in reason
    _, reason = drop([Checks(), Checks()], "== segment 1\n== segment 1 gave no reward\n")
    assert reason == "the checks of segment 1 did not run to a result after the merged solution"


# --- known depth


def plan(*nodes: dict[str, Any]) -> Plan:
    return Plan.model_validate({"name": "p", "when": ["x"], "nodes": [{"command": "true", **n} for n in nodes]})


def test_a_later_segment_starts_when_the_one_before_is_sent() -> None:
    merged = plan(
        {"id": "a", "segment": 1},
        {"id": "b", "segment": 1, "after": ["a"]},
        {"id": "c", "segment": 2},  # needs nothing that was read: sent together with b
        {"id": "d", "segment": 3, "after": ["c"]},
        {"id": "e", "segment": 3, "after": ["a"]},  # could be sent in turn 2, and is once segment 2 is sent
    )
    assert merged_levels(merged) == {"a": 1, "b": 2, "c": 2, "d": 3, "e": 2}
    assert (merged_plan_depth(merged), plan_depth(merged)) == (3, 4)


def test_merging_never_makes_a_bundled_plan_deeper() -> None:
    for known in load_plans():
        deepest = max(max(known.levels[n.id] for n in known.of_segment(s)) for s in range(1, known.segments + 1))
        assert deepest <= merged_plan_depth(known) <= plan_depth(known)
        if known.segments == 1:
            assert merged_plan_depth(known) == plan_depth(known)
