"""Tables of learned placement, in the paper's form and over evaluations ([HSDAG24], Table 2)."""

from typing import Any

import pandas as pd

from boundmark.reports.placement.tables import MODEL
from boundmark.reports.tables.parameters import json_object

# What everything on the first device is; where that is a processor, it is "CPU-only".
BASE = ("preferred-device", "first", 0)

# Methods that learn; the others are what they have to be better than.
LEARNED = frozenset({"hsdag", "hsdag-advantage", "placeto", "rnn-seq2seq"})

# Parameters that limit how many placements a method tries.
LIMITS = ("evaluations", "samples")

COLUMNS = [
    *MODEL, "method", "is_learned", "seeds", "makespan", "least", "most", "seconds", "speedup",
    "bound", "gap",
]  # fmt: skip
CURVE_COLUMNS = [*MODEL, "method", "evaluations", "seeds", "makespan", "least", "most", "gap"]


def learned_table(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return what each method makes of each model that something was learned on.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `instance`, `device`, `transfers`, `method`, `is_learned`; `seeds`, how
        many placements there are; `makespan`, their median, `least` and `most`; median `seconds`;
        `speedup`, 1 - makespan / that on the first device alone; `bound`, the best certified one;
        and `gap`. No rows for models that nothing was learned on.
    """
    found = _placed(tasks)
    found = found[found.groupby(MODEL)["is_learned"].transform("any").astype(bool)]
    if not len(found):
        return pd.DataFrame(columns=COLUMNS)
    table = (
        found.groupby([*MODEL, "method", "is_learned"], sort=True)
        .agg(
            seeds=("objective", "size"),
            makespan=("objective", "median"),
            least=("objective", "min"),
            most=("objective", "max"),
            seconds=("wall_seconds", "median"),
        )
        .reset_index()
    )
    on_first = found[found["is_base"]].groupby(MODEL)["objective"].min().rename("base")
    table = table.join(on_first, on=MODEL).join(_bounds(certified), on=MODEL)
    table["speedup"] = 1 - table["makespan"] / table["base"]
    table["gap"] = table["makespan"] / table["bound"].where(table["bound"] > 0) - 1
    return table[COLUMNS]


def curve_table(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return how good placements are by the number of evaluations, for methods run with several.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `instance`, `device`, `transfers`, `method` with those of its other
        parameters that differ between tasks, `evaluations`, `seeds`; `makespan`, the median over
        seeds, `least`, `most`; and `gap`.
    """
    found = _placed(tasks).dropna(subset=["evaluations"])
    found = found.assign(curve=_curves(found))
    several = found.groupby([*MODEL, "curve"])["evaluations"].transform("nunique") > 1
    found = found[several.astype(bool)]
    if not len(found):
        return pd.DataFrame(columns=CURVE_COLUMNS)
    table = (
        found.groupby([*MODEL, "curve", "evaluations"], sort=True)
        .agg(
            seeds=("objective", "size"),
            makespan=("objective", "median"),
            least=("objective", "min"),
            most=("objective", "max"),
        )
        .reset_index()
        .rename(columns={"curve": "method"})
        .astype({"evaluations": "int64"})
        .join(_bounds(certified), on=MODEL)
    )
    table["gap"] = table["makespan"] / table["bound"].where(table["bound"] > 0) - 1
    return table[CURVE_COLUMNS]


def matches(table: pd.DataFrame) -> pd.DataFrame:
    """Return for each model the best learned placement, and what else is as good soonest.

    Returns
    -------
    pandas.DataFrame
        The columns of the learned row, and `other`, `other_makespan`, `other_seconds` of the method
        that does not learn, is at least as good and takes the fewest seconds; missing without any.
    """
    rows = []
    for _, part in table.groupby(MODEL, sort=True):
        best = part[part["is_learned"]].sort_values(["makespan", "seconds"]).iloc[0]
        others = part[~part["is_learned"] & (part["makespan"] <= best["makespan"])]
        row = {**best.to_dict(), "other": None, "other_makespan": None, "other_seconds": None}
        if len(others):
            first = others.sort_values(["seconds", "makespan"]).iloc[0]
            row["other"] = first["method"]
            row["other_makespan"], row["other_seconds"] = first["makespan"], first["seconds"]
        rows.append(row)
    return pd.DataFrame(rows)


def _placed(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return the tasks that found a placement, with what their methods and parameters say."""
    found = tasks[(tasks["method_kind"] != "bound") & tasks["objective"].notna()]
    name = found["method"].str.split(" (", n=1, regex=False).str[0]
    params = [json_object("params", text) for text in found["params"]]
    return found.assign(
        transfers=found["param_transfers"],
        objective=found["objective"].astype("float64"),
        name=name,
        is_learned=name.isin(LEARNED),
        is_base=[_is_base(*pair) for pair in zip(name, params, strict=True)],
        evaluations=[_limit(given) for given in params],
    )


def _curves(found: pd.DataFrame) -> list[str]:
    """Return each task's method, with the parameters that differ and are no limits."""
    names = found["name"].tolist()
    given = [json_object("params", text) for text in found["params"]]
    values: dict[tuple[str, str], set[str]] = {}
    for name, params in zip(names, given, strict=True):
        for key, value in params.items():
            values.setdefault((name, key), set()).add(str(value))
    curves = []
    for name, params in zip(names, given, strict=True):
        others = [key for key in sorted(params) if key not in LIMITS]
        told = [f"{key}={params[key]}" for key in others if len(values[name, key]) > 1]
        curves.append(f"{name} ({', '.join(told)})" if told else name)
    return curves


def _is_base(name: str, params: dict[str, Any]) -> bool:
    return name == BASE[0] and params.get(BASE[1]) == BASE[2]


def _limit(params: dict[str, Any]) -> float:
    """Return how many placements a method may try; NaN if nothing says."""
    given = [params[name] for name in LIMITS if params.get(name)]
    return float(given[0]) if given else float("nan")


def _bounds(certified: pd.DataFrame) -> "pd.Series[float]":
    """Return the best certified bound of each model, of all instances with its costs."""
    known = certified.assign(transfers=certified["param_transfers"])
    if "param_fusion" in known:
        known = known[known["param_fusion"].isna()]
    return known.assign(bound=known["bound"].astype("float64")).groupby(MODEL)["bound"].max()
