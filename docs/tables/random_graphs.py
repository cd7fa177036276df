"""Print gaps of random graphs: `python docs/tables/random_graphs.py RESULTS`.

`docs/tables/gaps.py` makes a page of what it prints. Only the newest version of each method counts.

For each method of a results folder of suite `paper-mtpp` or `paper-mtpp/small` and each number of
stages, how near its bounds come to the folder's best partitions; and the same for every graph by
its best certified bound. Only random graphs count, those with and without |r| weighting apart.
"""

import json
import math
import sys
from pathlib import Path

import pandas as pd

from boundmark.reports.statistics import geometric_mean
from boundmark.reports.stored.checked_results import checked_results
from boundmark.reports.stored.store import ResultStore

DATASET = "regal-style"
PLAIN = "-plain"


def ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """Return LB/UB of each bound, where UB is the best verified cost of its instance.

    Parameters
    ----------
    rows
        Rows of a results folder.

    Returns
    -------
    pandas.DataFrame
        Columns `graph`, `nodes`, `k`, `method`, `is_certified` and `ratio`; one row per row with a
        bound.
    """
    rows = rows[rows["dataset"] == DATASET]
    # A folder that went on after a change has several versions of a method.
    newest = rows.groupby(["instance_sha256", "method"])["method_version"].transform("max")
    rows = rows[rows["method_version"] == newest]
    best = rows.groupby("instance_sha256")["objective"].min().astype("float64")
    claimed = rows["bound_claimed"].astype("float64").clip(lower=0)
    bound = rows["bound_certified"].astype("float64").fillna(claimed)
    table = pd.DataFrame(
        {
            "graph": rows["instance"],
            "nodes": rows["nodes"].astype("int64"),
            "k": [json.loads(params)["k"] for params in rows["instance_params"]],
            "method": rows["method"],
            "is_certified": rows["bound_certified"].notna(),
            "ratio": bound / rows["instance_sha256"].map(best),
        }
    )
    return table.dropna(subset="ratio")


def method_table(found: pd.DataFrame) -> str:
    """Return a Markdown table with a line for each method: geometric means by number of stages."""
    stages = sorted(set(found["k"]))
    graphs = {k: found[found["k"] == k]["graph"].nunique() for k in stages}
    lines = [
        f"| method | bound | {' | '.join(f'k = {k}' for k in stages)} |",
        f"| --- | --- |{' ---: |' * len(stages)}",
    ]
    means = {}
    for method, part in found.groupby("method", sort=False):
        by_k = {k: part[part["k"] == k]["ratio"] for k in stages}
        whole = {k: len(by_k[k]) == graphs[k] for k in stages}
        means[method] = [_mean(by_k[k]) if whole[k] else math.nan for k in stages]
    for method in sorted(means, key=lambda name: sum(map(_or_zero, means[name]))):
        kind = "certified" if found[found["method"] == method]["is_certified"].all() else "claimed"
        cells = " | ".join("" if math.isnan(mean) else f"{mean:.4f}" for mean in means[method])
        lines.append(f"| `{method}` | {kind} | {cells} |")
    lines.append(f"| graphs | | {' | '.join(str(graphs[k]) for k in stages)} |")
    return "\n".join(lines)


def graph_table(found: pd.DataFrame) -> str:
    """Return a Markdown table with a line for each graph: its best certified bound over UB."""
    certified = found[found["is_certified"]]
    best = certified.groupby(["graph", "nodes", "k"])["ratio"].max().unstack("k")
    lines = [
        f"| graph | n | {' | '.join(f'k = {k}' for k in best.columns)} |",
        f"| --- | ---: |{' ---: |' * len(best.columns)}",
    ]
    for (graph, nodes), row in best.iterrows():
        cells = " | ".join(map(_cell, row))
        lines.append(f"| {graph} | {nodes} | {cells} |")
    means = " | ".join(f"{geometric_mean(best[k].dropna()):.4f}" for k in best.columns)
    optimal = " | ".join(str(int((best[k] == 1).sum())) for k in best.columns)
    return "\n".join([*lines, f"| geometric mean | | {means} |", f"| optimal | | {optimal} |"])


def _mean(found: pd.Series) -> float:
    """Return the geometric mean, 0 if a method had no bound above 0 somewhere."""
    return geometric_mean(found) if (found > 0).all() else 0.0


def _or_zero(mean: float) -> float:
    return 0.0 if math.isnan(mean) else mean


def _cell(ratio: float) -> str:
    if math.isnan(ratio):
        return ""
    # Rounded down: nothing else looks like an optimum.
    return "optimal" if ratio == 1 else f"{math.floor(10_000 * ratio) / 10_000:.4f}"


if __name__ == "__main__":
    everything = ratios(checked_results(ResultStore.open(Path(sys.argv[1]))).results)
    is_plain = everything["graph"].str.endswith(PLAIN)
    for title, part in (
        ("With |r| weighting", everything[~is_plain]),
        ("Plain", everything[is_plain]),
    ):
        if len(part):
            print(f"### {title}\n\n{method_table(part)}\n\n{graph_table(part)}\n")
