"""Latencies in the form of the Moirai paper: Figure 10, Tables IV and V ([MOIRAI24])."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.statistics.means import geometric_mean
from boundmark.reports.text import MISSING, natural_order, seconds

# Columns that an original graph and its fused forms have in common.
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


SCENARIO = ["device", "transfers", "fusion"]
MEAN = "geometric mean"

_Show = Callable[[pd.Series], Cell]


def latency_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return speedups over the best single device, each with its certified gap; None without."""
    latencies = tables["latencies"].dropna(subset=["speedup"])
    if not len(latencies):
        return None

    def show(row: "pd.Series[Any]") -> Cell:
        gap = "" if pd.isna(row["gap"]) else f"{row['gap']:.1%}"
        return Cell(f"{row['speedup']:.3f}", gap, bool(row["is_best"]))

    best = latencies.groupby([*SCENARIO, "dataset", "instance"])["speedup"].transform("max")
    marked = latencies.assign(is_best=latencies["speedup"] == best)
    table = _by_scenario(
        "Latency speedup over the best single device",
        marked,
        show,
        lambda part: Cell(f"{geometric_mean(part['speedup']):.3f}"),
        (
            f"Makespan of {BASE} on the original graph over the method's, means over seeds. The "
            "small number is how far the makespan is above the best certified lower bound of the "
            "original graph. Fused operators run one after another, so their schedules are "
            "schedules of the original graph. Models that no single device takes are left out; –: "
            "no placement.",
            "The last row has geometric means over the models for which the method found a "
            "placement.",
        ),
    )
    return Section("Latency", (table,))


def time_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return how long methods take; None without any."""
    latencies = tables["latencies"].dropna(subset=["seconds"])
    if not len(latencies):
        return None
    table = _by_scenario(
        "Placement generation time in seconds",
        latencies,
        lambda row: Cell(seconds(row["seconds"])),
        lambda part: Cell(seconds(geometric_mean(part["seconds"].clip(lower=1e-3)))),
        (
            "Wall-clock seconds of the whole task, without verification; solvers and kernels are "
            "loaded before. Searches and exact methods use the time limit unless they prove their "
            "placement optimal. Means: geometric, of at least a millisecond each.",
        ),
    )
    return Section("Placement generation time", (table,))


def _fused(row: "pd.Series[Any]") -> Cell:
    share = row["fused_operators"] / row["operators"]
    return Cell(f"{row['fused_operators']:,}", f"{share:.0%}")


FUSION_COLUMNS = (
    PageColumn("model", lambda row: str(row["instance"]), is_text=True),
    PageColumn("operators", lambda row: f"{row['operators']:,}"),
    PageColumn("fused", _fused),
    PageColumn("makespan", lambda row: f"{row['makespan_ratio']:.3f}"),
    PageColumn("seconds", lambda row: f"{row['seconds_ratio']:.2f}"),
    PageColumn("methods", lambda row: str(row["methods"])),
)


def fusion_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the section that compares instances with and without fusion; None without any."""
    fusion = tables["fusion"]
    if not len(fusion):
        return None
    table = page_table(
        "Operators before and after fusion",
        FUSION_COLUMNS,
        [
            ((Cell(_scenario(*key)),), (row for _, row in part.iterrows()), "")
            for key, part in _scenarios(fusion)
        ],
        (
            "Makespan and seconds: of the fused graph over those of the original one, geometric "
            "means over the methods that found a placement of both.",
        ),
    )
    return Section("Fusion", (table,))


def _scenarios(table: pd.DataFrame) -> list[tuple[Any, pd.DataFrame]]:
    """Return the rows of each scenario, the original graphs before the fused ones."""
    found = list(table.groupby(SCENARIO, sort=True))
    return sorted(found, key=lambda item: (*item[0][:2], item[0][2] != NO_FUSION, item[0][2]))


def _scenario(device: str, transfers: str, fusion: str) -> str:
    parts = [device or "own costs", transfers]
    return ", ".join([*parts, "original" if fusion == NO_FUSION else f"fusion {fusion}"])


def _by_scenario(
    title: str,
    table: pd.DataFrame,
    show: _Show,
    mean: Callable[[pd.DataFrame], Cell],
    notes: tuple[str, ...],
) -> Table:
    """Return a table with a row per model and a column per method, in groups by scenario."""
    methods = natural_order(table["method"])
    groups = []
    for key, part in _scenarios(table):
        rows = []
        for (_, model), own in part.groupby(["dataset", "instance"], sort=True):
            by_method = {str(row["method"]): row for _, row in own.iterrows()}
            cells = (show(by_method[m]) if m in by_method else Cell(MISSING) for m in methods)
            rows.append((Cell(str(model)), *cells))
        if len(rows) > 1:
            parts = (part[part["method"] == m] for m in methods)
            rows.append((Cell(MEAN), *(mean(p) if len(p) else Cell(MISSING) for p in parts)))
        groups.append(Group((Cell(_scenario(*key)),), tuple(rows)))
    return Table(title, ("model", *methods), tuple(groups), notes)
