"""Print gaps of placements: `python docs/tables/placement_gaps.py RESULTS`.

`docs/tables/gaps.py` makes a page of what it prints.

For each instance of a results folder of suite `paper-moirai/models`, how far the best schedule
can be from the optimum, by the best certified bound. "Largest" is the largest module into which
`series` divides the model, "outside" the operators in none.
"""

import json
import math
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from boundmark.bounds import checker
from boundmark.bounds.checker.placement.paths import OUTSIDE, Network
from boundmark.bounds.placement.series.chain import WELL_SEARCHED
from boundmark.bounds.placement.series.method import parts_along_chain
from boundmark.problems.placement import PlacementInstance
from boundmark.reports.stored.checked_results import checked_results
from boundmark.reports.stored.store import ResultStore

# The method whose processor time is shown.
PROVER = "placement-certify"


class Modules(NamedTuple):
    """How a model falls into modules: operators of the largest one, and those in none."""

    largest: int
    outside: int

    @property
    def are_small(self) -> bool:
        """Whether all operators are in modules that searches mostly master, or between them."""
        return self.largest <= WELL_SEARCHED and not self.outside


def modules_of(instance: PlacementInstance) -> Modules:
    """Return how `series` divides an instance."""
    read = checker.check_instance(instance.to_json())
    parts = parts_along_chain(instance, read, Network(read))
    inside = {v for part in parts for v in [*part.body, part.last]} - {OUTSIDE}
    return Modules(max(len(part.body) for part in parts), instance.nodes - len(inside))


def gap_table(rows: pd.DataFrame, modules: dict[str, Modules]) -> str:
    """Return a Markdown table with a line for each instance, and the mean gaps below it.

    Parameters
    ----------
    rows
        Rows of a results folder of suite `paper-moirai/models`, or a part of it.
    modules
        By the instance's hash.
    """
    lines = [
        "| model | cluster | n | largest | outside | best schedule by | makespan | LB | gap | CPU, s |",  # noqa: E501
        "| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    ratios: dict[bool, list[float]] = {True: [], False: []}
    by_place = rows.assign(device=rows["device"].replace("", "its own"))
    for (cluster, name), found in by_place.groupby(["device", "instance"], dropna=False):
        shape = modules[found["instance_sha256"].iloc[0]]
        cost, bound = found["objective"].min(), found["bound_certified"].max()
        best = found[found["objective"] == cost].sort_values("wall_seconds")["method"]
        seconds = found.loc[found["method"] == PROVER, "cpu_seconds"].max()
        gap = "none"
        if not (pd.isna(cost) or pd.isna(bound) or not bound):
            ratios[shape.are_small].append(cost / bound)
            gap = "optimal" if cost == bound else f"{100 * (cost / bound - 1):.2f} %"
        lines.append(
            f"| {name} | {cluster} | {found['nodes'].iloc[0]:,} | {shape.largest:,} "
            f"| {shape.outside} | {best.iloc[0] if len(best) else ''} | {_number(cost)} "
            f"| {_number(bound)} | {gap} | {_number(seconds)} |"
        )
    lines += ["", _mean("All", ratios[True] + ratios[False])]
    lines.append(_mean(f"Modules of at most {WELL_SEARCHED} operators, none outside", ratios[True]))
    lines.append(_mean("Others", ratios[False]))
    return "\n".join(lines)


def _number(value: float) -> str:
    return "" if pd.isna(value) else f"{round(value):,}"


def _mean(title: str, ratios: list[float]) -> str:
    if not ratios:
        return f"- {title}: none"
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"- {title}, n = {len(ratios)}: GM(UB/LB) - 1 = {100 * (mean - 1):.2f} %"


def _stored_modules(store: ResultStore, rows: pd.DataFrame) -> dict[str, Modules]:
    found = {}
    for sha256 in rows["instance_sha256"].unique():
        text = (store.instances / f"{sha256}.json").read_text(encoding="utf-8")
        found[sha256] = modules_of(PlacementInstance.from_json(json.loads(text)))
    return found


if __name__ == "__main__":
    opened = ResultStore.open(Path(sys.argv[1]))
    results = checked_results(opened).results
    print(gap_table(results, _stored_modules(opened, results)))
