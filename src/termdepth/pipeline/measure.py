"""Make the runs that the protocol asks for, tasks beside each other, and keep what is finished."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from termdepth.config.models import Config, Dataset, ModelEntry
from termdepth.data import TABLES, read_table
from termdepth.depth.protocol import Phase, Protocol, Run, RunRequest, next_run
from termdepth.errors import UserError
from termdepth.harness.outcomes import Outcome, is_outage
from termdepth.harness.record import RunSpec, TaskRef
from termdepth.harness.runner import RunRecord, harness_identity, load_finished, run_once
from termdepth.pipeline.backends import environment_for, sweep_all
from termdepth.pipeline.spec import knowledge_digest

OUTAGES_IN_A_ROW = 6
Say = Callable[[str], None]
Next = Callable[[Sequence[Run]], RunRequest | None]


def protocol_of(config: Config) -> Protocol:
    """The pure protocol's settings from the config."""
    p = config.protocol
    return Protocol(
        caps=tuple(p.caps),
        runs_uncapped=p.runs_uncapped,
        runs_per_cap=p.runs_per_cap,
        invalid_retries=p.invalid_retries,
        second_model=config.role("second") is not None,
    )


def task_refs(dataset: Dataset, tasks: Iterable[dict[str, Any]], admission: Iterable[dict[str, Any]]) -> list[TaskRef]:
    """The admitted tasks, from their rows in `tasks` and `admission`."""
    images = {a["task"]: a["image"] for a in admission if a["admitted"]}
    return [
        TaskRef(
            dataset=dataset.name,
            task=t["task"],
            path=Path(t["path"]),
            n_segments=t["n_segments"],
            digest=t["digest"],
            image=images[t["task"]],
            time_limit_sec=dataset.time_limit_sec(t["n_segments"]),
            freeze=dataset.freeze_agent,
            container=container_identity(dataset),
        )
        for t in tasks
        if t["task"] in images
    ]


def tasks_of_batch(dataset: Dataset, batch: int, tasks: str | Path, admission: str | Path) -> list[TaskRef]:
    """The admitted tasks of one batch, from the files of `tasks` and `admission` of the dataset."""
    rows = [t for t in read_table(tasks, TABLES["tasks"]) if t["batch"] == batch]
    return task_refs(dataset, rows, read_table(admission, TABLES["admission"]))


def container_identity(dataset: Dataset) -> str:
    """How containers of a dataset are run, as far as it can change what a run or a validation comes to."""
    return f"network {dataset.network}, {dataset.memory_mb} MB, {dataset.cpus:g} cpus, {dataset.pids} pids"


def run_of(row: dict[str, Any]) -> Run:
    """A row of `runs` as the protocol sees it."""
    return Run(row["phase"], row["cap"], row["attempt"], row["valid"], row["passed"], row["turns"])


@dataclass
class Ledger:
    """What all runs in the results folder have cost, those made again included, so that a budget holds over jobs and
    sessions. Lines that cannot be read (a disk was full, a file was edited) count for nothing."""

    path: Path
    cost_usd: float | None
    turns: int | None
    _spent: tuple[float, int] = (0.0, 0)
    _read: int = 0

    def _refresh(self) -> None:
        with suppress(FileNotFoundError), self.path.open("rb") as f:
            f.seek(self._read)
            for line in f.readlines():
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                with suppress(ValueError):
                    _, cost, turns = line.split()
                    self._spent = (self._spent[0] + float(cost), self._spent[1] + int(turns))

    def check(self) -> None:
        """Raise a UserError when a budget is reached; nothing that runs is stopped by it."""
        if self.cost_usd is None and self.turns is None:
            return
        self._refresh()
        for key, spent, limit in (
            ("cost_usd", self._spent[0], self.cost_usd),
            ("turns", self._spent[1], self.turns),
        ):
            if limit is not None and spent >= limit:
                raise UserError(
                    f"the budget is used up: {spent:g} of {limit:g}",
                    where=f"budgets.{key}",
                    hint="finished runs are kept; raise it and run again to go on",
                )

    def add(self, row: dict[str, Any]) -> None:
        """One line, appended in one write, so that jobs do not mix theirs.

        Raises:
            UserError: it cannot be written.
        """
        line = f"{row['fingerprint']} {row['cost_usd'] or 0.0:.9g} {row['turns']}\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(fd, line.encode())
            finally:
                os.close(fd)
        except OSError as e:
            raise UserError(f"cannot write the file: {e.strerror}", where=self.path, hint="free space") from e


class Measurer:
    """Makes runs of one model on the tasks of a batch.

    Args:
        threads: cores of the job; `trials_per_core` trials run at once on each.
        say: takes one line for each run that ends.
    """

    def __init__(self, config: Config, dataset: Dataset, *, threads: int, say: Say) -> None:
        self._config, self._dataset, self._say = config, dataset, say
        self._gate = asyncio.Semaphore(max(1, threads) * config.trials_per_core)
        self._runs = config.results / "runs"
        self._harness = harness_identity(config.harness)
        self._ledger = Ledger(config.results / "ledger.txt", config.budgets.cost_usd, config.budgets.turns)
        self._knowledge: dict[str, str] = {}
        self._outages = 0  # in a row, whatever the task

    async def run(self, task: TaskRef, model: ModelEntry, phase: str, request: RunRequest) -> RunRecord:
        """One run, made now or taken as it is."""
        if model.id not in self._knowledge:
            self._knowledge[model.id] = knowledge_digest(model)
        spec = RunSpec(
            task=task,
            model=model,
            phase=phase,
            cap=request.cap,
            attempt=request.attempt,
            turn_limit=self._config.protocol.turn_limit,
            limits=self._config.harness,
            harness=self._harness,
            knowledge=self._knowledge[model.id],
        )
        if finished := load_finished(spec, self._runs):
            return finished
        async with self._gate:
            self._ledger.check()
            self._refuse_dead_provider(model)
            environment = environment_for(self._config, self._dataset)
            record = await run_once(spec, environment, self._runs)
        self._ledger.add(record.row)
        self._outages = self._outages + 1 if is_outage(record.row["outcome"], record.row["error"]) else 0
        cap = "no cap" if request.cap is None else f"cap {request.cap}"
        self._say(
            f"  {task.dataset}/{task.task}  {model.id}  {cap}  {record.row['outcome']}  "
            f"{record.row['turns']} turn{'s' * (record.row['turns'] != 1)}  {record.row['minutes'] * 60:.1f} s"
            + (f"  {record.row['error']}" if record.row["error"] and not record.row["valid"] else "")
        )
        return record

    def _refuse_dead_provider(self, model: ModelEntry) -> None:
        """Begin no more runs when a provider has failed so many in a row: each costs a quarter of a minute of retries."""
        if self._outages >= OUTAGES_IN_A_ROW:
            raise UserError(
                f"the last {self._outages} runs failed because the provider did not answer",
                where=_called(model),
                hint="no more are begun; see the lines above, and run the same command again: finished runs are kept",
            )

    async def until_done(
        self, task: TaskRef, model: ModelEntry, following: Next, before: Sequence[Run] = ()
    ) -> list[RunRecord]:
        """Runs of one task, one after the other, until `following` asks for none."""
        records: list[RunRecord] = []
        runs = list(before)
        while request := following(runs):
            record = await self.run(task, model, request.phase, request)
            records.append(record)
            runs.append(run_of(record.row))
        return records


async def gather_all[T](work: Iterable[Awaitable[T]]) -> list[T]:
    """Every result. The first error is raised when the others have ended, so that what runs is finished and kept."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results  # type: ignore[return-value]


def measure(
    config: Config,
    dataset: Dataset,
    tasks: Sequence[TaskRef],
    phase: Phase,
    before: Sequence[dict[str, Any]],
    *,
    threads: int,
    say: Say,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of `runs` and `turns` of one phase for the tasks of a batch.

    Args:
        before: rows of `runs` of the earlier phases, of these tasks.
    """
    model = config.role("second" if phase == "second" else "first")
    if model is None:
        return [], []
    protocol = protocol_of(config)
    sweep_all()

    async def work() -> list[list[RunRecord]]:
        measurer = Measurer(config, dataset, threads=threads, say=say)
        return await gather_all(
            measurer.until_done(
                task,
                model,
                lambda runs: next_run(runs, protocol, (phase,)),
                [run_of(r) for r in before if r["task"] == task.task],
            )
            for task in tasks
        )

    runs, turns = rows_of(asyncio.run(work()))
    refuse_broken(runs, model)
    return runs, turns


def evaluate(
    config: Config, dataset: Dataset, tasks: Sequence[TaskRef], model: ModelEntry, *, threads: int, say: Say
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of `runs` and `turns` of an evaluated model: without a cap, apart from the runs that measure D (App. I)."""
    wanted, retries = config.protocol.runs_evaluation, config.protocol.invalid_retries
    sweep_all()

    def following(runs: Sequence[Run]) -> RunRequest | None:
        invalid = sum(not r.valid for r in runs)
        if len(runs) - invalid >= wanted or invalid > retries:
            return None
        return RunRequest("evaluation", None, len(runs) + 1)

    async def work() -> list[list[RunRecord]]:
        measurer = Measurer(config, dataset, threads=threads, say=say)
        return await gather_all(measurer.until_done(task, model, following) for task in tasks)

    runs, turns = rows_of(asyncio.run(work()))
    refuse_broken(runs, model)
    return runs, turns


def refuse_broken(rows: Sequence[Mapping[str, Any]], model: ModelEntry) -> None:
    """End a job that what is around its tasks kept from measuring them: where every run failed for such reasons, and where the
    provider left a slot without its runs, even after retries. A number must not come from an outage.

    Raises:
        UserError: so that the pipeline makes these runs again when it is started again.
    """
    if rows and all(row["outcome"] == Outcome.INFRASTRUCTURE_ERROR for row in rows):
        raise UserError(
            f"all {len(rows)} runs failed for reasons outside the tasks; the last: {rows[-1]['error']}",
            where=_called(model),
            hint="mend it (provider, key, network, engine) and run again",
        )
    last = {(row["task"], row["phase"], row["cap"]): row for row in rows}
    lost = [row for row in last.values() if is_outage(row["outcome"], row["error"])]
    if lost:
        tasks = list(dict.fromkeys(row["task"] for row in lost))
        some = ", ".join(tasks[:3]) + (", …" if len(tasks) > 3 else "")
        kept = sum(row["outcome"] != Outcome.INFRASTRUCTURE_ERROR for row in rows)
        raise UserError(
            f"the provider did not answer for {some}, even when asked again; the last time: {lost[-1]['error']}",
            where=_called(model),
            hint=f"finished runs of this job are kept ({kept}); run the same command again to make the rest, or leave the "
            "task out with datasets[].tasks",
        )


def _called(model: ModelEntry) -> str:
    return f"models ({model.id}) = {model.litellm}{f' at {model.api_base}' if model.api_base else ''}"


def rows_of(records: Iterable[Iterable[RunRecord]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of `runs` and of `turns`, in a fixed order."""
    flat: deque[RunRecord] = deque(r for group in records for r in group)
    return [r.row for r in flat], [t for r in flat for t in r.turns]
