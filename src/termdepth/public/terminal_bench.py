"""Trials from runs of the terminal-bench harness: the results.json of a run, and of each of its trials."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import AliasChoices, BaseModel, Field, StrictBool

from termdepth.errors import UserError
from termdepth.public.files import NO_MODEL, TB_RESULTS, TB_RUN, Name, ResultFiles, checked, read_json
from termdepth.public.trial import Trial

# What is used of its own models (terminal_bench/harness/models.py, 0.2.18).


class _Result(BaseModel):
    id: Name = Field(validation_alias=AliasChoices("id", "uuid"))  # `uuid` in older results
    task_id: Name
    is_resolved: StrictBool | None = None


class _Run(BaseModel):
    results: list[_Result]


class _Metadata(BaseModel):
    model_name: str | None = None
    agent_name: str | None = None


def terminal_bench_trials(files: ResultFiles) -> Iterator[tuple[str, Trial | None]]:
    """The id of each trial that a file tells of, in the order of the files, and the trial, which does not tell turns; None
    in its place for those without a model (NO_MODEL).

    The model is that of the run_metadata.json in the nearest folder above, without its provider; the agent's name where
    it names no model.

    Raises:
        UserError: a file is not the result of a trial or run.
    """
    models = {path.parent: _model(path, files.root) for path in files.named(TB_RUN)}
    for path in files.named(TB_RESULTS):
        value = read_json(path, files.root)
        if "results" in value:
            results = checked(_Run, value, path).results
        elif "task_id" in value:
            results = [checked(_Result, value, path)]
        else:
            raise UserError("neither the result of a trial of terminal-bench's nor of a run", where=path)
        model = next((models[folder] for folder in path.parents if folder in models), "unknown")
        for result in results:
            trial = Trial(result.task_id, model, result.is_resolved is True, None)
            yield result.id, None if model in NO_MODEL else trial


def _model(path: Path, root: Path) -> str:
    run = checked(_Metadata, read_json(path, root), path)
    if run.agent_name in NO_MODEL:
        return run.agent_name
    name = run.model_name or ""
    return name.partition("/")[2] or name or run.agent_name or "unknown"
