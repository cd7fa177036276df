"""Print gaps of random graphs: `python docs/tables/random_graphs.py RESULTS`.

`docs/tables/gaps.py` makes a page of what it prints. Only the newest version of each method counts.

For each method of a results folder of suite `paper-mtpp` or `paper-mtpp/small` and each number of
stages, how near its bounds come to the folder's best partitions; and the same for every graph by
its best certified bound. Only random graphs count, those with and without |r| weighting apart. With
`--held-out`, of one of suite `weekly/held-out`, how near the bounds of `certify` come: geometric
means by weighting, size and number of stages, then each cell, weighted graphs first.
"""

import json
import math
import sys

import pandas as pd
from results_page import by_stages, markdown
from runs import newest_versions, results_in

from boundmark.reports.statistics import geometric_mean

DATASET = "regal-style"
PLAIN = "-plain"

# Up to so many nodes, a held-out graph counts as small.
SMALL = 150


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
    rows = newest_versions(rows[rows["dataset"] == DATASET])
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
    means = {}
    for method, part in found.groupby("method", sort=False):
        by_k = {k: part[part["k"] == k]["ratio"] for k in stages}
        whole = {k: len(by_k[k]) == graphs[k] for k in stages}
        means[method] = [mean(by_k[k], 0.0) if whole[k] else math.nan for k in stages]
    lines = []
    for method in sorted(means, key=lambda name: sum(map(_or_zero, means[name]))):
        kind = "certified" if found[found["method"] == method]["is_certified"].all() else "claimed"
        cells = ("" if math.isnan(one) else f"{one:.4f}" for one in means[method])
        lines.append([f"`{method}`", kind, *cells])
    lines.append(["graphs", "", *(str(graphs[k]) for k in stages)])
    return markdown(["method", "bound", *by_stages(stages)], lines, 2)


def graph_table(found: pd.DataFrame) -> str:
    """Return a Markdown table with a line for each graph: its best certified bound over UB."""
    certified = found[found["is_certified"]]
    best = certified.groupby(["graph", "nodes", "k"])["ratio"].max().unstack("k")
    lines = [[graph, str(nodes), *map(ratio_text, row)] for (graph, nodes), row in best.iterrows()]
    means = (f"{geometric_mean(best[k].dropna()):.4f}" for k in best.columns)
    optimal = (str(int((best[k] == 1).sum())) for k in best.columns)
    lines += [["geometric mean", "", *means], ["optimal", "", *optimal]]
    return markdown(["graph", "n", *by_stages(best.columns)], lines)


def class_table(found: pd.DataFrame) -> str:
    """Return a Markdown table with a line for each class of graphs: geometric means by k.

    A mean stands only where every graph of the class has a bound.

    Parameters
    ----------
    found
        Rows of one method, as `ratios` returns them.
    """
    is_plain = found["graph"].str.endswith(PLAIN)
    is_small = found["nodes"] <= SMALL
    stages = sorted(set(found["k"]))
    lines = []
    for weights, is_weights in (("weighted", ~is_plain), ("plain", is_plain)):
        for is_size in (is_small, ~is_small):
            part = found[is_weights & is_size]
            if part.empty:
                continue
            cells = part.pivot_table("ratio", "graph", "k").reindex(columns=stages)
            means = [
                f"{geometric_mean(cells[k]):.3f}" if cells[k].notna().all() else "" for k in stages
            ]
            nodes = f"{part['nodes'].min()} to {part['nodes'].max()}"
            lines.append([weights, nodes, str(len(cells)), *means])
    return markdown(["weights", "nodes", "graphs", *by_stages(stages)], lines)


def mean(found: "pd.Series[float]", without: float) -> float:
    """Return the geometric mean; another value if a bound is missing or not above 0."""
    return geometric_mean(found) if (found > 0).all() else without


def _or_zero(mean: float) -> float:
    return 0.0 if math.isnan(mean) else mean


def ratio_text(ratio: float) -> str:
    """Return a bound over the best cost; empty for none."""
    if math.isnan(ratio):
        return ""
    # Rounded down: nothing else looks like an optimum.
    return "optimal" if ratio == 1 else f"{math.floor(10_000 * ratio) / 10_000:.4f}"


if __name__ == "__main__":
    everything = ratios(results_in(sys.argv[1]))
    is_held_out = sys.argv[2:] == ["--held-out"]
    if is_held_out:
        everything = everything[everything["method"] == "certify"]
        print(class_table(everything), end="\n\n")
    is_plain = everything["graph"].str.endswith(PLAIN)
    for title, part in (
        ("With |r| weighting", everything[~is_plain]),
        ("Plain", everything[is_plain]),
    ):
        if is_held_out:
            print(graph_table(part), end="\n\n")
        elif len(part):
            print(f"### {title}\n\n{method_table(part)}\n\n{graph_table(part)}\n")
