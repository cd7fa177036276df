"""Run the programs of the MTPP paper on each solver: `python docs/tables/mtpp_solvers.py FILE`.

Writes one line for each graph, program and solver as CSV, from which `docs/tables/mtpp.py` makes
the tables of docs/results-mtpp.md. Takes up to nine minutes of one core.
"""

import csv
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from boundmark.bounds.mip import PRESOLVERS, SOLVERS
from boundmark.bounds.mip.linear_model import LinearModel
from boundmark.bounds.mip.solving import Search
from boundmark.bounds.pipeline.paper.integer_programs import (
    bottleneck_model,
    exact_columns,
    exact_model,
    simple_bound,
)
from boundmark.datasets.resolve import load_member
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline.graph import PipelineGraph

GRAPHS = (
    "erdos-renyi-1", "erdos-renyi-2", "barabasi-albert-1", "barabasi-albert-2",
    "watts-strogatz-1", "watts-strogatz-2", "stochastic-block-1", "stochastic-block-2",
)  # fmt: skip

SECONDS = 15.0


@dataclass(frozen=True)
class Measured:
    """What one solver made of one program.

    Attributes
    ----------
    claimed
        Lower bound in ticks; empty if the solver has none, or its licence does not cover the model.
    finished
        Whether the solver calls it the optimum.
    presolved_columns, presolved_rows
        What presolve leaves.
    reason
        Why the solver did not run; else empty.
    """

    graph: str
    nodes: int
    edges: int
    program: str
    k: int
    solver: str
    columns: int
    rows: int
    presolved_columns: int | None = None
    presolved_rows: int | None = None
    claimed: float | None = None
    finished: bool | None = None
    tree_nodes: int | None = None
    seconds: float | None = None
    threads: int = 1
    reason: str = ""


def programs() -> Iterator[tuple[str, PipelineGraph, str, int, LinearModel]]:
    """Yield `bottleneck` with 8 stages on every graph, and `exact` on the smallest."""
    for name in GRAPHS:
        graph = load_member(f"regal-style/{name}")
        yield name, graph, "bottleneck", 8, bottleneck_model(graph, 8)
    smallest = load_member(f"regal-style/{GRAPHS[0]}")
    for k in (2, 4, 8):
        yield GRAPHS[0], smallest, "exact", k, exact_model(exact_columns(smallest, k))


def measure(
    name: str, graph: PipelineGraph, program: str, k: int, model: LinearModel, solver: str
) -> Measured:
    """Solve a program for `SECONDS` with one thread, and presolve it once more for its size."""
    given = Measured(
        name, graph.dag.nodes, graph.dag.edges, program, k, solver, model.columns, model.rows
    )
    budget = Budget(SECONDS)
    try:
        outcome = SOLVERS[solver](model, Search(budget, seed=1))
        seconds = budget.spent()
        columns, rows = PRESOLVERS[solver](model)
    except UnsupportedError as error:
        return Measured(**{**asdict(given), "reason": str(error)})
    # As the methods do: `bottleneck` begins with the simple bound.
    known = float(simple_bound(graph, k)) if program == "bottleneck" else float("-inf")
    found = {
        "presolved_columns": columns,
        "presolved_rows": rows,
        "claimed": max(known, outcome.bound),
        "finished": outcome.finished,
        "tree_nodes": outcome.nodes,
        "seconds": round(seconds, 2),
    }
    return Measured(**{**asdict(given), **found})


def main(path: Path) -> None:
    """Write a line as soon as it is measured."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Measured)])
        writer.writeheader()
        for program in programs():
            for solver in SOLVERS:
                writer.writerow(asdict(measure(*program, solver)))
                file.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
