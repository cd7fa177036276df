"""Latencies in the form of the Moirai paper: Figure 10, Tables IV and V ([MOIRAI24])."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.statistics import geometric_mean
from boundmark.reports.text import MISSING, decimal, gap_percent, natural_order, seconds

# Columns that an original graph and its fused forms have in common.
MODEL = ["dataset", "instance", "device", "transfers", "memory"]

NO_FUSION = "none"
KEPT_OUTPUTS = "parameters+outputs"

# Speedups are over the first of these that found a placement of the original graph.
BASES = ("single-device", "fill-devices", "m-topo", "m-etf", "heft")

# Operators before and after coarsening in Table IV of the paper.
TABLE_IV = {
    "swin-1.8b": (6496, 5204),
    "swin-6.6b": (14352, 11512),
    "swin-13b": (22120, 17947),
    "gpt-3-330m": (4872, 3682),
    "gpt-3-1.3b": (9480, 7308),
    "gpt-3-2.7b": (12640, 9825),
    "gpt-3-13b": (19640, 15283),
    "evoformer-87m": (5136, 3618),
    "evoformer-930m": (12992, 9252),
    "evoformer-2.4b": (37920, 26824),
    "evoformer-3.2b": (50560, 35096),
}


def latency_table(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return the latency of each method on each model, with and without fusion.

    Fused operators take less time than one by one, so that each makespan is compared with what is
    certified of the graph with the same fusion, and with the base on the original graph.
    """
    named = _named(tasks)
    solving = named[named["objective"].notna()]
    key = [*MODEL, "fusion", "nodes", "method"]
    table = (
        solving.assign(makespan=solving["objective"].astype("float64"))
        .groupby(key, sort=True)
        .agg(makespan=("makespan", "mean"), seconds=("wall_seconds", "mean"))
        .reset_index()
    )
    original = table[(table["fusion"] == NO_FUSION) & table["method"].isin(BASES)]
    first = original.assign(rank=original["method"].map(BASES.index)).sort_values("rank")
    base = first.drop_duplicates(MODEL).set_index(MODEL)[["method", "makespan"]]
    base = base.rename(columns={"method": "base", "makespan": "base_makespan"})
    graph = ["dataset", "instance", "device", "fusion", "nodes"]
    known = _named(certified).astype({"bound": "float64"})
    bounds = known.set_index([*MODEL, "fusion"])["bound"]
    loosest = known[(known["transfers"] == "per-tensor") & (known["memory"] == "parameters+live")]
    shared = loosest.set_index(graph)["bound"].rename("shared")
    table = table.join(base, on=MODEL).join(bounds, on=[*MODEL, "fusion"]).join(shared, on=graph)
    table["bound"] = table[["bound", "shared"]].max(axis=1)
    table["speedup"] = table["base_makespan"] / table["makespan"]
    table["gap"] = table["makespan"] / table["bound"].where(table["bound"] > 0) - 1
    return table.drop(columns=["base_makespan", "shared"])


def fusion_table(latencies: pd.DataFrame) -> pd.DataFrame:
    """Return the effect of each set of fusion rules, one row per model."""
    columns = ["operators", "fused_operators", "methods"]
    columns += ["makespan_ratio", "seconds_ratio", "bound_ratio"]
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
                float(part["bound"].iloc[0] / part["bound_original"].iloc[0]),
            ]
        )
    return pd.DataFrame(rows, columns=[*MODEL, "fusion", *columns])


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """Return rows with their parameters under the names that tables here use."""
    nothing = pd.Series(np.nan, index=table.index, dtype=object)
    return table.assign(
        transfers=table["param_transfers"],
        memory=table.get("param_memory", nothing).fillna(KEPT_OUTPUTS),
        fusion=table.get("param_fusion", nothing).fillna(NO_FUSION),
    )


SCENARIO = ["device", "transfers", "memory", "fusion"]
MEAN = "geometric mean"

# Columns beside those of methods: the best placement, and what the bound leaves.
BEST, AT_MOST = "best", "at most"

# The paper's program, and how many times as fast as others it says that this one is at most, by
# cluster and graph.
PROGRAM = "moirai-milp"
RIVALS = ("placeto", "m-sct", "getf", "placement-search")
FASTER = {
    key: dict(zip(RIVALS, ratios, strict=False))
    for key, ratios in {
        ("inter-server", NO_FUSION): (2.98, 1.77, 1.33),
        ("intra-server", NO_FUSION): (4.12, 1.70, 1.35),
        ("inter-server", "moirai"): (3.15, 1.90, 1.25),
        ("intra-server", "moirai"): (4.28, 1.74, 1.34),
    }.items()
}

_Show = Callable[[pd.Series], Cell]


def latency_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return speedups over the base, each with its certified gap; None without."""
    latencies = tables["latencies"].dropna(subset=["speedup"])
    if not len(latencies):
        return None

    def show(row: "pd.Series[Any]") -> Cell:
        gap = "" if pd.isna(row["gap"]) else gap_percent(row["gap"], " %")
        return Cell(f"{row['speedup']:.3f}", gap, bool(row["is_best"]))

    best = latencies.groupby([*SCENARIO, "dataset", "instance"])["speedup"].transform("max")
    marked = latencies.assign(is_best=latencies["speedup"] == best)
    first = marked[marked["is_best"]].drop_duplicates([*SCENARIO, "dataset", "instance"])
    bounded = first.dropna(subset=["gap"])
    beside = [
        first.assign(method=BEST, is_best=False),
        bounded.assign(
            method=AT_MOST, speedup=bounded["speedup"] * (1 + bounded["gap"]), gap=np.nan,
            is_best=False,
        ),
    ]  # fmt: skip
    table = _by_scenario(
        "Latency speedup over the best single device, as Figure 10 of [MOIRAI24]",
        pd.concat([marked, *beside]),
        show,
        lambda part: Cell(f"{geometric_mean(part['speedup']):.3f}"),
        (
            f"Makespan of the first of {', '.join(BASES)} that found a placement of the original "
            "graph over the method's, means over seeds. The small number is the gap of the "
            "makespan to the best certified lower bound of the same graph, fused or not; at most: "
            "the speedup that this bound leaves. –: no placement.",
            "The last row has geometric means over the models for which the method found a "
            "placement.",
        ),
    )
    return Section("Latency", (table, *_claims(tables["latencies"])))


def _claims(latencies: pd.DataFrame) -> tuple[Table, ...]:
    """Return how many times as fast placements of the paper's program are as others', if it ran."""
    key = [*MODEL, "fusion"]
    own = latencies[latencies["method"] == PROGRAM].set_index(key)["makespan"].rename("own")
    others = latencies[latencies["method"].isin(RIVALS)].join(own, on=key).dropna(subset=["own"])
    if others.empty:
        return ()
    names = [name for name in RIVALS if (others["method"] == name).any()]
    groups = []
    for scenario, part in _scenarios(others):
        cluster, fusion = str(scenario[0]).removeprefix("moirai-"), scenario[-1]
        rows = [Cell(_scenario(*scenario))]
        for name in names:
            found = part[part["method"] == name]
            ratios = found["makespan"] / found["own"]
            printed = FASTER.get((cluster, fusion), {}).get(name)
            said = f"paper {printed:.2f}; " if printed else ""
            mean = f"mean {geometric_mean(ratios):.3f}, n = {len(ratios)}"
            rows.append(Cell(f"{ratios.max():.2f}", said + mean) if len(ratios) else Cell(MISSING))
        groups.append(tuple(rows))
    note = (
        f"Makespan of a method over that of {PROGRAM}, the most; the small numbers are what "
        "[MOIRAI24], Section IV-B, says of Figure 10, and the geometric mean over the n models "
        "that both placed. Below 1, the other method is better."
    )
    title = f"Latency over that of {PROGRAM}"
    return (Table(title, ("graphs", *names), (Group((), tuple(groups)),), (note,)),)


def time_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return how long methods take; None without any."""
    latencies = tables["latencies"].dropna(subset=["seconds"])
    if not len(latencies):
        return None
    table = _by_scenario(
        "Placement generation time in seconds, as Table V of [MOIRAI24]",
        latencies,
        lambda row: Cell(seconds(row["seconds"])),
        lambda part: Cell(seconds(geometric_mean(part["seconds"].clip(lower=1e-3)))),
        (
            "Wall-clock seconds of the whole task, without verification; solvers and kernels are "
            "loaded before. Searches and exact methods use the time limit unless they prove their "
            "placement optimal. Means are geometric; times below a millisecond count as one.",
        ),
    )
    return Section("Placement generation time", (table,))


def _published(row: "pd.Series[Any]") -> Cell:
    """Return the numbers that Table IV has for a model."""
    # Names of instances end with the device if there are several.
    model = str(row["instance"]).removesuffix(f" on {row['device']}")
    if model not in TABLE_IV:
        return Cell(MISSING)
    before, after = TABLE_IV[model]
    return Cell(f"{after:,}", f"{after / before:.0%}")


def _fused(row: "pd.Series[Any]") -> Cell:
    share = row["fused_operators"] / row["operators"]
    return Cell(f"{row['fused_operators']:,}", f"{share:.0%}")


FUSION_COLUMNS = (
    PageColumn("model", lambda row: str(row["instance"]), is_text=True),
    PageColumn("operators", lambda row: f"{row['operators']:,}"),
    PageColumn("fused", _fused),
    PageColumn("Table IV", _published),
    PageColumn("makespan", lambda row: f"{row['makespan_ratio']:.3f}"),
    PageColumn("bound", lambda row: decimal(row["bound_ratio"], 3)),
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
            "Makespan and seconds: those of the fused graph over those of the original one, "
            "geometric means over the methods that placed both; bound: the same of the best "
            "certified lower bounds. Table IV: operators after "
            "coarsening in [MOIRAI24], as a share of those before; its exporter writes more "
            "operators than ours.",
        ),
    )
    return Section("Fusion", (table,))


def _scenarios(table: pd.DataFrame) -> list[tuple[Any, pd.DataFrame]]:
    """Return the rows of each scenario, the original graphs before the fused ones."""
    found = list(table.groupby(SCENARIO, sort=True))
    return sorted(found, key=lambda item: (*item[0][:3], item[0][3] != NO_FUSION, item[0][3]))


def _scenario(device: str, transfers: str, memory: str, fusion: str) -> str:
    parts = [device or "own costs", transfers, memory]
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
    methods.sort(key=lambda name: (name == AT_MOST, name == BEST))
    groups = []
    for key, part in _scenarios(table):
        rows = []
        for (_, model), own in part.groupby(["dataset", "instance"], sort=True):
            by_method = {str(row["method"]): row for _, row in own.iterrows()}
            cells = (show(by_method[m]) if m in by_method else Cell(MISSING) for m in methods)
            # Names of instances end with the device if there are several.
            rows.append((Cell(str(model).removesuffix(f" on {key[0]}")), *cells))
        if len(rows) > 1:
            parts = (part[part["method"] == m] for m in methods)
            rows.append((Cell(MEAN), *(mean(p) if len(p) else Cell(MISSING) for p in parts)))
        groups.append(Group((Cell(_scenario(*key)),), tuple(rows)))
    return Table(title, ("model", *methods), tuple(groups), notes)
