"""Tables in the form of the Moirai paper, the certified gap beside each value ([MOIRAI24])."""

import numpy as np
import pandas as pd

from boundmark.reports.statistics.geometric_mean import geometric_mean

# Of the original graph and its fused forms, what they have in common.
MODEL = ["dataset", "instance", "device", "transfers"]

NO_FUSION = "none"
BASE = "single-device"


def latency_table(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return what each method makes of each model, with and without fusion.

    A schedule of fused operators is one of the original graph with the same makespan, so all are
    compared with what is certified of the original graph, and with its best single device.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `instance`, `device`, `transfers`, `fusion`, `nodes`, `method`;
        `makespan` and `seconds`, means over seeds; `speedup`, the makespan of the best single
        device over this one; `bound`, the best certified one of the original graph; and `gap`.
    """
    named = _named(tasks)
    solving = named[(named["method_kind"] != "bound") & named["objective"].notna()]
    key = [*MODEL, "fusion", "nodes", "method"]
    table = (
        solving.assign(makespan=solving["objective"].astype("float64"))
        .groupby(key, sort=True)
        .agg(makespan=("makespan", "mean"), seconds=("wall_seconds", "mean"))
        .reset_index()
    )
    original = table[(table["fusion"] == NO_FUSION) & (table["method"] == BASE)]
    base = original.set_index(MODEL)["makespan"].rename("base")
    known = _named(certified)
    bounds = known[known["fusion"] == NO_FUSION].set_index(MODEL)["bound"].astype("float64")
    table = table.join(base, on=MODEL).join(bounds, on=MODEL)
    table["speedup"] = table["base"] / table["makespan"]
    table["gap"] = table["makespan"] / table["bound"].where(table["bound"] > 0) - 1
    return table.drop(columns="base")


def fusion_table(latencies: pd.DataFrame) -> pd.DataFrame:
    """Return what each set of rules changes, one row per model.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `instance`, `device`, `transfers`, `fusion`; `operators` before and
        `fused_operators` after; `methods` that found a placement of both; `makespan_ratio` and
        `seconds_ratio`, the geometric means over them of fused to original.
    """
    columns = ["operators", "fused_operators", "methods", "makespan_ratio", "seconds_ratio"]
    is_original = latencies["fusion"] == NO_FUSION
    pairs = latencies[~is_original].merge(
        latencies[is_original], on=[*MODEL, "method"], suffixes=("", "_original")
    )
    rows = []
    for key, part in pairs.groupby([*MODEL, "fusion"], sort=True):
        makespans = part["makespan"] / part["makespan_original"]
        seconds = part["seconds"] / part["seconds_original"]
        rows.append(
            [
                *(key if isinstance(key, tuple) else (key,)),
                int(part["nodes_original"].iloc[0]),
                int(part["nodes"].iloc[0]),
                len(part),
                geometric_mean(makespans),
                geometric_mean(seconds),
            ]
        )
    return pd.DataFrame(rows, columns=[*MODEL, "fusion", *columns])


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """Return rows with their parameters under the names that tables here use."""
    fusion = table.get("param_fusion", pd.Series(np.nan, index=table.index, dtype=object))
    return table.assign(transfers=table["param_transfers"], fusion=fusion.fillna(NO_FUSION))
