"""How the numbers were made: config, versions, harness, runs and their cost, as one page."""

from __future__ import annotations

import platform
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

_PACKAGES = ("termdepth", "snakemake", "harbor", "litellm", "docker", "pandas", "pyarrow", "scipy", "matplotlib")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    """The commit of the checkout and whether it was changed since; empty outside a checkout."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""


def provenance(
    config: Mapping[str, Any], runs: Sequence[Mapping[str, Any]], admission: Sequence[Mapping[str, Any]]
) -> str:
    """The page, as Markdown.

    Args:
        config: the config as Snakemake read it. Keys are never in it: providers' keys come from the environment.
        runs, admission: rows of the tables of record.
    """
    outcomes = Counter((r["phase"], r["model"], r["outcome"]) for r in runs)
    costs = [r["cost_usd"] for r in runs]
    known = sum(c for c in costs if c is not None)
    unknown = sum(c is None for c in costs)
    backends = Counter((a["dataset"], a["backend"]) for a in admission if a["admitted"])
    lines = [
        "# How the numbers were made",
        "",
        f"{len(runs)} runs, {sum(r['turns'] for r in runs)} turns, {sum(r['minutes'] for r in runs):.1f} minutes of agents, "
        f"{known:.2f} USD" + (f" and {unknown} runs of unknown price" if unknown else "") + ".",
        "",
        "## Harness",
        "",
        *(f"- {h}" for h in sorted({r["harness"] for r in runs})),
        *(f"- {d}: {n} tasks in {b}" for (d, b), n in sorted(backends.items(), key=str)),
        "",
        "## Versions",
        "",
        f"- Python {platform.python_version()} on {platform.system()} {platform.release()}",
        *(f"- {p} {_version(p)}" for p in _PACKAGES),
        *([f"- commit {commit}"] if (commit := _commit()) else []),
        "",
        "## Runs",
        "",
        "| phase | model | outcome | runs |",
        "|---|---|---|---:|",
        *(f"| {p} | {m} | {o} | {n} |" for (p, m, o), n in sorted(outcomes.items())),
        "",
        "## Config",
        "",
        "```yaml",
        yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True).rstrip(),
        "```",
    ]
    return "\n".join(lines) + "\n"
