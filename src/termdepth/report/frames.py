"""The tables of record as data frames with every declared column, however little was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from termdepth.data.schema import TABLES, Table
from termdepth.stats import d_rank_value

Frames = dict[str, pd.DataFrame]


_DTYPES = {"string": "object", "int": "float64", "float": "float64", "bool": "boolean"}


def _empty(value: object) -> bool:
    """No text and no list; a list from Parquet is an array, which has no one truth."""
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)


def _prepared(frame: pd.DataFrame | None, table: Table) -> pd.DataFrame:
    rows = 0 if frame is None else len(frame)
    columns: dict[str, pd.Series] = {}
    for column in table.columns:
        dtype = _DTYPES.get(column.type, "object")
        if frame is None or column.name not in frame:
            columns[column.name] = pd.Series([None] * rows, dtype=dtype)
            continue
        values = frame[column.name].reset_index(drop=True)
        if dtype != "object":
            columns[column.name] = values.astype(dtype)  # type: ignore[call-overload]
        else:
            columns[column.name] = (
                pd.Series([None if _empty(v) else v for v in values.tolist()], dtype="object")
                if values.hasnans
                else values.astype("object")
            )
    return pd.DataFrame(columns)


def prepare(frames: Mapping[str, pd.DataFrame], inputs: Iterable[str]) -> Frames:
    """The frames an item reads, each with its declared columns in order; one that is not there becomes empty.

    Counts and measures are float64 with nan where empty, flags are nullable booleans, texts are None where empty.
    `depth` gains `d_rank` and `d_first_rank`: the cap, inf above the largest cap, nan where unsolved (for ranks only).
    """
    prepared: Frames = {}
    for name in inputs:
        frame = _prepared(frames.get(name), TABLES[name])
        if name == "depth":
            frame["d_rank"] = d_rank_value(frame["d"], frame["d_above"])
            frame["d_first_rank"] = d_rank_value(frame["d_first"], frame["d_first_above"])
        prepared[name] = frame
    return prepared


def solved(depth: pd.DataFrame) -> pd.DataFrame:
    """The solved tasks."""
    return depth[depth["solved"].fillna(False).astype(bool)]


def unmeasured(depth: pd.DataFrame) -> pd.DataFrame:
    """The tasks without a valid run without a cap: neither solved nor not."""
    return depth[depth["solved"].isna()]


def true(flags: pd.Series) -> pd.Series:
    """A nullable flag as plain true or false; empty counts as false."""
    return flags.fillna(False).astype(bool)
