"""Small made-up studies for the tests of the explorer: rows of the tables of record, and run folders in Harbor's layout."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from termdepth.data.schema import TABLES

Row = dict[str, Any]

# What models, tasks and containers may print. None of it may run, load anything, or be invisible in a page.
HOSTILE = (
    "<script>window.owned = 1</script>",
    "</script><script>window.owned = 2</script>",
    "</pre></details></main><img src=x onerror='window.owned = 3'>",
    '" onmouseover="window.owned = 4" autofocus onfocus="window.owned = 5" x="',
    "' onclick='window.owned = 6",
    "--><svg onload=window.owned=7>",
    "{{ 7 * 7 }}{% raw %}${7*7}",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b1m \x00 \r over",
    "safe\u202egpj.exe \u2066x\u2069 \u200bzero\ufeff \U000e0041",
    "lone \ud83d surrogate",
)


def _row(table: str, **given: Any) -> Row:
    """A row with every declared column; empty where it may be and nothing is given."""
    columns = {c.name: c for c in TABLES[table].columns}
    assert set(given) <= set(columns), set(given) - set(columns)
    blank = {"string": "", "int": 0, "float": 0.0, "bool": False, "ints": [], "time": datetime(2026, 1, 1, tzinfo=UTC)}
    return {n: given.get(n, None if c.null is not None else blank.get(c.type)) for n, c in columns.items()}


def task_row(task: str = "a", dataset: str = "d", **given: Any) -> Row:
    return _row("tasks", **{"dataset": dataset, "task": task, "kind": "human", "n_segments": 1, "w_lines": 7, **given})


def admission_row(task: str = "a", dataset: str = "d", **given: Any) -> Row:
    return _row("admission", **{"dataset": dataset, "task": task, "admitted": True, **given})


def depth_row(task: str = "a", dataset: str = "d", **given: Any) -> Row:
    known = {"solved": True, "d": 5, "d_lower": 3, "d_first": 5, "n": 6, "r": 0.5, "n_segments": 1, "w_lines": 7}
    return _row("depth", **{"dataset": dataset, "task": task, "kind": "human", **known, **given})


def public_row(task: str = "a", dataset: str = "d", **given: Any) -> Row:
    return _row("public_pass_rates", **{"dataset": dataset, "task": task, "source": "a board", **given})


def run_row(task: str = "a", dataset: str = "d", **given: Any) -> Row:
    row = {"dataset": dataset, "task": task, "model": "m", "phase": "uncapped", "attempt": 1, "valid": True, **given}
    row.setdefault("passed", True)
    row.setdefault("outcome", "passed" if row["passed"] else "failed_checks")
    row.setdefault("n_segments", 1)
    row.setdefault("segments_passed", row["n_segments"] if row["passed"] else 0)
    row.setdefault("turns_per_segment", [1] * row["n_segments"])
    row.setdefault("turns", sum(row["turns_per_segment"]))
    key = repr((dataset, task, row["model"], row["phase"], row.get("cap"), row["attempt"]))
    row.setdefault("fingerprint", hashlib.sha256(key.encode("utf-8", "replace")).hexdigest())
    row.setdefault("path", f"runs/{row['fingerprint'][:8]}")
    return _row("runs", **row)


def turn_rows(run: Row, **given: Any) -> list[Row]:
    """A row for each turn of a run."""
    segments = [s for s, n in enumerate(run["turns_per_segment"], start=1) for _ in range(n)]
    return [
        _row(
            "turns",
            **{
                "fingerprint": run["fingerprint"],
                "turn": i,
                "segment": s,
                "model_seconds": 0.5 * i,
                "terminal_seconds": 0.25,
                "commands": 1,
                "output_tokens": 100 + i,
                "finish_reason": "stop",
                **given,
            },
        )
        for i, s in enumerate(segments, start=1)
    ]


def agent_step(said: str, keys: Sequence[str], back: str) -> Row:
    """A turn, for `write_run`."""
    return {"said": said, "keys": list(keys), "back": back}


def write_run(
    root: Path, run: Row, segments: Sequence[Sequence[Row]], *, names: Sequence[str] = (), checks: str = "ok 1\n"
) -> Path:
    """Write the folder of a run, its trajectories by Harbor's own models. segments: the turns of each that was reached."""
    from harbor.models.trajectories import Agent, Observation, ObservationResult, Step, ToolCall, Trajectory

    folder = root / str(run["path"])
    names = list(names) or [f"s{i}" for i in range(1, len(segments) + 1)]
    results = []
    for number, turns in enumerate(segments, start=1):
        base = folder if run["n_segments"] == 1 else folder / "steps" / names[number - 1]
        steps = [Step(step_id=1, source="user", message=f"Here is part {number}: do it.")]
        for turn in turns:
            steps.append(
                Step(
                    step_id=len(steps) + 1,
                    source="agent",
                    message=turn["said"],
                    tool_calls=[
                        ToolCall(
                            tool_call_id=f"c{i}",
                            function_name="bash_command",
                            arguments={"keystrokes": k, "duration": 0.1},
                        )
                        for i, k in enumerate(turn["keys"])
                    ]
                    or None,
                    observation=Observation(results=[ObservationResult(content=turn["back"])]),
                )
            )
        trajectory = Trajectory(session_id="x", agent=Agent(name="terminus-2", version="2"), steps=steps)
        (base / "agent").mkdir(parents=True)
        (base / "verifier").mkdir()
        # as Harbor's own writer but through json, which can hold lone surrogates
        (base / "agent/trajectory.json").write_text(json.dumps(trajectory.model_dump(exclude_none=True)))
        (base / "verifier/test-stdout.txt").write_text(checks, errors="replace")
        passed = number <= run["segments_passed"]
        results.append({"step_name": names[number - 1], "verifier_result": {"rewards": {"reward": float(passed)}}})
    folder.mkdir(parents=True, exist_ok=True)
    top = (
        {**results[0], "step_name": None, "step_results": None} if run["n_segments"] == 1 else {"step_results": results}
    )
    (folder / "result.json").write_text(json.dumps(top))
    return folder


def hostile_study(root: Path, more: Sequence[str] = ()) -> dict[str, list[Row]]:
    """A task for each hostile text, which is its name and everything that its run says. Keys as in ExplorerData."""
    data: dict[str, list[Row]] = {k: [] for k in ("tasks", "admission", "depth", "runs", "turns", "public_pass_rates")}
    for i, text in enumerate((*HOSTILE, *more)):
        run = run_row(text, text, model=text, outcome=text, error=text, label=text, passed=False, attempt=i + 1)
        data["tasks"].append(task_row(text, text, kind=text))
        data["admission"].append(admission_row(text, text))
        data["depth"].append(depth_row(text, text, kind=text, category=text, difficulty=text, group=text))
        data["runs"].append(run)
        data["turns"] += turn_rows(run, finish_reason=text)
        data["public_pass_rates"].append(public_row(text, text, source=text, runs=3, rate=0.5))
        long = (text + "\n") * (13_000 // len(text))  # more than a task's page shows
        write_run(root, run, [[agent_step(text, [text, text + "\n"], f"{text}\n{long}")]], checks=long)
    refused = "why not: " + HOSTILE[0]
    data["tasks"].append(task_row("not-admitted", "d"))
    data["admission"].append(admission_row("not-admitted", "d", admitted=False, reason=refused))
    return data
