"""From a dataset's folder to the list that is sampled from (App. C, rules 1 to 3 as far as text tells)."""

from __future__ import annotations

from typing import Any

from termdepth.config.models import Config, Dataset
from termdepth.data.schema import TABLES
from termdepth.errors import UserError
from termdepth.pipeline.batches import labels, order_tasks
from termdepth.pipeline.download import download_dataset
from termdepth.public import public_columns
from termdepth.tasks.light import LightLimits
from termdepth.tasks.rows import task_rows
from termdepth.tasks.sampling import Evidence, Split, with_csv

_NEVER_GIVEN = (
    "dataset",
    "task",
    "path",
    "kind",
    "n_segments",
    "digest",
    "light",
    "light_rule",
    "light_evidence",
    "problem",
)
"""Columns that only the task itself decides, whatever a user's table has under their names."""


def light_limits(dataset: Dataset) -> LightLimits:
    """The limits of light dependencies as the config has them."""
    return LightLimits(**dataset.light.model_dump())


def evidence_of(dataset: Dataset) -> Evidence | None:
    """The rule of evidence as the config has it."""
    rule = dataset.evidence
    if rule is None:
        return None
    exempt = (rule.exempt.column, rule.exempt.value) if rule.exempt else (None, None)
    return Evidence(rule.column, rule.at_least, rule.lineage, *exempt)


def splits_of(dataset: Dataset) -> list[Split]:
    """The splits into groups as the config has them."""
    return [Split(g.by, g.bins, tuple(g.keep_whole), tuple(g.only)) for g in dataset.groups]


def list_tasks(config: Config, dataset: Dataset) -> list[dict[str, Any]]:
    """Rows of `tasks`: every folder found, in the order of names, with its place in the list that is sampled from.

    Raises:
        UserError: the folder holds no task at all, or none that can be used; the dataset cannot be downloaded; a column to
            group by, or of the evidence, is nowhere; the CSV cannot be read.
    """
    where = f"datasets ({dataset.name})"
    folder = config.folder(dataset)
    if dataset.registry is not None:
        download_dataset(dataset.registry, folder, where)
    rows = [
        {"dataset": dataset.name, "kind": dataset.kind} | row
        for row in task_rows(folder, light_limits(dataset), with_metadata=True)
    ]
    if not rows:
        raise UserError(
            "no task in this folder",
            where=f"{where}.path = {folder}",
            hint="a task is a folder with a task.toml in it",
        )
    try:
        known = with_columns(config, dataset, rows)
        ordered = order_tasks(
            known,
            patterns=dataset.tasks,
            needs_solution=dataset.needs_solution,
            evidence=evidence_of(dataset),
            splits=splits_of(dataset),
            sample=dataset.sample,
            seed=dataset.seed,
            reserve=dataset.reserve,
            tasks_per_job=dataset.tasks_per_job,
        )
    except UserError as e:
        place = f"{where}, {e.where}" if e.where else where
        raise UserError(e.problem, where=place, hint=e.hint) from None
    if not any(row["order"] is not None for row in ordered):
        problems = [f"{r['task']}: {r['left_out']}" for r in ordered[:5]]
        raise UserError("no task of this dataset can be used: " + "; ".join(problems), where=f"{where}.path = {folder}")
    # Columns of the user's tables serve to choose and to label; what was read from the task stands.
    placed = ("left_out", "group", "order", "batch")
    return [
        {c.name: given[c.name] if c.name in placed else row.get(c.name) for c in TABLES["tasks"].columns}
        | {"difficulty": labels(given, dataset.difficulty)}
        | {key: None if given.get(key) is None else str(given[key]) for key in ("original_dataset", "original_task")}
        for row, given in zip(rows, ordered, strict=True)
    ]


def with_columns(config: Config, dataset: Dataset, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the columns of published results on the dataset and of the user's CSV."""
    joined = rows
    for results in config.public_results:
        if results.dataset == dataset.name:
            found = public_columns(results.trials)
            joined = [row | found.get(row["task"], {}) for row in joined]
    if dataset.csv is not None:
        joined = with_csv(joined, dataset.csv.path, dataset.csv.key, dataset.csv.on)
    return [given | {k: row[k] for k in _NEVER_GIVEN} for row, given in zip(rows, joined, strict=True)]
