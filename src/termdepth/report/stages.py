"""How many tasks each rule of the sampling leaves (Appendix C, rules 3 and 4)."""

from __future__ import annotations

import pandas as pd

from termdepth.report.frames import true


def stages(tasks: pd.DataFrame, admission: pd.DataFrame) -> list[tuple[str, int]]:
    """Tasks of one dataset that are left after each rule, in order."""
    light = ~admission["light"].eq(False).fillna(False).astype(bool)
    built = light & admission["image"].notna()
    oracle = built & true(admission["oracle_passed"])
    noop = oracle & (admission["noop_reward"] <= 0)
    admitted = true(admission["admitted"])
    counts = [("candidates", len(admission))]
    if len(tasks) > len(admission):
        counts.insert(0, ("found", len(tasks)))
    return [
        *counts,
        ("light dependencies", int(light.sum())),
        ("image built", int(built.sum())),
        ("reference solution passes", int(oracle.sum())),
        ("doing nothing fails", int(noop.sum())),
        ("sampled", int(admitted.sum())),
    ]
