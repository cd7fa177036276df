"""Print gaps of what tools find: `python docs/tables/todays_tools.py RESULTS`.

RESULTS is a results folder of suite `tools`. `docs/tables/gaps.py` makes a page of the two tables:
partitions and schedules of each tool, how far each is above the best certified bound of its
instance.
"""

import json
import sys
from collections.abc import Iterable, Iterator

import pandas as pd
from results_page import markdown
from runs import results_in
from zoo_gaps import gap_text

# Method, its parameters, and what it is called in tables.
PARTITIONERS = {
    ("uniform", ""): "equal numbers of operators",
    ("pippy", ""): "equal parameters (PiPPy)",
    ("balanced-work", ""): "equal work",
    ("pipedream", ""): "PipeDream's planner",
    ("metis", "alone"): "METIS, made acyclic",
    ("mt-kahypar", "alone"): "Mt-KaHyPar, made acyclic",
    ("metis", ""): "METIS, then local search",
    ("mt-kahypar", ""): "Mt-KaHyPar, then local search",
    ("memetic", ""): "`memetic`",
}
SCHEDULES = {
    "gpipe": "GPipe",
    "1f1b": "1F1B",
    "interleaved-1f1b": "interleaved 1F1B",
    "chimera-direct": "Chimera",
    "zb-h1": "ZB-H1",
    "zb-v": "ZB-V",
    "dualpipe-v": "DualPipeV",
}
COSTS = {"zoo": "roofline", "measured": "measured"}

# Ratios of backward to forward blocks in the names of shapes.
EQUAL = "-f1-b2"


def partition_table(rows: pd.DataFrame) -> str:
    """Return a line for each instance, with the gap of each tool's partition."""
    lines = []
    for costs, graph, given, group in _instances(rows, "pipeline"):
        bound = group["bound_certified"].max()
        found = {
            (row.method, _variant(row.method, row.params)): gap_text(row.objective, bound)
            for row in group.itertuples()
        }
        if costs == "measured":
            # The data set does not say how large an operator's parameters are.
            found.pop(("pippy", ""), None)
        cells = [found.get(tool, "none") for tool in PARTITIONERS]
        lines.append([COSTS[costs], graph, str(given["k"]), f"{bound:,.0f}", *cells])
    return markdown(["costs", "graph", ">k", ">bound", *PARTITIONERS.values()], lines, 2)


def schedule_table(rows: pd.DataFrame) -> str:
    """Return a line for each tool and instance: its makespan, the bound, and the gap."""
    lines = []
    for _, layout, given, group in _instances(rows, "microbatch"):
        bound = group["bound_certified"].max()
        for method, title in SCHEDULES.items():
            for row in group[group["method"] == method].itertuples():
                shape, devices, *_ = layout.split("-")
                ratio = "1 : 2" if layout.endswith(EQUAL) else "1 : 3"
                lines.append(
                    [
                        *(title, shape, devices, str(given["micro_batches"]), ratio),
                        *(f"{row.objective:,.0f}", f"{bound:,.0f}", gap_text(row.objective, bound)),
                    ]
                )
    head = ["schedule", "layout", "devices", "micro-batches", "F : B", "makespan", "bound", "gap"]
    return markdown(head, lines, 2)


def _variant(method: str, params: str) -> str:
    return "alone" if json.loads(params).get("improve") is False else ""


def _instances(
    rows: pd.DataFrame, problem: str
) -> Iterator[tuple[str, str, dict[str, int], pd.DataFrame]]:
    """Yield data set, member, parameters and rows of each instance."""
    own = rows[rows["problem"] == problem]
    for _, group in own.groupby("instance_sha256", sort=False):
        first = group.iloc[0]
        yield first["dataset"], first["instance"], json.loads(first["instance_params"]), group


def tables(rows: pd.DataFrame) -> Iterable[str]:
    """Return both tables."""
    ordered = rows.sort_values(["dataset", "instance", "instance_params"], kind="stable")
    return partition_table(ordered), schedule_table(ordered)


if __name__ == "__main__":
    print("\n\n".join(tables(results_in(sys.argv[1]))))
