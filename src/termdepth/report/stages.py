"""How many tasks each rule of the sampling leaves (Appendix C)."""

from __future__ import annotations

import pandas as pd

from termdepth.data.reasons import GROUP_NOT_DRAWN, NO_EVIDENCE, NO_SOLUTION, NOT_ASKED_FOR, NOT_REACHED
from termdepth.report.frames import true


def stages(tasks: pd.DataFrame, admission: pd.DataFrame) -> list[tuple[str, int]]:
    """Tasks of one dataset, or of one group of it, that are left after each rule, in order.

    A rule that a dataset need not be asked about (names, evidence of a pass) is not among them where it left out nothing.
    """
    out = tasks["left_out"].fillna("").astype(str)
    readable = tasks["problem"].isna()
    named = readable & (out != NOT_ASKED_FOR)
    solved = named & (out != NO_SOLUTION)
    passed = solved & (out != NO_EVIDENCE)
    wanted = passed & (out != GROUP_NOT_DRAWN)
    listed = wanted & (out == "")
    checked = admission["order"].notna() & ~admission["reason"].eq(NOT_REACHED).fillna(False).astype(bool)
    light = checked & ~admission["light"].eq(False).fillna(False).astype(bool)
    built = light & admission["image"].notna()
    # Empty where a dataset releases no solutions: then doing nothing is all that is checked.
    oracle = built & admission["oracle_passed"].fillna(True).astype(bool) & admission["seconds"].notna()
    noop = oracle & (admission["noop_reward"] <= 0)
    counts = [
        ("found", len(tasks)),
        ("can be read", int(readable.sum())),
        ("name asked for", int(named.sum())),
        ("has a reference solution", int(solved.sum())),
        ("passed by a model", int(passed.sum())),
        ("in a group drawn from", int(wanted.sum())),
        ("light dependencies", int(listed.sum())),
        ("checked", int(checked.sum())),
        ("image built, and light", int(built.sum())),
        ("reference solution passes", int(oracle.sum())),
        ("doing nothing fails", int(noop.sum())),
        ("sampled", int(true(admission["admitted"]).sum())),
    ]
    always = {
        "found",
        "light dependencies",
        "image built, and light",
        "reference solution passes",
        "doing nothing fails",
    }
    before = len(tasks)
    kept = []
    for name, count in counts:
        if name in always or count != before or name == counts[-1][0]:
            kept.append((name, count))
        before = count
    return kept
