"""Columns of any kind as plain float arrays, so that every statistic treats missing values and infinities alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def as_floats(values: Any) -> Floats:
    """One column as float64, shape (n,). Missing (None, NaN, NA, an unused category) is nan; infinities stay.

    An ordered categorical becomes the positions of its categories, so that a rating easy < medium < hard is 0, 1, 2.

    Raises:
        ValueError: values are not one-dimensional, or are text without an order.
    """
    if isinstance(values, pd.Categorical):
        values = pd.Series(values)
    if isinstance(values, pd.Series) and isinstance(values.dtype, pd.CategoricalDtype):
        if not values.cat.ordered:
            raise ValueError("a categorical column needs an order to be ranked")
        codes: Floats = np.array(values.cat.codes, dtype=np.float64)
        codes[codes < 0] = np.nan
        return codes
    if not isinstance(values, (pd.Series, pd.Index, np.ndarray)):
        values = pd.array(list(values)) if not isinstance(values, pd.api.extensions.ExtensionArray) else values
    if np.ndim(values) != 1:
        raise ValueError(f"expected one column, got {np.ndim(values)} dimensions")
    try:
        return pd.Series(values).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected numbers, got {pd.Series(values).dtype}") from error


def as_columns(values: Any) -> list[Any]:
    """One vector or several (a list of vectors, a mapping, a data frame, a 2-d array with one column a variable)."""
    if isinstance(values, pd.DataFrame):
        return [values[name] for name in values.columns]
    if isinstance(values, Mapping):
        return list(values.values())
    if isinstance(values, np.ndarray):
        return [values] if values.ndim == 1 else list(values.T)
    if isinstance(values, (list, tuple)):
        nested = any(isinstance(item, (Sequence, np.ndarray, pd.Series, pd.Index, pd.Categorical)) for item in values)
        return list(values) if nested or not values else [values]
    return [values]


def group_codes(groups: Any) -> Ints:
    """Group labels as codes 0, 1, ... in order of appearance, shape (n,); -1 where the label is missing."""
    codes, _ = pd.factorize(pd.Series(groups))
    return codes.astype(np.int64)


def check_same_rows(columns: Iterable[Any]) -> int:
    """The common length of the columns.

    Raises:
        ValueError: lengths differ, or two Series have different indexes (values would be paired by accident).
    """
    columns = list(columns)
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise ValueError(f"columns differ in length: {sorted(lengths)}")
    indexes = [column.index for column in columns if isinstance(column, pd.Series)]
    if any(not index.equals(indexes[0]) for index in indexes[1:]):
        raise ValueError("columns come from frames with different indexes: merge them first, or pass arrays")
    return lengths.pop() if lengths else 0


def require_columns(frame: pd.DataFrame, names: Iterable[str]) -> None:
    """Raises ValueError naming the columns that are missing."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(f"the table has no column {', '.join(missing)} (it has {', '.join(map(str, frame.columns))})")


def left_out(number: int, of: str, why: str) -> str:
    """A note such as '3 rows left out: a value is missing'; empty when nothing was."""
    return f"{number:,} {of}{'' if number == 1 else 's'} left out: {why}" if number else ""


def join_notes(*notes: str) -> str:
    """Notes as one text, empty ones left out, each once."""
    return "; ".join(dict.fromkeys(note for note in notes if note))
