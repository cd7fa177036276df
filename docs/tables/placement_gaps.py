"""Print gaps of placements: `python docs/tables/placement_gaps.py RESULTS`.

`docs/tables/gaps.py` makes a page of what it prints.

For each instance of a results folder of suite `paper-moirai/models`, how far the best schedule
can be from the optimum, by the best certified bound. "Largest" is the largest module into which
`series` divides the model, "outside" the operators in none.
"""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from results_page import markdown
from runs import results_in
from zoo_gaps import gap_text

from boundmark.bounds import checker
from boundmark.bounds.checker.placement.paths import OUTSIDE, Network
from boundmark.bounds.placement.series.chain import WELL_SEARCHED
from boundmark.bounds.placement.series.method import parts_along_chain
from boundmark.problems.placement import PlacementInstance
from boundmark.reports.statistics import geometric_mean
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
    lines = []
    ratios: dict[bool, list[float]] = {True: [], False: []}
    by_place = rows.assign(device=rows["device"].replace("", "its own"))
    for (cluster, name), found in by_place.groupby(["device", "instance"], dropna=False):
        shape = modules[found["instance_sha256"].iloc[0]]
        cost, bound = found["objective"].min(), found["bound_certified"].max()
        best = found[found["objective"] == cost].sort_values("wall_seconds")["method"]
        seconds = found.loc[found["method"] == PROVER, "cpu_seconds"].max()
        if not (pd.isna(cost) or pd.isna(bound) or not bound):
            ratios[shape.are_small].append(cost / bound)
        lines.append(
            [
                name, cluster, f"{found['nodes'].iloc[0]:,}", f"{shape.largest:,}",
                str(shape.outside), best.iloc[0] if len(best) else "", _number(cost),
                _number(bound), gap_text(cost, bound), _number(seconds),
            ]
        )  # fmt: skip
    head = [
        "model", "cluster", ">n", ">largest", ">outside", "best schedule by", ">makespan", ">LB",
        ">gap", ">CPU, s",
    ]  # fmt: skip
    means = [
        _mean("All", ratios[True] + ratios[False]),
        _mean(f"Modules of at most {WELL_SEARCHED} operators, none outside", ratios[True]),
        _mean("Others", ratios[False]),
    ]
    return "\n".join([markdown(head, lines, len(head)), "", *means])


def _number(value: float) -> str:
    return "" if pd.isna(value) else f"{round(value):,}"


def _mean(title: str, ratios: list[float]) -> str:
    if not ratios:
        return f"- {title}: none"
    gap = 100 * (geometric_mean(pd.Series(ratios)) - 1)
    return f"- {title}, n = {len(ratios)}: GM(UB/LB) - 1 = {gap:.2f} %"


def _stored_modules(folder: Path, rows: pd.DataFrame) -> dict[str, Modules]:
    found = {}
    for sha256 in rows["instance_sha256"].unique():
        text = (ResultStore.open(folder).instances / f"{sha256}.json").read_text(encoding="utf-8")
        found[sha256] = modules_of(PlacementInstance.from_json(json.loads(text)))
    return found


if __name__ == "__main__":
    results = results_in(sys.argv[1])
    print(gap_table(results, _stored_modules(Path(sys.argv[1]), results)))
