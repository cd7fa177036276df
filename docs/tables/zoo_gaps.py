"""Print gaps of models' graphs: `python docs/tables/zoo_gaps.py RESULTS`.

`docs/tables/gaps.py` makes a page of what it prints.

For each graph and number of stages, how far the best verified partition of a results folder can be
from the optimum, by the folder's best certified bound. Suites `weekly/zoo` and `weekly/nasnet` make
such folders. Only the newest version of each method counts.
"""

import json
import sys
from pathlib import Path

import pandas as pd

from boundmark.datasets.zoo import index
from boundmark.reports.stored.checked_results import checked_results
from boundmark.reports.stored.store import ResultStore


def newest_versions(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of each method's newest version, by instance.

    A folder that went on after a change has several versions of a method.
    """
    versions = rows.groupby(["instance", "instance_params", "method"])["method_version"]
    return rows[rows["method_version"] == versions.transform("max")]


def gap_table(rows: pd.DataFrame) -> str:
    """Return a Markdown table with a line for each graph and a column for each number of stages.

    Graphs of the zoo come first, in the order of its index, then others by their number of nodes.

    Parameters
    ----------
    rows
        Rows of a results folder of suite `weekly/zoo` or `weekly/nasnet`, or a part of it.
    """
    rows = newest_versions(rows)
    named = rows.assign(k=[json.loads(params)["k"] for params in rows["instance_params"]])
    best = named.groupby(["instance", "k"]).agg(
        cost=("objective", "min"), bound=("bound_certified", "max")
    )
    cells = {key: gap_text(one.cost, one.bound) for key, one in best.iterrows()}
    stages = sorted(set(named["k"]))
    lines = [
        f"| graph | nodes | {' | '.join(f'k = {k}' for k in stages)} |",
        f"| --- | ---: |{' ---: |' * len(stages)}",
    ]
    nodes = named.groupby("instance")["nodes"].first()
    others = nodes.drop(index(), errors="ignore").sort_values(kind="stable")
    for graph in [*(graph for graph in index() if graph in nodes), *others.index]:
        shown = " | ".join(cells.get((graph, k), "not measured") for k in stages)
        lines.append(f"| {graph} | {nodes[graph]:,} | {shown} |")
    return "\n".join(lines)


def gap_text(cost: float, bound: float) -> str:
    """Return how far a cost is above a bound, "none" if there is no bound or no cost."""
    if pd.isna(cost) or pd.isna(bound) or not bound:
        return "none"
    if cost == bound:
        return "optimal"
    gap = 100 * (cost / bound - 1)
    return "< 0.01 %" if gap < 0.005 else f"{gap:.2f} %"


if __name__ == "__main__":
    print(gap_table(checked_results(ResultStore.open(Path(sys.argv[1]))).results))
