"""Measure random orders: `python docs/tables/memorianova_random_orders.py`.

[MEMORIANOVA24] compares its orders with "the widely used random execution strategy". Here it is
Kahn's algorithm with a random choice among the executable operators. Writes
`docs/tables/memorianova/random_orders.csv`, with what a number of such orders of each model of
`paper-memorianova/ordering` take in memory.
"""

from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import pandas as pd

from boundmark.benchmarks.solving.model import named_instance
from boundmark.problems.dag import Dag
from boundmark.problems.ordering.order import memory_while_running

DATA = Path(__file__).resolve().parent / "memorianova" / "random_orders.csv"

ORDERS = 1000
SEED = 1

MODELS = (
    "onnx-light/inception-v1", "onnx-light/inception-v2", "zoo/inception-v3",
    "onnx-light/squeezenet", "onnx-light/shufflenet", "onnx-light/densenet121",
    "onnx-light/resnet50", "zoo/mobilenet-v2", "zoo/regnet-y-16gf", "zoo/unet", "zoo/bert-base",
)  # fmt: skip


def random_order(dag: Dag, random: Random) -> list[int]:
    """Return a topological order, each operator drawn from those that can run."""
    missing = [len(dag.producers_of(v)) for v in range(dag.nodes)]
    ready = [v for v in range(dag.nodes) if not missing[v]]
    order = []
    while ready:
        at = random.randrange(len(ready))
        ready[at], ready[-1] = ready[-1], ready[at]
        order.append(ready.pop())
        for w in dag.consumers_of(order[-1]).tolist():
            missing[w] -= 1
            if not missing[w]:
                ready.append(w)
    return order


def measured(model: str, orders: int = ORDERS, seed: int = SEED) -> list[dict[str, Any]]:
    """Return mean, least and most of the peak and of the sum of random orders, in bytes."""
    instance: Any = named_instance(model, {}, "ordering").instance
    random = Random(seed)
    taken = [
        memory_while_running(
            instance.graph,
            instance.workspace,
            instance.overwrites,
            random_order(instance.dag, random),
        )
        for _ in range(orders)
    ]
    found = {"peak": [max(one) for one in taken], "sum": [sum(one) for one in taken]}
    return [
        {
            "model": model.partition("/")[2], "metric": metric, "orders": orders, "seed": seed,
            "mean": round(fmean(values)), "least": min(values), "most": max(values),
        }
        for metric, values in found.items()
    ]  # fmt: skip


if __name__ == "__main__":
    DATA.parent.mkdir(exist_ok=True)
    pd.DataFrame([row for model in MODELS for row in measured(model)]).to_csv(DATA, index=False)
