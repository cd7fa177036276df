"""The memory of orders from operator to operator, for instances in which the order matters."""

import pandas as pd

from boundmark.problems.ordering import ExecutionOrder, OrderingInstance
from boundmark.problems.ordering.measures import memory_parts
from boundmark.reports.ordering.tables.savings import best_orders
from boundmark.reports.problem_report import ProblemResults
from boundmark.reports.stored.parsed import read_parsed
from boundmark.reports.tables.rows import rows

MOST_DRAWINGS = 8

COLUMNS = ["instance_sha256", "order", "step", "memory"]


def timeline_table(results: ProblemResults, savings: pd.DataFrame) -> pd.DataFrame:
    """Return the memory while each operator runs, in the default order and in the best one.

    Of each model only one instance is there, that in which most is saved, and of all models those
    with the most to save, at most `MOST_DRAWINGS`.

    Returns
    -------
    pandas.DataFrame
        Columns `instance_sha256`, `order` (``"default"`` or ``"best"``), `step` from 0, `memory`.
    """
    best = best_orders(savings[savings["saved"] > 0])
    by_saving = best.sort_values("saved", ascending=False, kind="stable")
    chosen = by_saving.drop_duplicates(["dataset", "instance"]).head(MOST_DRAWINGS)
    found = []
    store = results.store
    for row in rows(chosen.sort_index()):
        instance = read_parsed(store.instances, row.instance_sha256, OrderingInstance.from_json)
        solution = read_parsed(store.solutions, row.solution_sha256, ExecutionOrder.from_json)
        if instance is None or solution is None:
            continue
        default = ExecutionOrder(instance.graph.dag.topological_order)
        for name, order in (("default", default), ("best", solution)):
            found += [
                (row.instance_sha256, name, step, memory)
                for step, memory in enumerate(_memory(instance, order))
            ]
    return pd.DataFrame(found, columns=COLUMNS)


def _memory(instance: OrderingInstance, order: ExecutionOrder) -> list[int]:
    return [taken.total for taken in memory_parts(instance, order)]
