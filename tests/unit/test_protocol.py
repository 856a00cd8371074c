"""The order of runs and the estimate of D, for any task whatever (paper, App. B)."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from termdepth.depth.protocol import PHASES, Phase, Protocol, Run, RunRequest, estimate, most_runs, next_run

CAPS = (1, 2, 3, 5, 10, 20, 40, 80)
Play = Callable[[RunRequest], Run]

protocols = st.builds(
    Protocol,
    caps=st.lists(st.integers(1, 100), min_size=1, max_size=8, unique=True).map(lambda c: tuple(sorted(c))),
    runs_uncapped=st.integers(1, 3),
    runs_per_cap=st.integers(1, 3),
    invalid_retries=st.integers(0, 3),
    second_model=st.booleans(),
)


def any_task(seed: int, *, noise: float, invalid: float) -> Play:
    """A task and two models: mostly passed from some cap on, with noise both ways, so that nothing is monotone."""
    chance = random.Random(seed)
    need = {"uncapped": chance.randint(1, 120), "probe": chance.randint(1, 120), "second": chance.randint(1, 120)}
    solvable = chance.random() < 0.85

    def play(request: RunRequest) -> Run:
        turns = max(1, need["uncapped"] + chance.randint(-5, 30))
        passed = solvable and (request.cap is None or request.cap >= need[request.phase])
        passed ^= chance.random() < noise
        valid = chance.random() >= invalid
        turns = turns if request.cap is None else min(turns, request.cap)
        return Run(request.phase, request.cap, request.attempt, valid, valid and passed, turns)

    return play


def measure(play: Play, protocol: Protocol, phases: tuple[Phase, ...] = PHASES) -> list[Run]:
    """All runs that the protocol asks for; fails if it does not come to an end."""
    runs: list[Run] = []
    while request := next_run(runs, protocol, phases):
        runs.append(play(request))
        assert len(runs) < 500
    return runs


tasks = st.builds(
    any_task,
    st.integers(0, 2**32),
    noise=st.sampled_from([0.0, 0.1, 0.5]),
    invalid=st.sampled_from([0.0, 0.2, 0.9]),
)


@given(tasks, protocols)
def test_never_more_runs_than_the_worst_case(play: Play, protocol: Protocol) -> None:
    runs = measure(play, protocol)
    assert sum(r.valid for r in runs) <= most_runs(protocol)
    slots = {(r.phase, r.cap) for r in runs}
    assert sum(not r.valid for r in runs) <= len(slots) * (protocol.invalid_retries + 1)
    for phase, cap in slots:
        slot = [r for r in runs if (r.phase, r.cap) == (phase, cap)]
        assert [r.attempt for r in slot] == list(range(1, len(slot) + 1))
        wanted = protocol.runs_uncapped if cap is None else protocol.runs_per_cap
        assert sum(r.valid for r in slot) <= wanted
        invalid = sum(not r.valid for r in slot)
        # A slot is short of valid runs only after a pass, or when its retries are used up.
        assert (
            sum(r.valid for r in slot) == wanted
            or invalid == protocol.invalid_retries + 1
            or (cap is not None and slot[-1].passed)
        )


@given(tasks, protocols)
def test_never_a_run_whose_answer_is_known(play: Play, protocol: Protocol) -> None:
    runs = measure(play, protocol)
    for i, run in enumerate(runs):
        before = runs[:i]
        first = [r for r in before if r.phase == "uncapped" and r.valid and r.passed]
        if run.phase == "uncapped":
            assert all(r.phase == "uncapped" for r in before)
            continue
        n = min(r.turns for r in first)  # nothing is probed unless the first model passed
        assert run.cap is not None and run.cap in protocol.caps
        mine = [r for r in before if r.phase == run.phase]
        assert not any(r.passed for r in mine), "a run after this model's first pass"
        assert all(r.cap is not None and r.cap <= run.cap for r in mine), "caps in increasing order"
        if run.phase == "probe":
            assert run.cap < n
            assert not any(r.phase == "second" for r in before)
        else:
            assert protocol.second_model
            found = estimate([r for r in runs if r.phase != "second"], protocol)
            assert found.d is None or run.cap < found.d


@given(tasks, protocols)
def test_estimate_is_what_the_runs_say(play: Play, protocol: Protocol) -> None:
    runs = measure(play, protocol)
    found = estimate(runs, protocol)
    free = [r for r in runs if r.phase == "uncapped" and r.valid]
    assert found.r == (sum(r.passed for r in free) / len(free) if free else None)
    assert found.solved == (any(r.passed for r in free) if free else None)
    if not found.solved:
        assert (found.n, found.d, found.d_lower, found.d_first) == (None, None, None, None)
        assert not found.d_above and not found.d_first_above and {r.phase for r in runs} <= {"uncapped"}
        return
    assert found.n == min(r.turns for r in free if r.passed)
    passed = {r.phase: r.cap for r in runs if r.passed and r.cap is not None}
    by_n = next((c for c in protocol.caps if c >= found.n), None)
    assert found.d_first == passed.get("probe", by_n)
    both = [d for d in (found.d_first, passed.get("second")) if d is not None]
    assert found.d == (min(both) if both else None)
    assert found.d_above == (found.d is None) and found.d_first_above == (found.d_first is None)
    below = [c for c in protocol.caps if found.d is None or c < found.d]
    assert found.d_lower == (below[-1] if below else 0)
    assert found.d is None or found.d_lower < found.d


@given(tasks, protocols, st.data())
def test_turning_a_failed_run_into_a_pass_never_raises_d(play: Play, protocol: Protocol, data: st.DataObject) -> None:
    runs = measure(play, protocol)
    failed = [i for i, r in enumerate(runs) if r.valid and not r.passed]
    if not failed:
        return
    i = data.draw(st.sampled_from(failed))
    better = [*runs[:i], dataclasses.replace(runs[i], passed=True), *runs[i + 1 :]]
    old, new = estimate(runs, protocol), estimate(better, protocol)
    assert not old.solved or new.solved
    if old.solved:
        above = 10**6
        assert (new.d or above) <= (old.d or above)


@given(tasks, protocols)
def test_invalid_runs_are_never_failures(play: Play, protocol: Protocol) -> None:
    """Without them the estimate is the same, and so is what comes next once their slots are complete."""
    runs = measure(play, protocol)
    assert estimate(runs, protocol) == estimate([r for r in runs if r.valid], protocol)
    lied = [r if r.valid else dataclasses.replace(r, passed=True) for r in runs]  # whatever an invalid run claims
    assert estimate(lied, protocol) == estimate(runs, protocol)


@given(tasks, protocols, st.randoms(use_true_random=False))
def test_order_of_the_history_does_not_matter(play: Play, protocol: Protocol, chance: random.Random) -> None:
    runs = measure(play, protocol)
    for end in range(len(runs) + 1):
        shuffled = runs[:end]
        chance.shuffle(shuffled)
        assert next_run(shuffled, protocol) == next_run(runs[:end], protocol)
    shuffled = list(runs)
    chance.shuffle(shuffled)
    assert estimate(shuffled, protocol) == estimate(runs, protocol)


@given(st.integers(0, 2**32), protocols)
def test_phase_by_phase_is_the_same_as_at_once(seed: int, protocol: Protocol) -> None:
    """The workflow runs one phase a job, each with the runs of those before."""
    runs: list[Run] = []
    play = any_task(seed, noise=0.1, invalid=0.2)
    for phase in PHASES:
        while request := next_run(runs, protocol, (phase,)):
            assert request.phase == phase
            runs.append(play(request))
    assert runs == measure(any_task(seed, noise=0.1, invalid=0.2), protocol)


# ---- by hand, from App. B


def history(*rows: tuple[Phase, int | None, str]) -> list[Run]:
    """Rows (phase, cap, results): `.` failed, `x` invalid, a number passed in so many turns; one run a word."""
    runs = []
    for phase, cap, results in rows:
        for attempt, word in enumerate(results.split(), 1):
            turns = int(word) if word.isdigit() else cap or 30
            runs.append(Run(phase, cap, attempt, word != "x", word.isdigit(), turns))
    return runs


@pytest.mark.parametrize(
    ("rows", "next_", "d", "above", "lower", "d_first", "n", "r"),
    [
        # Nothing yet; one run; two failures: no estimate.
        ([], ("uncapped", None, 1), None, False, None, None, None, None),
        ([("uncapped", None, "7")], ("uncapped", None, 2), 10, False, 5, 10, 7, 1.0),
        ([("uncapped", None, ". .")], None, None, False, None, None, None, 0.0),
        # N = 7: caps 1, 2, 3, 5 are tried, 10 counts as passed.
        ([("uncapped", None, "7 9")], ("probe", 1, 1), 10, False, 5, 10, 7, 1.0),
        ([("uncapped", None, ". 7"), ("probe", 1, ".")], ("probe", 1, 2), 10, False, 5, 10, 7, 0.5),
        ([("uncapped", None, "7 9"), ("probe", 1, ". ."), ("probe", 2, ". 2")], ("second", 1, 1), 2, False, 1, 2, 7, 1),
        # The second run is skipped once the first passes; nothing is left to try on D = 1.
        ([("uncapped", None, "7 9"), ("probe", 1, "1")], None, 1, False, 0, 1, 7, 1.0),
        ([("uncapped", None, "1 4")], None, 1, False, 0, 1, 1, 1.0),
        # No cap below N passes: the smallest cap at or above N. N = 10 is a cap itself and is not run.
        (
            [("uncapped", None, "10 ."), *(("probe", c, ". .") for c in (1, 2, 3, 5))],
            ("second", 1, 1), 10, False, 5, 10, 10, 0.5,
        ),
        # N above the largest cap, and none passes.
        (
            [("uncapped", None, "81 150"), *(("probe", c, ". .") for c in CAPS)],
            ("second", 1, 1), None, True, 80, None, 81, 1.0,
        ),
        # The second model can only lower D; it runs below the first's estimate, also when that is above all caps.
        (
            [("uncapped", None, "81 ."), *(("probe", c, ". .") for c in CAPS),
             *(("second", c, ". .") for c in CAPS[:-1]), ("second", 80, ". 80")],
            None, 80, False, 40, None, 81, 0.5,
        ),
        (
            [("uncapped", None, "4 4"), ("probe", 1, ". ."), ("probe", 2, ". ."), ("probe", 3, "3"),
             ("second", 1, ". ."), ("second", 2, "2")],
            None, 2, False, 1, 3, 4, 1.0,
        ),
        (
            [("uncapped", None, "4 4"), ("probe", 1, ". ."), ("probe", 2, ". ."), ("probe", 3, "3"),
             ("second", 1, ". ."), ("second", 2, ". .")],
            None, 3, False, 2, 3, 4, 1.0,
        ),
        # Invalid runs are made again, twice a slot, and then left out.
        ([("uncapped", None, "x")], ("uncapped", None, 2), None, False, None, None, None, None),
        ([("uncapped", None, "x x .")], ("uncapped", None, 4), None, False, None, None, None, 0.0),
        ([("uncapped", None, "x x x")], None, None, False, None, None, None, None),
        ([("uncapped", None, "x x x 3")], ("probe", 1, 1), 3, False, 2, 3, 3, 1.0),
        ([("uncapped", None, "3 3"), ("probe", 1, "x")], ("probe", 1, 2), 3, False, 2, 3, 3, 1.0),
        ([("uncapped", None, "3 3"), ("probe", 1, "x x x")], ("probe", 2, 1), 3, False, 2, 3, 3, 1.0),
    ],
)  # fmt: skip
def test_by_hand(
    rows: list[tuple[Phase, int | None, str]], next_: tuple[Phase, int | None, int] | None, d: int | None, above: bool,
    lower: int | None, d_first: int | None, n: int | None, r: float | None,
) -> None:  # fmt: skip
    runs = history(*rows)
    assert next_run(runs, Protocol()) == (next_ and RunRequest(*next_))
    found = estimate(runs, Protocol())
    assert (found.d, found.d_above, found.d_lower, found.d_first, found.n, found.r) == (d, above, lower, d_first, n, r)
    assert found.solved == (None if r is None else r > 0)  # not solved is a finding: nothing valid is none


def test_evaluation_and_merged_runs_do_not_measure_d() -> None:
    runs = history(("uncapped", None, "7 9"), ("evaluation", None, "1 1"), ("merged", 1, "1"))
    assert estimate(runs, Protocol()).n == 7 and estimate(runs, Protocol()).d == 10
    assert next_run(runs, Protocol()) == RunRequest("probe", 1, 1)


def test_worst_case_of_the_paper() -> None:
    assert most_runs(Protocol()) == 2 + 2 * 8 * 2
    assert most_runs(Protocol(second_model=False)) == 18
    hard = measure(lambda q: Run(q.phase, q.cap, q.attempt, True, q.cap is None, 150), Protocol())
    assert len(hard) == most_runs(Protocol())
