"""`termdepth`: one task at a time, with the library that the pipeline uses."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from termdepth import __version__
from termdepth.cli_output import lines
from termdepth.errors import UserError
from termdepth.explorer.text import clean

if TYPE_CHECKING:
    from termdepth.config.models import Config, Dataset, ModelEntry
    from termdepth.harness.record import TaskRef

WORK_COLUMNS = ("task", "w_lines", "w_naive_lines", "w_tokens", "w_chars", "w_fallback", "n_segments", "problem")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Returns the exit status: 0 done, 1 not passed or the user's error, 2 wrong usage."""
    args = _parser().parse_args(argv)
    try:
        status: int = args.command(args)
    except UserError as e:
        for line in str(e).splitlines():
            _warn(line)
        return 1
    except KeyboardInterrupt:
        print("termdepth: stopped; finished runs are kept", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="termdepth", description="How deep is this terminal task? One task at a time; for datasets use snakemake."
    )
    parser.add_argument("--version", action="version", version=f"termdepth {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(
        name: str, run: Callable[[argparse.Namespace], int], about: str, task: str | None
    ) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=about, description=about)
        sub.set_defaults(command=run)
        if task:
            sub.add_argument(
                "task", type=Path, metavar=task, help="folder of a Harbor task" if task == "TASK" else None
            )
        sub.add_argument("--json", action="store_true", help="one JSON object a line, for machines")
        return sub

    def containers(sub: argparse.ArgumentParser) -> None:
        sub.add_argument(
            "--config", type=Path, default=Path("config/config.yaml"), help="where models and limits are read"
        )
        sub.add_argument("--backend", choices=("auto", "docker", "sandbox"), help="instead of the config's")
        sub.add_argument("--trusted", action="store_true", help="you vouch for the task: the sandbox may run it")
        sub.add_argument("--results", type=Path, help="folder for runs, instead of the config's")

    command("work", _work, "Count the work W of a task's reference solution, or of every task below a folder.", "PATH")
    containers(
        command("validate", _validate, "Check that the oracle gets full marks and doing nothing gets zero.", "TASK")
    )
    run = command("run", _run, "Run one model on a task, once.", "TASK")
    containers(run)
    run.add_argument("--model", required=True, help="id of a model in the config, or a LiteLLM name")
    run.add_argument("--cap", type=_positive, help="turn cap to state")
    run.add_argument("--attempt", type=_positive, default=1, help="number of the run; a finished one is not made again")
    depth = command("depth", _depth, "Measure the depth D of a task by runs under stated turn caps.", "TASK")
    containers(depth)
    depth.add_argument(
        "--model", help="the one model to measure with, by id or LiteLLM name, instead of the config's first and second"
    )
    depth.add_argument(
        "--second",
        help="second model, which looks for a smaller D; `none` for none. Default: none with --model, else the config's",
    )
    clean = command("clean", _clean, "Remove what killed runs left: containers, unfinished run folders.", None)
    clean.add_argument("--results", type=Path, help="results folder to clean (default: results)")
    clean.add_argument("--images", action="store_true", help="also remove the images that were built, of both backends")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of 1 or more, not {text!r}")
    return int(text)


def _print(values: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(values, default=lambda v: v.isoformat() if isinstance(v, datetime) else str(v)))
        return
    for line in lines(values):
        print(line)


def _warn(line: str) -> None:
    print(f"termdepth: {clean(line)}", file=sys.stderr)


# --- commands


def _work(args: argparse.Namespace) -> int:
    from termdepth.tasks.rows import task_rows

    _be_folder(args.task)
    unreadable: list[str] = []
    rows = _noting(unreadable, task_rows(args.task))
    if args.json:
        for row in rows:
            print(json.dumps({k: row[k] for k in WORK_COLUMNS}))
        return _all_read(unreadable)
    found = list(rows)
    if not found:
        raise UserError("no task in this folder", where=args.task, hint="a task is a folder with a task.toml in it")
    for r in found:
        r["task"] = clean(r["task"])
    width = max(len(r["task"]) for r in found)
    print(f"{'task':<{width}}  {'lines':>6}  {'tokens':>7}  {'chars':>7}")
    for r in found:
        if r["w_lines"] is None:
            print(f"{r['task']:<{width}}  {clean(r['problem'] or 'no reference solution')}")
        else:
            note = f"  {r['w_fallback']}" if r["w_fallback"] else ""
            print(f"{r['task']:<{width}}  {r['w_lines']:>6}  {r['w_tokens']:>7}  {r['w_chars']:>7}{note}")
    return _all_read(unreadable)


def _noting(unreadable: list[str], rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows; the names of tasks that cannot be read are added to a list as they come."""
    for row in rows:
        if row["problem"]:
            unreadable.append(row["task"])
        yield row


def _all_read(unreadable: Sequence[str]) -> int:
    """The exit status of `work`. Tasks that cannot be read are named where output that goes on to a program does not hide it."""
    if not unreadable:
        return 0
    more = f" and {len(unreadable) - 10} more" if len(unreadable) > 10 else ""
    _warn(f"cannot be read: {', '.join(unreadable[:10])}{more}")
    return 1


def _validate(args: argparse.Namespace) -> int:
    from termdepth.pipeline.logs import why
    from termdepth.tasks.reading import TaskInfo, read_task

    config, dataset = _config(args)
    admission = _admission(config, dataset)[1]
    unsolved = admission["admitted"] and admission["oracle_segments"] is None
    note = "no reference solution: only doing nothing was checked" if unsolved else None
    logs = dict.fromkeys(("verifier_log", "verifier_said", "solution_log"))
    task = read_task(args.task, args.task)
    if not admission["admitted"] and isinstance(task, TaskInfo):
        trials = config.results / "validation" / dataset.name / admission["task"]
        decided = [trials / Path(admission["log"]).relative_to(trials).parts[0]] if admission["log"] else []
        logs |= why(task, admission["reason"], decided)
    _print(
        {
            **{
                k: admission[k]
                for k in (
                    "task",
                    "backend",
                    "admitted",
                    "reason",
                    "oracle_segments",
                    "noop_reward",
                    "build_seconds",
                    "seconds",
                )
            },
            "note": note,
            **logs,
        },
        args.json,
    )
    return 0 if admission["admitted"] else 1


def _run(args: argparse.Namespace) -> int:
    import asyncio

    from termdepth.depth.protocol import RunRequest
    from termdepth.pipeline.measure import Measurer

    config, dataset = _config(args, first=args.model)
    task = _task(config, dataset)
    model = config.role("first")
    assert model is not None

    async def work() -> Any:
        measurer = Measurer(config, dataset, threads=1, say=_say)
        phase = "uncapped" if args.cap is None else "probe"
        return await measurer.run(task, model, phase, RunRequest("probe", args.cap, args.attempt))

    row = asyncio.run(work()).row
    keys = (
        "task model cap outcome label passed segments_passed n_segments turns minutes input_tokens output_tokens "
        "context_tokens cost_usd error path"
    )
    _print({k: row[k] for k in keys.split()}, args.json)
    return 0 if row["passed"] else 1


def _depth(args: argparse.Namespace) -> int:
    from termdepth.depth.protocol import Phase
    from termdepth.pipeline.collect import depth_rows
    from termdepth.pipeline.measure import measure, protocol_of
    from termdepth.pipeline.truth import plan_depths

    second = args.second or ("none" if args.model else None)
    config, dataset = _config(args, first=args.model, second=second)
    task_row, admission = _admission(config, dataset)
    if not admission["admitted"]:
        raise UserError(
            f"the task is not admitted: {admission['reason']}",
            where=args.task,
            hint=f"`termdepth validate {shlex.quote(str(args.task))}` says more; `termdepth run` makes single runs all the same",
        )
    task = _task(config, dataset)
    runs: list[dict[str, Any]] = []
    phases: tuple[Phase, ...] = ("uncapped", "probe", "second")
    for phase in phases:
        runs += measure(config, dataset, [task], phase, runs, threads=1, say=_say)[0]
    row = depth_rows([task_row], [admission], runs, protocol_of(config), plan_depths([task_row]))[0]
    first, used = config.role("first"), config.role("second")
    assert first is not None
    above = f">{config.protocol.caps[-1]}"
    values = {
        "task": row["task"],
        "model": first.id,
        "second_model": used and used.id,
        "solved": row["solved"],
        "D": above if row["d_above"] else row["d"],
        "depth_in": f"({row['d_lower']}, {row['d']}]" if row["d"] else None,
        "D_first_model": above if row["d_first_above"] else row["d_first"],
        "N": row["n"],
        "R": row["r"],
        "W": row["w_lines"],
        "known_depth": row["plan_depth"],
        "runs": row["runs"],
        "cost_usd": row["cost_usd"],
        "runs_path": str(config.results / "runs" / dataset.name / row["task"]),
        "note": "no run without a cap came to a verdict: nothing is known" if row["solved"] is None else None,
    }
    _print(values, args.json)
    return 0 if row["solved"] else 1


def _clean(args: argparse.Namespace) -> int:
    from termdepth.environments.backend import remove_images
    from termdepth.pipeline.backends import sweep_all

    results = args.results or Path("results")
    if args.results:
        _be_folder(results, "name a results folder")
    containers = sweep_all()
    found = (p for runs in ("runs", "cli/runs") for p in (results / runs).rglob("partial-*"))
    partial = [p for p in found if p.is_dir() and _left_behind(p.name)]
    for path in partial:
        shutil.rmtree(path, ignore_errors=True)
    removed, freed = remove_images(results / "images" / "cache") if args.images else (0, 0)
    _print(
        {
            "containers": len(containers),
            "unfinished_runs": len(partial),
            "images": removed,
            "image_bytes": freed,
            "note": None if results.is_dir() else "there is no folder `results` here: only containers were looked for",
        },
        args.json,
    )
    return 0


def _left_behind(name: str) -> bool:
    """Whether this is the name of an unfinished run's folder whose process is gone. A task may be called `partial-…`, too."""
    match = re.fullmatch(r"partial-(\d+)-\d+-[0-9a-f]{8}", name)
    return match is not None and not Path(f"/proc/{match[1]}").exists()


# --- one task as a dataset


def _say(line: str) -> None:
    print(clean(line.strip()), file=sys.stderr, flush=True)


def _be_folder(path: Path, hint: str = "name the folder of a Harbor task") -> None:
    if not path.is_dir():
        raise UserError("not a folder" if path.exists() else "no such folder", where=path, hint=hint)


def _config(args: argparse.Namespace, first: str | None = None, second: str | None = None) -> tuple[Config, Dataset]:
    """The config with this one task as its only dataset: settings of the dataset it belongs to, if it is in one."""
    from termdepth.config.load import load_config
    from termdepth.config.models import Dataset

    config = load_config(args.config)
    _be_folder(args.task)
    if not (args.task / "task.toml").is_file():
        raise UserError("not a task: there is no task.toml", where=args.task, hint="name the folder of one Harbor task")
    path = args.task.resolve()
    owner = next((d for d in config.datasets if path.is_relative_to(config.folder(d).resolve())), None)
    settings = owner.model_dump() if owner else {"name": "tasks", "kind": "human"}
    dataset = Dataset.model_validate(
        settings
        | {
            "path": args.task,
            **dict.fromkeys(("registry", "csv", "evidence")),
            "tasks": ["*"],
            "groups": [],
            "difficulty": "difficulty",
            "sample": "all",
            "trusted": args.trusted or settings.get("trusted", False),
        }
    )
    models = [
        _model(config, "first", first, "--model"),
        None if second == "none" else _model(config, "second", second, "--second"),
    ]
    update = {"datasets": [dataset], "models": [m for m in models if m], "public_results": []}
    if args.backend:
        update["backend"] = args.backend
    update["results"] = args.results or config.results / "cli"
    return config.model_copy(update=update), dataset


def _model(config: Config, role: Any, name: str | None, option: str) -> ModelEntry | None:
    """The model of a role: the config's, or the one that an option names, by id or by LiteLLM name."""
    from pydantic import ValidationError

    from termdepth.config.models import ModelEntry

    if name is None:
        found = config.role(role)
        return found.model_copy(update={"roles": [role]}) if found else None
    listed = next((m for m in config.models if m.id == name), None)
    if listed:
        return listed.model_copy(update={"roles": [role]})
    if "/" not in name:
        known = ", ".join(m.id for m in config.models)
        raise UserError(
            f"no model {name!r}",
            where=option,
            hint=f"a LiteLLM name (provider/model), or one of {known}{', or `none`' if option == '--second' else ''}",
        )
    try:
        return ModelEntry(id=re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._") or "model", litellm=name, roles=[role])
    except ValidationError as e:
        message = e.errors()[0]["msg"].removeprefix("Value error, ")
        raise UserError(f"no model {name!r}: {message}", where=option) from None


def _task_row(config: Config, dataset: Dataset) -> dict[str, Any]:
    from termdepth.pipeline.listing import list_tasks

    try:
        # Whether it needs a solution is asked where it is to be admitted: a single run needs none.
        row = list_tasks(config, dataset.model_copy(update={"needs_solution": False}))[0]
    except UserError as e:
        _, _, reason = e.problem.partition("can be used: ")
        if not reason:
            raise
        raise UserError(f"the task cannot be used: {reason}", where=dataset.path) from None
    if row["left_out"]:
        raise UserError(f"the task cannot be used: {row['left_out']}", where=dataset.path)
    return row


def _admission(config: Config, dataset: Dataset) -> tuple[dict[str, Any], dict[str, Any]]:
    """The task's rows of `tasks` and of `admission`."""
    from termdepth.pipeline.batches import not_checked, why_left_out
    from termdepth.pipeline.prepare import build_images, validate_tasks

    row = _task_row(config, dataset)
    if missing := why_left_out(row, ["*"], dataset.needs_solution):
        return row, not_checked(row) | {"reason": missing}
    images = build_images(config, dataset, [row], say=_say)
    return row, validate_tasks(config, dataset, [row], images, threads=1, say=_say)[0]


def _task(config: Config, dataset: Dataset) -> TaskRef:
    from termdepth.pipeline.measure import task_refs
    from termdepth.pipeline.prepare import build_images

    row = _task_row(config, dataset)
    image = build_images(config, dataset, [row], say=lambda _: None)[0]
    if image["problem"]:
        raise UserError(f"no image: {image['problem']}", where=row["task"])
    return task_refs(dataset, [row], [image | {"admitted": True}])[0]


if __name__ == "__main__":
    sys.exit(main())
