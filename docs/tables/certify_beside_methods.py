"""Print `certify` beside its methods: `python docs/tables/certify_beside_methods.py RESULTS`.

For each graph and number of stages of a results folder, such as one of suite
`weekly/certify-beside-methods`, LB/UB of `certify` and of each of its methods alone in the same
time, where UB is the cost of the folder's best partition; and where one of them proves clearly more
than `certify`. Only random graphs count.
"""

import json
import math
import sys

import pandas as pd
from random_graphs import DATASET, mean, ratio_text
from results_page import markdown
from runs import results_in

CERTIFY = "certify"
METHODS = (
    "packing",
    "cut-tree",
    "mip-tree",
    "prefix-bound",
)

# By how much more than `certify` a method has to prove to be counted, as a part.
CLEARLY = 0.003


def ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """Return LB/UB by graph, nodes and k, a column for each method; missing bounds are NaN.

    Only the newest version of a method counts.

    Parameters
    ----------
    rows
        Rows of a results folder.
    """
    rows = rows[rows["dataset"] == DATASET]
    best = rows.groupby("instance_sha256")["objective"].min().astype("float64")
    bounds = rows["bound_certified"].astype("float64")
    table = pd.DataFrame(
        {
            "graph": rows["instance"],
            "nodes": rows["nodes"].astype("int64"),
            "k": [json.loads(params)["k"] for params in rows["instance_params"]],
            "method": rows["method"],
            "ratio": bounds / rows["instance_sha256"].map(best),
        }
    )
    newest = rows.groupby("method")["method_version"].transform("max")
    table = table[table["method"].isin([CERTIFY, *METHODS]) & (rows["method_version"] == newest)]
    found = table.pivot_table("ratio", ["k", "graph", "nodes"], "method", "max")
    return found[[name for name in (CERTIFY, *METHODS) if name in found]]


def cell_table(found: pd.DataFrame) -> str:
    """Return a Markdown table with a line for each cell, and one of geometric means for each k."""
    lines = []
    for k, part in found.groupby(level="k"):
        for (_, graph, nodes), row in part.iterrows():
            lines.append([str(k), graph, str(nodes), *map(ratio_text, row), _best(row)])
        means = (ratio_text(mean(part[name], math.nan)) for name in part)
        lines.append([str(k), "geometric mean", "", *means, ""])
    methods = [f">`{name}`" for name in found]
    head = [">k", "graph", ">n", *methods, "best single method"]
    return markdown(head, lines, len(head))


def summary(found: pd.DataFrame) -> str:
    """Return a sentence: where a single method proves clearly more than `certify`.

    Cells without a bound of `certify` do not count.
    """
    found = found.dropna(subset=[CERTIFY])
    ahead = found.drop(columns=CERTIFY).max(axis=1) / found[CERTIFY] - 1
    more = int((ahead > CLEARLY).sum())
    return (
        f"In {more} of {len(found)} cells, a single method proves more than {100 * CLEARLY:.1f} % "
        f"more than `certify` in the same time; at most {100 * max(ahead.max(), 0):.2f} %."
    )


def _best(row: pd.Series) -> str:
    """Return the best single method, and by how much it proves more or less than `certify`."""
    single = row.drop(CERTIFY)
    if pd.isna(row[CERTIFY]):
        return f"`{single.idxmax()}`"
    ahead = 100 * (single.max() / row[CERTIFY] - 1)
    text = f"`{single.idxmax()}` {ahead:+.2f} %"
    return f"**{text}**" if ahead > 100 * CLEARLY else text


if __name__ == "__main__":
    everything = ratios(results_in(sys.argv[1]))
    print(f"{cell_table(everything)}\n\n{summary(everything)}")
