"""Print gaps of graphs of training in both forms: `python docs/tables/training_gaps.py RESULTS`.

`docs/tables/gaps.py` makes a page of what it prints.

For each graph and number of stages of a results folder of suite `weekly/training`, the cost of the
best verified partition, with gradients as nodes of their own and folded into the forward pass, and
how far it can be from the optimum by the best certified bound. Only the newest version of each
method counts.
"""

import json
import sys
from pathlib import Path

import pandas as pd
from results_page import markdown
from zoo_gaps import gap_text, newest_versions

from boundmark.datasets.zoo import index
from boundmark.reports.stored.checked_results import checked_results
from boundmark.reports.stored.store import ResultStore

FORMS = ("separate", "folded")

# Ticks of a graph's costs, which are nanoseconds, in a millisecond.
MILLISECOND = 10**6


def table(rows: pd.DataFrame) -> str:
    """Return a Markdown table with a line for each graph and number of stages.

    Parameters
    ----------
    rows
        Rows of a results folder of suite `weekly/training`, or a part of it.
    """
    rows = newest_versions(rows)
    given = [json.loads(params) for params in rows["instance_params"]]
    named = rows.assign(
        k=[one["k"] for one in given], form=[one.get("backward", FORMS[0]) for one in given]
    )
    best = named.groupby(["instance", "k", "form"]).agg(
        cost=("objective", "min"), bound=("bound_certified", "max")
    )
    lines = []
    for graph in index():
        for k in sorted(set(named.loc[named["instance"] == graph, "k"])):
            cells = []
            for form in FORMS:
                key = (graph, k, form)
                found = best.loc[key] if key in best.index else None
                cells += ["not measured", ""] if found is None else _cells(found)
            lines.append([graph, str(k), *cells])
    head = ["graph", "k", *(text for form in FORMS for text in (f"{form}: ms", "gap"))]
    return markdown(head, lines)


def _cells(found: "pd.Series[float]") -> list[str]:
    shown = "none" if pd.isna(found["cost"]) else f"{found['cost'] / MILLISECOND:,.3f}"
    return [shown, gap_text(found["cost"], found["bound"])]


if __name__ == "__main__":
    print(table(checked_results(ResultStore.open(Path(sys.argv[1]))).results))
