"""One row for each task found in a dataset, readable or not (table `tasks`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from termdepth.tasks.checks import count_checks
from termdepth.tasks.light import LightLimits, LightVerdict, light_dependencies
from termdepth.tasks.names import stated_names
from termdepth.tasks.reading import FoundTask, TaskInfo, TaskProblem, find_tasks, printable, read_task
from termdepth.tasks.work import Work, task_work

_COLUMNS = (
    *("n_segments", "w_lines", "w_naive_lines", "w_tokens", "w_chars", "w_fallback", "instruction_words"),
    *(
        "segment_lines",
        "segment_words",
        "segment_names",
        "n_checks",
        "difficulty",
        "category",
        "tags",
        "original_dataset",
        "original_task",
        "timeout_sec",
        "digest",
        "light",
        "light_rule",
        "light_evidence",
        "problem",
    ),
)


def task_rows(
    root: Path, limits: LightLimits | None = None, *, with_metadata: bool = False
) -> Iterator[dict[str, Any]]:
    """A row for each task found under `root`, in order of name, one task in memory at a time.

    The columns are those of the table `tasks` that the folder alone determines; None as that table states. With
    `with_metadata` there is one more, `metadata`: the task's [metadata] table.

    Raises:
        UserError: `root` is not a folder.
    """
    for found in find_tasks(root):
        row, metadata = _read_row(found, root, limits)
        yield row | {"metadata": metadata} if with_metadata else row


def task_row(found: FoundTask, root: Path, limits: LightLimits | None = None) -> dict[str, Any]:
    """The row of one found task."""
    return _read_row(found, root, limits)[0]


def _read_row(found: FoundTask, root: Path, limits: LightLimits | None) -> tuple[dict[str, Any], Mapping[str, Any]]:
    row: dict[str, Any] = {"task": found.task, "path": printable(str(found.path))} | dict.fromkeys(_COLUMNS)
    info = read_task(found.path, root)
    if isinstance(info, TaskProblem):
        return row | {"problem": info.reason}, {}
    row |= _work_columns(task_work(info)) | _columns(info) | _light_columns(light_dependencies(info, limits))
    return row, info.metadata


def _work_columns(work: Work | None) -> dict[str, Any]:
    if work is None:
        return {}
    return {
        "w_lines": work.w_lines,
        "w_naive_lines": work.w_naive_lines,
        "w_tokens": work.w_tokens,
        "w_chars": work.w_chars,
        "w_fallback": work.fallback,
        "segment_lines": None if work.segment_lines is None else list(work.segment_lines),
    }


def _columns(info: TaskInfo) -> dict[str, Any]:
    return {
        "n_segments": info.n_segments,
        "instruction_words": info.instruction_words,
        "segment_words": [segment.instruction_words for segment in info.segments],
        "segment_names": _name_counts(info),
        "n_checks": count_checks(info),
        "difficulty": _label(info.metadata.get("difficulty")),
        "category": _label(info.metadata.get("category")),
        "tags": _labels(info.metadata.get("tags")),
        "original_dataset": _label(info.metadata.get("original_dataset")),
        "original_task": _label(info.metadata.get("original_task")),
        "timeout_sec": info.timeout_sec,
        "digest": info.digest,
    }


def _name_counts(info: TaskInfo) -> list[int] | None:
    counts = [stated_names(segment) for segment in info.segments]
    return None if None in counts else [len(names) for names in counts if names is not None]


def _light_columns(verdict: LightVerdict) -> dict[str, Any]:
    evidence = str(verdict.evidence[0]) if verdict.evidence else None
    return {"light": verdict.light, "light_rule": verdict.rule, "light_evidence": evidence}


def _label(value: object) -> str | None:
    """Metadata is free-form: a label may be a number, a list or missing."""
    if value is None or value == "" or value == []:
        return None
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _labels(value: object) -> list[str] | None:
    if value is None:
        return None
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]
