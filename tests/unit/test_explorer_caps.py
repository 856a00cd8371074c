"""The overview of caps: what was run, what is known without a run, and why."""

from __future__ import annotations

from explorer_study import depth_row, run_row
from termdepth.explorer.caps import strips

CAPS = (1, 2, 3, 5, 10)


def _states(strip: object) -> list[str]:
    return [",".join(m.state for m in c.marks) or c.known for c in strip.cells]  # type: ignore[attr-defined]


def test_the_first_model_s_row_follows_the_order_of_runs() -> None:
    runs = [
        run_row(passed=True, turns_per_segment=[7]),
        run_row(passed=False, attempt=2),
        run_row(phase="probe", cap=1, passed=False),
        run_row(phase="probe", cap=1, passed=False, attempt=2),
        run_row(phase="probe", cap=2, passed=False, valid=False),
        run_row(phase="probe", cap=2, passed=True, attempt=2),
    ]
    (strip,) = strips(runs, CAPS, depth_row(d=2, d_lower=1, d_first=2, n=7))
    assert _states(strip) == ["passed,failed", "failed,failed", "invalid,passed", "needless", "needless", "passes"]
    assert [c.cap for c in strip.cells] == [None, *CAPS]
    assert [m.run for c in strip.cells for m in c.marks] == [1, 2, 3, 4, 5, 6]
    assert "needed 7 turns" in strip.cells[-1].why


def test_the_second_model_runs_only_below_the_first() -> None:
    runs = [run_row(turns_per_segment=[4]), run_row(phase="second", model="s", cap=1, passed=False)]
    first, second = strips(runs, CAPS, depth_row(d=5, d_lower=3, d_first=5, n=4))
    assert (first.label, second.label) == ("first model", "second model")
    assert _states(first) == ["passed", "nothing", "nothing", "nothing", "passes", "passes"]
    assert _states(second) == ["nothing", "failed", "nothing", "nothing", "needless", "needless"]


def test_an_unsolved_task_says_why_no_cap_was_run() -> None:
    (strip,) = strips(
        [run_row(passed=False)], CAPS, depth_row(solved=False, d=None, d_lower=None, n=None, d_first=None)
    )
    assert {c.why for c in strip.cells[1:]} == {"not run: no run without a cap passed"}


def test_evaluations_are_apart_and_unusual_caps_have_a_column() -> None:
    runs = [run_row(phase="probe", cap=4), run_row(phase="evaluation", model="e")]
    probes, evaluation = strips(runs, CAPS, None)
    assert [c.cap for c in probes.cells] == [None, 1, 2, 3, 4, 5, 10]
    assert (evaluation.label, evaluation.model) == ("evaluation", "e")
