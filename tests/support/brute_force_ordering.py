"""The optimum of tiny instances of `ordering`: all orders, each simulated tensor by tensor."""

import itertools
from collections.abc import Iterator, Sequence

from boundmark.problems.ordering import OrderingGraph, OrderingInstance


def instance(
    nodes: int,
    tensors: Sequence[tuple[int, int, Sequence[int]]],
    *,
    kept: Sequence[int] = (),
    parameters: Sequence[int] | None = None,
    total: int | None = None,
    metric: str = "peak",
    in_place: str = "no",
    weights: str = "none",
) -> OrderingInstance:
    """Return an instance in which all that can be overwritten may be.

    Parameters
    ----------
    tensors
        Triples of a size, a producer (-1 for an input) and the consumers.
    """
    writes = [[t for t, row in enumerate(tensors) if row[1] == v] for v in range(nodes)]
    overwrites = [
        tuple(
            t
            for t, (size, producer, consumers) in enumerate(tensors)
            if v in consumers
            and producer >= 0
            and t not in kept
            and len(writes[v]) == 1
            and tensors[writes[v][0]][0] <= size
        )
        for v in range(nodes)
    ]
    parameters = list(parameters or [0] * nodes)
    return OrderingInstance(
        OrderingGraph(
            size=[size for size, _, _ in tensors],  # type: ignore[arg-type]
            producer=[producer for _, producer, _ in tensors],  # type: ignore[arg-type]
            consumers=tuple(tuple(sorted(consumers)) for _, _, consumers in tensors),
            kept=tuple(kept),
            parameter_size=parameters,  # type: ignore[arg-type]
            parameter_total=sum(parameters) if total is None else total,
            overwrites=tuple(overwrites),
            names=tuple(f"v{v}" for v in range(nodes)),
        ),
        metric,
        in_place,
        weights,
    )


def topological_orders(sample: OrderingInstance) -> Iterator[tuple[int, ...]]:
    """Yield all of them."""
    edges = sample.graph.dag.edge_pairs().tolist()
    for order in itertools.permutations(range(sample.nodes)):
        if all(order.index(u) < order.index(w) for u, w in edges):
            yield order


def taken(sample: OrderingInstance, order: Sequence[int]) -> list[int]:
    """Return the memory while each operator runs, by looking at every tensor anew."""
    graph = sample.graph
    found = []
    for at, v in enumerate(order):
        done = set(order[:at])
        there = 0
        for tensor, size in enumerate(graph.size.tolist()):
            producer = int(graph.producer[tensor])
            is_written = producer == v or producer in done or producer == -1
            is_needed = set(graph.consumers[tensor]) - done or tensor in graph.kept or producer == v
            there += size if is_written and is_needed else 0
        if sample.in_place == "yes" and any(
            set(graph.consumers[tensor]) <= done | {v} for tensor in graph.overwrites[v]
        ):
            (output,) = (t for t, producer in enumerate(graph.producer.tolist()) if producer == v)
            there -= int(graph.size[output])
        if sample.weights == "streamed":
            there += int(graph.parameter_size[v])
        if sample.weights == "resident":
            there += graph.parameter_total
        found.append(there)
    return found


def optimum(sample: OrderingInstance) -> int:
    """Return the least maximum, or the least sum, over all topological orders."""
    combine = max if sample.metric == "peak" else sum
    return min(combine(taken(sample, order)) for order in topological_orders(sample))
