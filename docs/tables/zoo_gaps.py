"""Print gaps of models' graphs: `python docs/tables/zoo_gaps.py RESULTS`.

`docs/tables/gaps.py` makes a page of what it prints. Only the newest version of each method counts.

For each graph and number of stages, how far the best verified partition of a results folder can be
from the optimum, by the folder's best certified bound. Suites `paper-mtpp/models`, `weekly/zoo` and
`weekly/nasnet` make such folders.
"""

import json
import sys

import pandas as pd
from results_page import by_stages, markdown
from runs import newest_versions, results_in

from boundmark.datasets.zoo import index


def best_values(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the least cost and the best certified bound by `instance` and `k`."""
    rows = newest_versions(rows)
    named = rows.assign(k=[json.loads(params)["k"] for params in rows["instance_params"]])
    return named.groupby(["instance", "k"]).agg(
        cost=("objective", "min"), bound=("bound_certified", "max")
    )


def gap_table(rows: pd.DataFrame) -> str:
    """Return a Markdown table with a line for each graph and a column for each number of stages.

    Graphs of the zoo come first, in the order of its index, then others by their number of nodes.

    Parameters
    ----------
    rows
        Rows of a results folder of suite `weekly/zoo` or `weekly/nasnet`, or a part of it.
    """
    cells = {key: gap_text(*one) for key, one in best_values(rows).iterrows()}
    stages = sorted({k for _, k in cells})
    nodes = rows.groupby("instance")["nodes"].first()
    others = nodes.drop(index(), errors="ignore").sort_values(kind="stable")
    lines = [
        [graph, f"{nodes[graph]:,}", *(cells.get((graph, k), "not measured") for k in stages)]
        for graph in [*(graph for graph in index() if graph in nodes), *others.index]
    ]
    return markdown(["graph", "nodes", *by_stages(stages)], lines)


def gap_text(cost: float, bound: float) -> str:
    """Return how far a cost is above a bound, "none" if there is no bound or no cost."""
    if pd.isna(cost) or pd.isna(bound) or not bound:
        return "none"
    if cost == bound:
        return "optimal"
    gap = 100 * (cost / bound - 1)
    return "< 0.01 %" if gap < 0.005 else f"{gap:.2f} %"


if __name__ == "__main__":
    print(gap_table(results_in(sys.argv[1])))
