"""Write the explorer: every page into a new folder, which then takes the place of the one before."""

from __future__ import annotations

import multiprocessing
import shutil
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from termdepth.errors import UserError
from termdepth.explorer.index import ExplorerData, Row, Task, gather
from termdepth.explorer.render import Site, render_index, render_task
from termdepth.explorer.timeline import read_timeline
from termdepth.report.context import ReportContext

MARKER = ".termdepth-explorer"
_TASKS_PER_JOB = 20


def build(
    data: ExplorerData,
    out: Path,
    *,
    title: str = "termdepth",
    notes: Sequence[str] = (),
    context: ReportContext | None = None,
    root: Path = Path(),
    workers: int = 1,
) -> list[Path]:
    """Write index.html, tasks.csv, tasks/*.html and, for runs too long for their task's page, runs/*.html.

    The same data gives the same bytes. A run whose folder is missing or broken is shown as far as it is known.

    Args:
        data: rows of the tables of record. out: the folder; an explorer that is there is replaced once this one is whole.
        title: of every page. notes: sentences for the index. context: names, order of datasets, caps.
        root: what relative paths of runs start at. workers: processes; with more than one the calling script
            needs its `if __name__ == "__main__":`, because each process imports it.

    Returns:
        the files, index.html first.

    Raises:
        UserError: `out` is a folder of something else, or cannot be written. What was there is untouched.
    """
    site = Site(title, tuple(notes), context or ReportContext())
    try:
        return _build(data, out, site, root, workers)
    except OSError as e:
        raise UserError(
            f"cannot write the explorer: {e.strerror or e}",
            where=out,
            hint="free space or mend the permissions, then again",
        ) from e


def _build(data: ExplorerData, out: Path, site: Site, root: Path, workers: int) -> list[Path]:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UserError("is not a folder", where=out, hint="remove it, or name another")
    if out.is_dir() and not (out / MARKER).is_file() and any(out.iterdir()):
        raise UserError("the folder holds something that is no explorer", where=out, hint="remove it, or name another")
    new, old = (out.with_name(f".{out.name}.{part}") for part in ("new", "old"))
    for left_over in (new, old):
        shutil.rmtree(left_over, ignore_errors=True)
    try:
        files = _write(data, new, site, root, workers)
        if out.exists():
            out.rename(old)
        new.rename(out)
    except BaseException:
        if old.exists() and not out.exists():
            old.rename(out)
        shutil.rmtree(new, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
    return [out / f for f in files]


@dataclass(frozen=True)
class _Job:
    """Some tasks for one process."""

    tasks: list[Task]
    turns: dict[str, list[Row]]
    site: Site
    root: Path
    folder: Path


def _write(data: ExplorerData, folder: Path, site: Site, root: Path, workers: int) -> list[Path]:
    for part in ("tasks", "runs"):
        (folder / part).mkdir(parents=True)
    (folder / MARKER).write_text("This folder is replaced as a whole when the explorer is built again.\n")
    tasks = gather(data, site.context)
    html, table = render_index(tasks, site)
    _put(folder / "index.html", html)
    _put(folder / "tasks.csv", table)
    turns: defaultdict[str, list[Row]] = defaultdict(list)
    for row in data.turns:
        turns[row["fingerprint"]].append(row)
    for rows in turns.values():
        rows.sort(key=lambda t: t["turn"])
    with_page = [t for t in tasks if t.page]
    jobs = []
    for i in range(0, len(with_page), _TASKS_PER_JOB):
        some = with_page[i : i + _TASKS_PER_JOB]
        known = {r["fingerprint"] for t in some for r in t.runs}
        jobs.append(_Job(some, {f: turns[f] for f in known if f in turns}, site, root, folder))
    files = [Path("index.html"), Path("tasks.csv")]
    files += [Path(f) for done in _each(jobs, workers) for f in done]
    return files


def _each(jobs: Sequence[_Job], workers: int) -> Iterable[list[str]]:
    if workers < 2 or len(jobs) < 2:
        return map(_do, jobs)
    # spawn, not fork: whoever calls may have threads
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(_do, jobs))


def _do(job: _Job) -> list[str]:
    """Write the pages of some tasks; the names written, relative to the folder."""
    names = []
    for task in job.tasks:
        timelines = [read_timeline(run, job.turns.get(run["fingerprint"], ()), job.root) for run in task.runs]
        html, wholes = render_task(task, timelines, job.site)
        for name, text in {f"tasks/{task.page}.html": html, **{f"runs/{k}.html": v for k, v in wholes.items()}}.items():
            _put(job.folder / name, text)
            names.append(name)
    return names


def _put(path: Path, text: str) -> None:
    """Write a new file: two pages with one name would be a mistake of the names, and must not pass."""
    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
