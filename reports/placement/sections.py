"""Sections in the form of the Moirai paper: Figure 10, Tables IV and V ([MOIRAI24])."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.placement.tables import BASE, NO_FUSION
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.text.natural_order import natural_order
from boundmark.reports.text.number_text import MISSING, seconds

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


def fusion_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return operators before and after fusion, and what it changes; None without any."""
    fusion = tables["fusion"]
    if not len(fusion):
        return None
    groups = []
    for key, part in _scenarios(fusion):
        rows = tuple(
            (
                Cell(str(row["instance"])),
                Cell(f"{row['operators']:,}"),
                Cell(
                    f"{row['fused_operators']:,}",
                    f"{row['fused_operators'] / row['operators']:.0%}",
                ),
                Cell(f"{row['makespan_ratio']:.3f}"),
                Cell(f"{row['seconds_ratio']:.2f}"),
                Cell(str(row["methods"])),
            )
            for _, row in part.iterrows()
        )
        groups.append(Group((Cell(_scenario(*key)),), rows))
    table = Table(
        "Operators before and after fusion",
        ("model", "operators", "fused", "makespan", "seconds", "methods"),
        tuple(groups),
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
