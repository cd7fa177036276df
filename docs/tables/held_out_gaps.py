"""Print gaps of held-out random graphs: `python docs/tables/held_out_gaps.py RESULTS`.

`docs/tables/gaps.py` makes a page of what it prints. For a results folder of suite
`weekly/held-out`, how near the bounds of `certify` come to the best partitions: geometric means by
weighting, size and number of stages, then each cell, weighted graphs first.
"""

import sys
from pathlib import Path

import pandas as pd
from random_graphs import PLAIN, graph_table, ratios

from boundmark.reports.statistics import geometric_mean
from boundmark.reports.stored.checked_results import checked_results
from boundmark.reports.stored.store import ResultStore

# Up to so many nodes, a graph counts as small.
SMALL = 150


def class_table(found: pd.DataFrame) -> str:
    """Return a Markdown table with a line for each class of graphs: geometric means by k.

    A mean stands only where every graph of the class has a bound.

    Parameters
    ----------
    found
        Rows of one method, as `ratios` of `random_graphs.py` returns them.
    """
    is_plain = found["graph"].str.endswith(PLAIN)
    is_small = found["nodes"] <= SMALL
    stages = sorted(set(found["k"]))
    lines = [
        f"| weights | nodes | graphs | {' | '.join(f'k = {k}' for k in stages)} |",
        f"| --- | ---: | ---: |{' ---: |' * len(stages)}",
    ]
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
            lines.append(f"| {weights} | {nodes} | {len(cells)} | {' | '.join(means)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    everything = ratios(checked_results(ResultStore.open(Path(sys.argv[1]))).results)
    own = everything[everything["method"] == "certify"]
    is_plain = own["graph"].str.endswith(PLAIN)
    print("\n\n".join((class_table(own), graph_table(own[~is_plain]), graph_table(own[is_plain]))))
