"""A made-up study of the paper's size as data frames, to test the report at full scale and to look at its figures.

TEST DATA ONLY: no run behind these rows was ever made. Task depths and model reliabilities are drawn at random around what
the paper prints; the runs then follow the real protocol, so that the tables of record fit together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from termdepth.depth.protocol import Protocol, Run, estimate, next_run
from termdepth.report.context import DatasetInfo, ModelInfo, ReportContext

FIRST, SECOND = "deepseek-v4.1-flash", "glm-5.3-flash"
MODELS = (
    ModelInfo(FIRST, "DeepSeek-V4.1-Flash", ("first", "evaluated"), "high"),
    ModelInfo(SECOND, "GLM-5.3-Flash", ("second", "evaluated"), "max"),
    ModelInfo("claude-sonnet-5.5", "Claude Sonnet 5.5", ("evaluated",), "high"),
    ModelInfo("gpt-6.1-sol", "GPT-6.1 Sol", ("evaluated",), "medium"),
    ModelInfo("gpt-6-luna", "GPT-6 Luna", ("evaluated",), "medium"),
    ModelInfo("mimo-v2.6-flash", "MiMo-V2.6-Flash", ("evaluated",), None),
)
RELIABILITY = dict(zip((m.id for m in MODELS), (0.86, 0.74, 0.88, 0.87, 0.77, 0.82), strict=True))


EVALUATIONS = 8  # runs of each model on each of our tasks: more than the paper, for about 10,000 runs in all


@dataclass(frozen=True)
class _Made:
    name: str
    kind: str
    sampled: int
    solve: float
    depth: tuple[float, float]  # log-normal of the true depth
    work: tuple[float, float]
    habit: float  # turns without a cap, as a factor of depth
    labels: tuple[str, ...] = ()


_SETS = (
    _Made("TMax", "synthetic", 100, 0.94, (0.1, 0.3), (4.0, 0.5), 4, ("1", "2", "3", "4")),
    _Made("FACET", "synthetic", 210, 0.25, (0.6, 0.5), (5.3, 0.35), 3),
    _Made("SETA", "synthetic", 100, 0.91, (0.0, 0.4), (3.2, 0.6), 4, ("medium", "hard")),
    _Made("RST", "synthetic", 200, 0.29, (0.8, 0.6), (4.8, 0.5), 3, ("medium", "hard")),
    _Made("TB2", "human", 39, 0.95, (0.3, 0.9), (3.6, 1.0), 4, ("easy", "medium", "hard")),
    _Made("TW", "human", 85, 0.80, (0.3, 0.8), (2.4, 0.7), 5, ("easy", "medium", "hard")),
    _Made("Ours", "ours", 105, 0.52, (3.6, 0.55), (5.75, 0.5), 1.2),
)


def context() -> ReportContext:
    """The context of the made-up study; few bootstrap replicates, to be quick."""
    datasets = tuple(DatasetInfo(s.name, s.name, s.kind, s.name, 180 if s.kind == "ours" else 30) for s in _SETS)
    calibration = DatasetInfo("calibration", "Calibration", "calibration", None, 30)
    return ReportContext(
        datasets=(*datasets, calibration), models=MODELS, first_model=FIRST, second_model=SECOND,
        turn_limit=150, output_bytes=10_000, max_wait_sec=60.0, n_boot=500,
    )  # fmt: skip


class _Study:
    def __init__(self, seed: int, protocol: Protocol) -> None:
        self.rng = np.random.default_rng(seed)
        self.protocol = protocol
        self.runs: list[dict[str, Any]] = []
        self.depth: list[dict[str, Any]] = []
        self.tasks: list[dict[str, Any]] = []
        self.admission: list[dict[str, Any]] = []
        self.rates: list[dict[str, Any]] = []

    def run(self, dataset: str, task: str, model: str, phase: str, cap: int | None, attempt: int, need: int,
            segments: int, chance: float) -> Run:  # fmt: skip
        """One made-up run: passes with `chance` unless the cap is below the turns that are needed."""
        rng = self.rng
        invalid = rng.random() < (0.06 if model == "claude-sonnet-5.5" else 0.01)
        turns = max(1, round(need * rng.lognormal(0, 0.2)))
        passed = not invalid and (cap is None or turns <= cap) and turns <= 150 and rng.random() < chance
        done = segments if passed else int(rng.integers(0, segments))
        turns = min(turns if passed else max(1, round(turns * (done + 0.7) / segments)), cap or 150)
        if invalid:
            outcome = str(rng.choice(["refused", "empty_response", "verifier_error", "infrastructure_error"]))
        elif passed:
            outcome = "passed"
        elif cap is not None:
            outcome = str(rng.choice(["turn_cap", "failed_checks"], p=[0.7, 0.3]))
        else:
            outcome = str(
                rng.choice(
                    ["failed_checks", "time_limit", "turn_limit", "session_broken", "context_overflow"],
                    p=[0.62, 0.18, 0.06, 0.1, 0.04],
                )
            )
        early = outcome == "failed_checks" and (turns <= 3 or rng.random() < 0.2)
        tokens = int(3000 + 1200 * turns * rng.lognormal(0, 0.2))
        self.runs.append(
            {
                "dataset": dataset, "task": task, "model": model, "phase": phase, "cap": cap, "attempt": attempt,
                "outcome": outcome, "label": "early_submit" if early else None, "valid": not invalid, "passed": passed,
                "segments_passed": done, "n_segments": segments, "turns": turns, "turns_per_segment": [turns],
                "minutes": float(0.25 * turns * rng.lognormal(0, 0.4)), "input_tokens": tokens * turns // 2,
                "output_tokens": 300 * turns, "cached_tokens": tokens * turns // 3, "context_tokens": tokens,
                "cost_usd": 1e-7 * tokens * turns, "command_lines": 12 * turns, "compressions": 0,
                "parse_errors": int(rng.random() < 0.05), "error": None, "fingerprint": f"{len(self.runs):08x}",
                "harness": "made up", "backend": "docker", "started_at": datetime(2026, 11, 3, tzinfo=UTC),
                "path": f"{dataset}/{task}/{model}/{phase}/{cap}/{attempt}",
            }
        )  # fmt: skip
        return Run(phase, cap, attempt, not invalid, passed, turns)  # type: ignore[arg-type]

    def task(self, made: _Made, index: int, name: str, admitted: bool, true_depth: int | None = None) -> None:
        rng = self.rng
        segments = 1 if made.kind != "ours" else int(rng.choice([3, 5, 6], p=[0.03, 0.04, 0.93]))
        truth = true_depth or max(segments, 1, round(float(rng.lognormal(*made.depth))))
        work = max(1, round(float(rng.lognormal(*made.work))))
        label = (
            made.labels[min(int(rng.integers(len(made.labels)) + (truth > 3)), len(made.labels) - 1)]
            if made.labels
            else None
        )
        w_lines = None if made.name == "TMax" and index % 4 == 0 else work
        self.tasks.append(
            {
                "dataset": made.name, "task": name, "path": f"/made/up/{name}", "kind": made.kind, "n_segments": segments,
                "w_lines": w_lines, "w_naive_lines": w_lines, "w_tokens": 11 * work if w_lines else None,
                "w_chars": 38 * work if w_lines else None, "w_fallback": None, "instruction_words": 120 + 220 * segments,
                "difficulty": label, "category": "made up", "tags": [], "timeout_sec": 1800.0, "digest": name,
                "light": admitted or rng.random() < 0.5, "light_rule": None, "light_evidence": None, "problem": None,
                "segment_lines": _parts(w_lines, segments), "segment_words": [120 // segments + 220] * segments,
                "segment_names": [14 + index % 3] * segments if made.kind == "ours" else None,
                "original_dataset": "TW" if made.kind == "ours" else None,
                "original_task": f"tw-{index:03d}" if made.kind == "ours" else None,
                "n_checks": 3, "left_out": None, "group": label, "order": index, "batch": index // 20,
            }
        )  # fmt: skip
        if not self.tasks[-1]["light"]:
            self.tasks[-1] |= {"left_out": "not light: gpu: task.toml:9: gpus = 1", "order": None, "batch": None}
        oracle = admitted or rng.random() < 0.6
        light = bool(self.tasks[-1]["light"])
        built = light and (admitted or rng.random() < 0.9)
        self.admission.append(
            {
                "dataset": made.name, "task": name, "order": index if light else None, "group": label, "light": light,
                "backend": "docker" if light else None, "image": name if built else None,
                "build_seconds": 20.0 if built else None, "build_bytes": 10**8 if built else None,
                "oracle_passed": oracle if built else None, "oracle_segments": segments if built and oracle else None,
                "noop_reward": (0.0 if admitted else 1.0) if built else None, "admitted": admitted,
                "reason": None if admitted else "not light: gpu" if not light else "oracle failed",
                "seconds": 5.0 if built else None,
            }
        )  # fmt: skip
        if admitted:
            self.measure(made, name, truth, segments, w_lines, label, true_depth)

    def measure(self, made: _Made, name: str, truth: int, segments: int, work: int | None, label: str | None,
                plan: int | None) -> None:  # fmt: skip
        rng = self.rng
        first = len(self.runs)
        solvable = rng.random() < made.solve
        chance = 1.0 if plan else (0.9 if solvable else 0.0)
        habit = truth if plan else truth + max(0, round(rng.normal(made.habit, 1.5) * (1 + 0.15 * truth)))
        history: list[Run] = []
        while request := next_run(history, self.protocol):
            model = SECOND if request.phase == "second" else FIRST
            need = habit if request.cap is None else truth + (model == SECOND and not plan and int(rng.integers(0, 3)))
            run = self.run(made.name, name, model, request.phase, request.cap, request.attempt, need, segments, chance)
            if plan:  # calibration tasks behave exactly
                passed = request.cap is None or request.cap >= plan
                run = replace(run, turns=plan if passed else request.cap or plan, passed=passed, valid=True)
                self.runs[-1] |= {"passed": passed, "valid": True, "turns": run.turns,
                                  "outcome": "passed" if passed else "turn_cap", "label": None}  # fmt: skip
            history.append(run)
        found = estimate(history, self.protocol)
        mine = self.runs[first:]
        free = [r for r in mine if r["phase"] == "uncapped" and r["valid"]]
        best = min((r for r in free if r["passed"]), key=lambda r: r["turns"], default=None)

        def mean(column: str) -> float | None:
            return sum(r[column] for r in free) / len(free) if free else None

        self.depth.append(
            {
                "dataset": made.name, "task": name, "kind": made.kind, "n_segments": segments, "solved": found.solved,
                "d": found.d, "d_above": found.d_above, "d_lower": found.d_lower, "d_first": found.d_first,
                "d_first_above": found.d_first_above, "second_ran": any(r["phase"] == "second" for r in mine),
                "n": found.n, "r": found.r, "minutes": best and best["minutes"],
                "context_tokens": best and best["context_tokens"],
                "all_turns": mean("turns"),
                "all_minutes": mean("minutes"),
                "all_tokens": mean("context_tokens"),
                "runs": len(mine), "cost_usd": sum(r["cost_usd"] for r in mine), "w_lines": work,
                "w_tokens": 11 * work if work else None, "w_chars": 38 * work if work else None, "difficulty": label,
                "category": "made up", "group": label, "plan_depth": plan,
            }
        )  # fmt: skip
        if made.kind == "human":
            rate = float(np.clip(0.75 - 0.07 * np.log2(truth) - 0.02 * np.log(work or 1) + rng.normal(0, 0.2), 0, 1))
            self.rates.append(
                {
                    "dataset": made.name, "task": name, "source": "a made-up leaderboard", "runs": 40, "models": 8,
                    "rate": round(rate * 40) / 40, "turns": float(8 * rng.lognormal(0.02 * truth, 0.5)),
                    "author_rating": label, "category": "made up", "expert_minutes": 30.0, "w_naive_lines": work,
                }
            )  # fmt: skip
        if made.kind == "ours":
            for model in MODELS:
                for attempt in range(1, EVALUATIONS + 1):
                    per_segment = RELIABILITY[model.id] ** (1 if solvable else 2.5)
                    passes = 0
                    while passes < segments and rng.random() < per_segment:
                        passes += 1
                    run = self.run(made.name, name, model.id, "evaluation", None, attempt, habit, segments,
                                   float(passes == segments))  # fmt: skip
                    if not run.passed:
                        self.runs[-1]["segments_passed"] = min(passes, segments - 1)

    def merge(self, number: int) -> None:
        """Runs of the first model on merged tasks, from the original D downward."""
        solved = [t for t in self.depth if t["dataset"] == "Ours" and t["d_first"]][:number]
        for task in solved:
            need = round(task["d_first"] * float(self.rng.choice([0.45, 0.8, 0.9, 1.3])))
            for cap in sorted((c for c in self.protocol.caps if c <= task["d_first"]), reverse=True):
                pair = [self.run("Ours", task["task"], FIRST, "merged", cap, a, need, 1, 0.9) for a in (1, 2)]
                if not any(r.passed for r in pair):
                    break

    def replays(self, tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        holds = {"checks_before_work": 0.998, "previous_skipped": 0.92, "event_removed": 0.96,
                 "key_step_removed": 0.99, "key_step_removed_then_next": 0.84}  # fmt: skip
        return [
            {"dataset": "Ours", "task": t["task"], "segment": s, "change": change, "event": None,
             "holds": bool(self.rng.random() < p) if self.rng.random() > 0.02 else None,
             "crashed": bool(self.rng.random() < 0.01)}
            for t in tasks for s in range(1, t["n_segments"] + 1) for change, p in holds.items()
            if not (change == "previous_skipped" and s == 1)
            and not (change == "key_step_removed_then_next" and s == t["n_segments"])
            and not (change == "event_removed" and self.rng.random() > 0.25)
        ]  # fmt: skip


def _parts(total: int | None, n: int) -> list[int] | None:
    return None if total is None else [total // n + (i < total % n) for i in range(n)]


def fake_study(seed: int = 0) -> tuple[dict[str, pd.DataFrame], ReportContext]:
    """Tables of record by name, and their context: 839 tasks in 7 datasets as in the paper, 10 calibration tasks."""
    study = _Study(seed, Protocol())
    for made in _SETS:
        extra = made.sampled // 3
        refused = set(study.rng.choice(made.sampled + extra, extra, replace=False).tolist())
        for index in range(made.sampled + extra):
            study.task(made, index, f"{made.name.lower()}-{index:03d}", index not in refused)
    calibration = _Made("calibration", "calibration", 10, 1.0, (0, 0), (3.0, 0.2), 0)
    plans = {"single-script-a": 1, "single-script-b": 1, "parallel-a": 2, "parallel-b": 2, "static-chain-a": 2,
             "static-chain-b": 2, "control-6-a": 6, "control-6-b": 6, "control-10-a": 10, "control-10-b": 10}  # fmt: skip
    for index, (name, plan) in enumerate(plans.items()):
        study.task(calibration, index, name, True, plan)
    study.merge(25)
    mine = [t for t in study.depth if t["dataset"] == "Ours"]
    frames = {
        "replays": pd.DataFrame(study.replays(mine)),
        "runs": pd.DataFrame(study.runs),
        "depth": pd.DataFrame(study.depth),
        "tasks": pd.DataFrame(study.tasks),
        "admission": pd.DataFrame(study.admission),
        "public_pass_rates": pd.DataFrame(study.rates),
    }
    return frames, context()
