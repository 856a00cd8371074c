"""Declared schemas of every Parquet file a step writes: column, type, unit, meaning. docs/data.md is generated from here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import pyarrow as pa

ColumnType = Literal["string", "int", "float", "bool", "time", "ints", "strings"]

_ARROW: dict[ColumnType, pa.DataType] = {
    "string": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "time": pa.timestamp("ms", tz="UTC"),
    "ints": pa.list_(pa.int64()),
    "strings": pa.list_(pa.string()),
}


@dataclass(frozen=True)
class Column:
    """One column. unit: "" where the value has none. null: what an empty cell means; None where it is never empty."""

    name: str
    type: ColumnType
    unit: str
    meaning: str
    null: str | None = None


@dataclass(frozen=True)
class Table:
    """One kind of file: what a row is, and its columns in order."""

    name: str
    row: str
    columns: tuple[Column, ...]

    @cached_property
    def arrow(self) -> pa.Schema:
        """The Arrow schema; unit and meaning travel in the file as field metadata."""
        return pa.schema(
            [
                pa.field(
                    c.name,
                    _ARROW[c.type],
                    nullable=c.null is not None,
                    metadata={"unit": c.unit, "meaning": c.meaning, **({"null": c.null} if c.null else {})},
                )
                for c in self.columns
            ],
            metadata={"table": self.name, "row": self.row},
        )


def _c(name: str, type_: ColumnType, unit: str, meaning: str, null: str | None = None) -> Column:
    return Column(name, type_, unit, meaning, null)


_DATASET = _c("dataset", "string", "", "name of the dataset in the config")
_TASK = _c("task", "string", "", "task, as its path below the dataset's folder")
_MODEL = _c("model", "string", "", "id of the model in the config")

TASKS = Table(
    "tasks",
    "one task folder found in a dataset, whether or not it can be read",
    (
        _DATASET,
        _TASK,
        _c("path", "string", "", "folder of the task"),
        _c("kind", "string", "", "kind of the dataset: synthetic, human, ours or calibration"),
        _c("n_segments", "int", "segments", "number of segments", "the task could not be read"),
        _c(
            "w_lines",
            "int",
            "lines",
            "W: non-blank, non-comment lines of the reference solution, all segments",
            "no solution",
        ),
        _c("w_naive_lines", "int", "lines", "non-blank lines that do not start with #", "no solution"),
        _c("w_tokens", "int", "tokens", "BPE tokens (o200k_base) of the reference solution", "no solution"),
        _c("w_chars", "int", "characters", "characters of the reference solution", "no solution"),
        _c("w_fallback", "string", "", "why W fell back to the plain rule", "it did not"),
        _c("instruction_words", "int", "words", "words of the instruction, all segments", "the task could not be read"),
        _c("segment_lines", "ints", "lines", "W of each segment", "a segment has no solution of its own"),
        _c("segment_words", "ints", "words", "words of each segment's instruction", "the task could not be read"),
        _c(
            "segment_names",
            "ints",
            "names",
            "names of each segment's instruction (paths, ports, what is in backticks) that its checks hold verbatim",
            "the tests are not in the task",
        ),
        _c(
            "n_checks",
            "int",
            "checks",
            "checks of the verifier: test functions, or calls of the check library",
            "not known",
        ),
        _c("difficulty", "string", "", "difficulty label, of the task's metadata or as the config says", "none"),
        _c("category", "string", "", "category of the task's metadata", "none"),
        _c("tags", "strings", "", "tags of the task's metadata", "none"),
        _c(
            "original_dataset",
            "string",
            "",
            "dataset whose task the environment was taken from, of the task's metadata or the config's csv",
            "none",
        ),
        _c("original_task", "string", "", "that task, as its dataset names it", "none"),
        _c("timeout_sec", "float", "s", "agent time limit that the dataset sets", "none"),
        _c("digest", "string", "", "SHA-256 of the task's content", "the task could not be read"),
        _c("light", "bool", "", "light dependencies (App. C, rule 3)", "unsure: the build decides"),
        _c("light_rule", "string", "", "rule that decided", "none did"),
        _c("light_evidence", "string", "", "file, line and text it saw", "none"),
        _c("problem", "string", "", "why the task cannot be used", "it can"),
        _c("left_out", "string", "", "why the task is not in the list that is sampled from", "it is"),
        _c("group", "string", "", "sampling group", "left out before tasks were grouped"),
        _c("order", "int", "", "place in the list, from 0", "left out"),
        _c("batch", "int", "", "batch of tasks that share a job", "left out"),
    ),
)

IMAGES = Table(
    "images",
    "one candidate's image",
    (
        _DATASET,
        _TASK,
        _c("backend", "string", "", "docker or sandbox"),
        _c("backend_reason", "string", "", "why this backend"),
        _c("image", "string", "", "identity of the image by content", "not built"),
        _c("build_seconds", "float", "s", "time of the build", "not built"),
        _c("build_bytes", "int", "bytes", "size of the image", "not built"),
        _c("light", "bool", "", "light dependencies, after the judge and the build", "unsure, and not built"),
        _c("light_rule", "string", "", "rule that decided, or judge", "none did"),
        _c("light_evidence", "string", "", "what it saw", "none"),
        _c("problem", "string", "", "why there is no image", "there is one"),
    ),
)

ADMISSION = Table(
    "admission",
    "one task found: those that were checked in the order of the list, then those left out, then those not reached",
    (
        _DATASET,
        _TASK,
        _c("order", "int", "", "place in the list that is sampled from, from 0", "left out of the list"),
        _c("group", "string", "", "sampling group", "left out before tasks were grouped"),
        _c("light", "bool", "", "light dependencies, by the text, the judge or the build", "unsure, and not built"),
        _c("backend", "string", "", "docker or sandbox", "not checked"),
        _c("image", "string", "", "identity of the image", "not built"),
        _c("build_seconds", "float", "s", "time of the build", "not built"),
        _c("build_bytes", "int", "bytes", "size of the image", "not built"),
        _c("oracle_passed", "bool", "", "the reference solution got full marks in every segment", "not run"),
        _c("oracle_segments", "int", "segments", "segments the reference solution passed", "not run"),
        _c("noop_reward", "float", "", "highest reward of doing nothing, over the segments", "not run"),
        _c("admitted", "bool", "", "in the audit"),
        _c("reason", "string", "", "why not admitted, as `kind: what was seen`", "admitted"),
        _c(
            "log", "string", "", "what the verifier, or the reference solution, printed", "admitted, or nothing was run"
        ),
        _c("seconds", "float", "s", "time of the validation", "not run"),
    ),
)

RUNS = Table(
    "runs",
    "one run: a model on a task, once",
    (
        _DATASET,
        _TASK,
        _MODEL,
        _c("phase", "string", "", "uncapped, probe, second, merged or evaluation"),
        _c("cap", "int", "turns", "stated turn cap", "no cap"),
        _c("attempt", "int", "", "attempt within (phase, cap), from 1"),
        _c("outcome", "string", "", "how the run ended; see the outcome table"),
        _c("label", "string", "", "early_submit, where it applies", "none"),
        _c("valid", "bool", "", "the run says something about the task and enters denominators"),
        _c("passed", "bool", "", "the checks of every segment passed"),
        _c("segments_passed", "int", "segments", "segments passed in a row"),
        _c("n_segments", "int", "segments", "segments of the task"),
        _c("turns", "int", "turns", "replies of the model, over all segments"),
        _c("turns_per_segment", "ints", "turns", "turns in each segment that was reached"),
        _c("minutes", "float", "min", "time the agent ran in the container"),
        _c("input_tokens", "int", "tokens", "tokens sent, all calls, cached ones included", "not reported"),
        _c("output_tokens", "int", "tokens", "tokens received, all calls", "not reported"),
        _c("cached_tokens", "int", "tokens", "tokens of the input that were cached", "not reported"),
        _c("context_tokens", "int", "tokens", "tokens in the context at the end of the run", "not reported"),
        _c("cost_usd", "float", "USD", "cost of all calls", "unknown price"),
        _c("command_lines", "int", "lines", "non-blank lines of the commands sent, file content included"),
        _c("compressions", "int", "", "times terminus-2 compressed the context"),
        _c("parse_errors", "int", "turns", "replies that the harness could not read"),
        _c("error", "string", "", "what went wrong, in one line", "nothing"),
        _c("fingerprint", "string", "", "identity of the run: task, image, model, harness, cap, attempt"),
        _c("harness", "string", "", "identity of the harness: version, prompt and cap texts, limits"),
        _c("backend", "string", "", "docker or sandbox"),
        _c("started_at", "time", "UTC", "when the run started"),
        _c("path", "string", "", "folder of the run, in Harbor's layout"),
    ),
)

TURNS = Table(
    "turns",
    "one turn of a run",
    (
        _c("fingerprint", "string", "", "the run"),
        _c("turn", "int", "", "turn in the run, from 1"),
        _c("segment", "int", "", "segment, from 1"),
        _c("model_seconds", "float", "s", "time until the reply was there"),
        _c("terminal_seconds", "float", "s", "time until its commands had been sent and waited for", "no commands ran"),
        _c("wait_seconds", "float", "s", "of this, the waits the agent asked for"),
        _c("commands", "int", "", "commands in the reply"),
        _c("complete", "bool", "", "the reply marks the segment complete"),
        _c("parse_error", "bool", "", "the harness could not read the reply"),
        _c("input_tokens", "int", "tokens", "tokens sent", "not reported"),
        _c("output_tokens", "int", "tokens", "tokens received", "not reported"),
        _c("finish_reason", "string", "", "why the model stopped", "not reported"),
    ),
)

DEPTH = Table(
    "depth",
    "one admitted task",
    (
        _DATASET,
        _TASK,
        _c("kind", "string", "", "kind of the dataset: synthetic, human, ours or calibration"),
        _c("n_segments", "int", "segments", "segments of the task"),
        _c(
            "solved",
            "bool",
            "",
            "the first model passed it at least once without a cap",
            "not measured: no valid run without a cap",
        ),
        _c("d", "int", "turns", "D: smallest cap that passed", "unsolved, or above the largest cap"),
        _c("d_above", "bool", "", "solved, but only without a cap: D is above the largest cap"),
        _c("d_lower", "int", "turns", "the cap next below D: the depth lies in (d_lower, d]", "unsolved"),
        _c("d_first", "int", "turns", "estimate of the first model alone", "unsolved, or above the largest cap"),
        _c("d_first_above", "bool", "", "the same of the first model alone"),
        _c("second_ran", "bool", "", "the second model was run on this task"),
        _c("n", "int", "turns", "N: fewest turns among passing runs without a cap", "unsolved"),
        _c("r", "float", "", "R: share of the runs without a cap that pass", "no valid run"),
        _c("minutes", "float", "min", "time of the run that gives N", "unsolved"),
        _c("context_tokens", "int", "tokens", "tokens in the context at the end of that run", "unsolved"),
        _c("all_turns", "float", "turns", "mean turns of the runs without a cap, passing or not", "no valid run"),
        _c("all_minutes", "float", "min", "mean minutes of the same runs", "no valid run"),
        _c("all_tokens", "float", "tokens", "mean context tokens at the end of the same runs", "no valid run"),
        _c("runs", "int", "", "runs used, invalid ones included"),
        _c("cost_usd", "float", "USD", "cost of these runs", "unknown price"),
        _c(
            "w_lines",
            "int",
            "lines",
            "W: lines of the reference solution; without one, of the commands of the passing run at the smallest cap",
            "no solution, and unsolved",
        ),
        _c("w_tokens", "int", "tokens", "W in tokens", "no solution"),
        _c("w_chars", "int", "characters", "W in characters", "no solution"),
        _c("difficulty", "string", "", "difficulty label", "none"),
        _c("category", "string", "", "category", "none"),
        _c("group", "string", "", "sampling group", "not grouped"),
        _c("plan_depth", "int", "turns", "known depth of the task's plan", "no plan"),
    ),
)

PUBLIC_PASS_RATES = Table(
    "public_pass_rates",
    "one task and source of published results",
    (
        _DATASET,
        _TASK,
        _c("source", "string", "", "where the results were published"),
        _c("runs", "int", "", "published runs"),
        _c("models", "int", "", "models among them"),
        _c("rate", "float", "", "mean pass rate; a run without a verdict counts as not passed"),
        _c("turns", "float", "turns", "mean observed turns", "not published"),
        _c("author_rating", "string", "", "difficulty rating of the task's author", "none"),
        _c("category", "string", "", "category", "none"),
        _c("expert_minutes", "float", "min", "the author's estimate of an expert's time", "none"),
        _c(
            "w_naive_lines",
            "int",
            "lines",
            "non-blank lines of the reference solution that do not start with #",
            "unknown",
        ),
    ),
)

REPLAYS = Table(
    "replays",
    "one replay: a segment and one change of its reference solution (App. F)",
    (
        _DATASET,
        _TASK,
        _c("segment", "int", "", "segment that the change is about, from 1"),
        _c(
            "change",
            "string",
            "",
            "checks_before_work, previous_skipped, event_removed, key_step_removed or key_step_removed_then_next",
        ),
        _c("event", "string", "", "the event that was removed", "no event was"),
        _c("holds", "bool", "", "the checks report a failure, as they should", "no result"),
        _c("crashed", "bool", "", "the checks did not run to a result"),
        _c("reason", "string", "", "why there is no result", "there is one"),
        _c("seconds", "float", "s", "time of the replay beyond what it shares with those before it in its container"),
        _c("backend", "string", "", "docker or sandbox"),
        _c("log", "string", "", "file with all that the scripts and checks printed", "the replay is tried again"),
        _c("page", "string", "", "page that says what to mend", "it holds"),
    ),
)

MERGED = Table(
    "merged",
    "one sampled task whose segments were merged into one (App. H)",
    (
        _DATASET,
        _TASK,
        _c("path", "string", "", "folder of the merged task", "it cannot be merged"),
        _c("digest", "string", "", "SHA-256 of the merged task's content", "it cannot be merged"),
        _c("image", "string", "", "identity of its image: that of the original task"),
        _c("n_segments", "int", "segments", "segments of the original task"),
        _c("d_original", "int", "turns", "D of the original task by the first model alone"),
        _c("checks_total", "int", "checks", "checks of all segments, before any is dropped", "they could not be run"),
        _c("checks_dropped", "strings", "", "checks that a later segment is meant to change, as `segment: check`"),
        _c("quality_passed", "bool", "", "the reference solution passes all remaining checks, and doing nothing fails"),
        _c("reason", "string", "", "why the quality check failed", "it passed"),
        _c("solved", "bool", "", "passed at some cap up to d_original", "not measured"),
        _c("d_merged", "int", "turns", "smallest cap passed", "not measured, or not solved within d_original"),
        _c("runs", "int", "", "runs of the first model on it, invalid ones included"),
        _c("plan_depth", "int", "turns", "known depth of the merged task's plan", "no plan"),
        _c("seconds", "float", "s", "time to merge and check it"),
    ),
)

TABLES: dict[str, Table] = {
    t.name: t for t in (TASKS, IMAGES, ADMISSION, RUNS, TURNS, DEPTH, REPLAYS, MERGED, PUBLIC_PASS_RATES)
}


def document() -> str:
    """docs/data.md: every table of record, from the declarations above."""
    lines = [
        "# Tables of record",
        "",
        "Every step writes Parquet with one of these schemas. Unit and meaning are also in the files, as field metadata.",
        "Generated from `src/termdepth/data/schema.py` by `python -m termdepth.data.schema`; a test fails when it drifts.",
    ]
    for table in TABLES.values():
        lines += ["", f"## {table.name}", "", f"One row: {table.row}.", ""]
        lines += ["| column | type | unit | meaning | empty means |", "|---|---|---|---|---|"]
        lines += [
            f"| {c.name} | {c.type} | {c.unit} | {c.meaning} | {c.null or 'never empty'} |" for c in table.columns
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(document(), end="")
