"""Rows of data frames, and the events of traces by task."""

from collections import namedtuple
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc


def rows(frame: pd.DataFrame) -> Iterable[Any]:
    """Return the rows as named tuples, whose fields have no type for mypy."""
    made: Any = namedtuple
    row = made("Row", list(frame.columns), rename=True)
    return map(row._make, zip(*(values_of(frame[name]) for name in frame), strict=True))


def best_rows(
    tasks: pd.DataFrame,
    column: str,
    *,
    highest: bool = False,
    of: Sequence[str] = ("instance_sha256",),
) -> pd.DataFrame:
    """Return the best row of each instance that has a value; it is credited with the result.

    Best is the lowest verified cost, or the highest certified bound; of equal ones that which took
    the least wall-clock time, and then the first method by name. This is the rule everywhere.

    Examples
    --------
    >>> tasks = pd.DataFrame(
    ...     [["x", "memetic", 12, 3.0], ["x", "slicegraph", 12, 0.1], ["x", "uniform", 20, 0.0]],
    ...     columns=["instance_sha256", "method", "objective", "wall_seconds"],
    ... )
    >>> best_rows(tasks, "objective")["method"].tolist()
    ['slicegraph']
    """
    # What decides is sorted alone: rows have many more columns.
    rule = [column, "wall_seconds", "method"]
    names = tasks.loc[tasks[column].notna(), list(dict.fromkeys((*of, *rule)))]
    order = names.sort_values(rule, ascending=[not highest, True, True], kind="stable")
    return tasks.loc[order.drop_duplicates(list(of)).index]


def are_same(one: Any, other: Any) -> bool:
    """Return whether two values of tables are equal, or both missing."""
    if pd.isna(one) or pd.isna(other):
        return bool(pd.isna(one) and pd.isna(other))
    return bool(one == other)


def is_among(column: "pd.Series[Any]", values: Collection[str]) -> "pd.Series[bool]":
    """Return which texts of a column are among others.

    As `isin` says too, which takes longer.
    """
    known = pd.Series(list(values), dtype="str")
    return pd.Series(places_in(column, known) >= 0, index=column.index)


def places_in(column: "pd.Series[Any]", known: "pd.Series[Any]") -> npt.NDArray[np.intp]:
    """Return the position of each text of a column among known ones, -1 if it is unknown."""
    texts, among = (pa.chunked_array(_chunks(one), pa.large_string()) for one in (column, known))
    found = pc.index_in(texts, value_set=among.combine_chunks(), skip_nulls=True)
    places: npt.NDArray[np.intp] = found.fill_null(-1).to_numpy().astype(np.intp)
    return places


def _chunks(column: "pd.Series[Any]") -> list[pa.Array]:
    found = pa.array(column, pa.large_string())
    return found.chunks if isinstance(found, pa.ChunkedArray) else [found]


def values_of(column: "pd.Series[Any]") -> list[Any]:
    """Return the values of a column as a list.

    To go through a column of text one by one takes ten times as long.
    """
    found: list[Any] = column.to_numpy(dtype=object).tolist()
    return found


Events = dict[str, list[tuple[float, float]]]


def events_by_task(traces: pd.DataFrame) -> Events:
    """Return each task's events as pairs of seconds and value, in the order of the traces."""
    codes, tasks = pd.factorize(traces["task_id"])
    order = np.argsort(codes, kind="stable")
    seconds, values = (traces[name].to_numpy()[order].tolist() for name in ("seconds", "value"))
    pairs = list(zip(seconds, values, strict=True))
    ends = [0, *np.cumsum(np.bincount(codes)).tolist()]
    return {
        task: pairs[start:end]
        for task, start, end in zip(tasks.tolist(), ends[:-1], ends[1:], strict=True)
    }


def places_of_tasks(traces: pd.DataFrame, tasks: pd.DataFrame) -> npt.NDArray[np.intp]:
    """Return the position of each event's task among tasks, -1 if it is not among them."""
    return places_in(traces["task_id"], tasks["task_id"])
