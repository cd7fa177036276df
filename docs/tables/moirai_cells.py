"""Print the tables of docs/results-moirai.md: `python docs/tables/moirai_cells.py RESULTS...`.

Speedups are over the first method of a list that found a placement of the original graph, gaps to
the best certified bound of the same graph. Of several folders, later ones replace methods of
earlier ones.
"""

import json
import sys
from pathlib import Path

import pandas as pd

from boundmark.reports.placement.latencies import TABLE_IV, fusion_table, latency_table
from boundmark.reports.stored.checked_results import checked_results
from boundmark.reports.stored.store import ResultStore

METHODS = (
    "single-device", "fill-devices", "m-etf", "m-sct", "getf", "heft", "placement-search",
    "moirai-milp",
)  # fmt: skip


def tasks_of(folders: list[str]) -> pd.DataFrame:
    """Return the rows of results folders, with the parameters that tables read."""
    kept = pd.DataFrame()
    for folder in folders:
        rows = checked_results(ResultStore(Path(folder))).results
        if len(kept):
            kept = kept[~kept["method"].isin(rows["method"].unique())]
        kept = pd.concat([kept, rows], ignore_index=True)
    for name in ("transfers", "memory", "fusion"):
        kept[f"param_{name}"] = [json.loads(text).get(name) for text in kept["instance_params"]]
    return kept


def speedup_table(latencies: pd.DataFrame) -> str:
    """Return speedups, with gaps in brackets, as Markdown."""
    methods = [name for name in METHODS if name in set(latencies["method"])]
    lines = [
        "| model | cluster | fusion | " + " | ".join(methods) + " |",
        "| --- | --- | --- |" + " ---: |" * len(methods),
    ]
    models = list(TABLE_IV)
    key = ["instance", "device", "fusion"]
    order = sorted(
        latencies.groupby(key), key=lambda item: (item[0][1], models.index(item[0][0]), item[0][2])
    )
    for (model, device, fusion), part in order:
        cells = []
        for name in methods:
            row = part[part["method"] == name]
            if not len(row):
                cells.append("–")
                continue
            gap = row["gap"].iloc[0]
            said = "" if pd.isna(gap) else f" ({gap:.1%})"
            cells.append(f"{row['speedup'].iloc[0]:.2f}{said}")
        cluster = device.removeprefix("moirai-")
        lines.append(f"| {model} | {cluster} | {fusion} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def reduction_table(latencies: pd.DataFrame) -> str:
    """Return operators before and after, beside Table IV, and what fusion changes, as Markdown."""
    lines = [
        "| model | cluster | rules | operators | fused | Table IV | makespan, fused / original |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in fusion_table(latencies).to_dict("records"):
        before, after = TABLE_IV[row["instance"]]
        share = row["fused_operators"] / row["operators"] - 1
        lines.append(
            f"| {row['instance']} | {row['device'].removeprefix('moirai-')} | {row['fusion']} "
            f"| {row['operators']:,} | {row['fused_operators']:,} ({share:.0%}) "
            f"| {after / before - 1:.0%} | {row['makespan_ratio']:.3f} |"
        )
    return "\n".join(lines)


def time_table(latencies: pd.DataFrame) -> str:
    """Return the mean seconds of each method by fusion, as Markdown."""
    seconds = latencies.pivot_table("seconds", "method", "fusion").loc[
        [name for name in METHODS if name in set(latencies["method"])]
    ]
    lines = [
        "| method | " + " | ".join(seconds.columns) + " |",
        "| --- |" + " ---: |" * len(seconds.columns),
    ]
    for name, row in seconds.iterrows():
        lines.append(f"| {name} | " + " | ".join(f"{value:.2f}" for value in row) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    found = tasks_of(sys.argv[1:])
    proven = found.dropna(subset=["bound_certified"]).assign(
        bound=lambda rows: rows["bound_certified"]
    )
    key = ["dataset", "instance", "device", "instance_params"]
    proven = proven.loc[proven.groupby(key)["bound"].idxmax()]
    table = latency_table(found, proven)
    print(speedup_table(table), reduction_table(table), time_table(table), sep="\n\n")
