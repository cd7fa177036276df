"""Print gaps of models' graphs: `python docs/tables/zoo_gaps.py RESULTS`.

`docs/tables/gaps.py` makes a page of what it prints. Only the newest version of each method counts.

For each graph and number of stages, how far the best verified partition of a results folder can be
from the optimum, by the folder's best certified bound. Suites `paper-mtpp/models`, `weekly/zoo` and
`weekly/nasnet` make such folders. With `--training`, of one of suite `weekly/training`, costs and
gaps with gradients as nodes of their own and folded into the forward pass.
"""

import json
import sys

import pandas as pd
from results_page import by_stages, markdown
from runs import newest_versions, results_in

from boundmark.datasets.zoo import index

FORMS = ("separate", "folded")

# Ticks of a graph's costs, which are nanoseconds, in a millisecond.
MILLISECOND = 10**6


def best_values(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the least cost and the best certified bound by `instance`, `k` and `form`."""
    rows = newest_versions(rows)
    given = [json.loads(params) for params in rows["instance_params"]]
    named = rows.assign(
        k=[one["k"] for one in given], form=[one.get("backward", FORMS[0]) for one in given]
    )
    return named.groupby(["instance", "k", "form"]).agg(
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
    cells = {(graph, k): gap_text(*one) for (graph, k, _), one in best_values(rows).iterrows()}
    stages = sorted({k for _, k in cells})
    nodes = rows.groupby("instance")["nodes"].first()
    others = nodes.drop(index(), errors="ignore").sort_values(kind="stable")
    lines = [
        [graph, f"{nodes[graph]:,}", *(cells.get((graph, k), "not measured") for k in stages)]
        for graph in [*(graph for graph in index() if graph in nodes), *others.index]
    ]
    return markdown(["graph", "nodes", *by_stages(stages)], lines)


def training_table(rows: pd.DataFrame) -> str:
    """Return a Markdown table with a line for each graph and number of stages, and both forms.

    Parameters
    ----------
    rows
        Rows of a results folder of suite `weekly/training`, or a part of it.
    """
    best = best_values(rows)
    found = {key: [_milliseconds(one["cost"]), gap_text(*one)] for key, one in best.iterrows()}
    lines = [
        [graph, str(k), *(x for form in FORMS for x in found.get((graph, k, form), MISSING))]
        for graph in index()
        for k in sorted({k for name, k, _ in found if name == graph})
    ]
    head = ["graph", "k", *(text for form in FORMS for text in (f"{form}: ms", "gap"))]
    return markdown(head, lines)


MISSING = ("not measured", "")


def _milliseconds(cost: float) -> str:
    return "none" if pd.isna(cost) else f"{cost / MILLISECOND:,.3f}"


def gap_text(cost: float, bound: float) -> str:
    """Return how far a cost is above a bound, "none" if there is no bound or no cost."""
    if pd.isna(cost) or pd.isna(bound) or not bound:
        return "none"
    if cost == bound:
        return "optimal"
    gap = 100 * (cost / bound - 1)
    return "< 0.01 %" if gap < 0.005 else f"{gap:.2f} %"


if __name__ == "__main__":
    table = training_table if sys.argv[2:] == ["--training"] else gap_table
    print(table(results_in(sys.argv[1])))
