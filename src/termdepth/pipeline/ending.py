"""What is done when the pipeline ends: the report and where everything is, or what went wrong, once more and last."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

ERRORS = "logs/errors.log"
"""Below the results folder: what jobs of this start had to say to the user, one line each."""


def forget_errors(results: str | Path) -> None:
    """At the start: only this start's errors are shown at the end."""
    Path(results, ERRORS).unlink(missing_ok=True)


def note_error(results: str | Path, line: str) -> None:
    """One line for the end, appended in one write, so that jobs do not mix theirs. The log of the job has it too."""
    path = Path(results, ERRORS)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as f:
            f.write(line + "\n")
    except OSError:
        return  # a full disk is often the very error


def show_errors(results: str | Path) -> None:
    """The errors again, below Snakemake's own words about the jobs that they ended."""
    try:
        lines = list(dict.fromkeys(Path(results, ERRORS).read_text().splitlines()))
    except OSError:
        return
    print("\nWhat ended the jobs that failed:", *lines, sep="\n  ", file=sys.stderr, flush=True)


def finish(
    snakefile: str | Path,
    config: Mapping[str, Any],
    results: str | Path,
    files: Iterable[str],
) -> None:
    """Make <results>/report.html, where everything that it shows is there, and name what was made.

    Args:
        config: as Snakemake has it, from all its files and the command line; kept as <results>/config.yaml.
        files: everything that the whole pipeline makes.
    """
    folder = Path(results)
    if not all(Path(file).exists() for file in files):
        return  # only a part was asked for
    used = folder / "config.yaml"
    used.write_text(yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True))
    report = folder / "report.html"
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "snakemake",
        "--snakefile",
        str(snakefile),
        "--configfile",
        str(used),
    ]
    done = subprocess.run(
        [*command, "--nolock", "--quiet", "all", "--report", str(report)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"termdepth: {report}: the report could not be made: {done.stderr.strip()[-500:]}", file=sys.stderr)
    tables, figures = len(list(folder.glob("tables/*.md"))), len(list(folder.glob("figures/*.svg")))
    lines = [
        "",
        f"Tables    {tables} in {folder}/tables/    (CSV, Markdown, sortable page)",
        f"Figures   {figures} in {folder}/figures/   (PNG and SVG for screens, .print.png and .print.pdf for print)",
        f"Data      {folder}/data/*.parquet, described in docs/data.md",
        f"Runs      {folder}/explorer/index.html, every task and every run turn by turn",
        *([f"Report    {report}"] if not done.returncode else []),
    ]
    print("\n".join(lines), file=sys.stderr, flush=True)
