"""The down-sets (ideals) of a graph, when they are few."""

import numpy as np

from boundmark.bounds.pipeline.kernels.ideal_search import Lattice
from boundmark.problems.arrays import frozen
from boundmark.problems.pipeline.graph import PipelineGraph


def lattice(graph: PipelineGraph, limit: int) -> Lattice | None:
    """Return all ideals of a graph, or None if there are more than `limit`."""
    dag = graph.dag
    producers = [dag.producers_of(v).tolist() for v in range(dag.nodes)]
    consumers = [dag.consumers_of(v).tolist() for v in range(dag.nodes)]
    needs = [sum(1 << u for u in nodes) for nodes in producers]
    feeds = [sum(1 << w for w in nodes) for nodes in consumers]
    work, load = graph.work.tolist(), graph.param_load.tolist()
    transfer = [ticks if feeds[v] else 0 for v, ticks in enumerate(graph.transfer.tolist())]

    number = {0: 0}
    ideals = [0]
    ready = [[v for v in range(dag.nodes) if not needs[v]]]
    totals = [(0, 0, 0)]
    step_start, step_node, step_ideal = [0], list[int](), list[int]()
    last_start, last = [0], list[int]()
    # The list grows while it is read, so ideals come by size.
    for i, ideal in enumerate(ideals):
        for v in ready[i]:
            after = ideal | 1 << v
            read_last = [u for u in producers[v] if feeds[u] & ~after == 0]
            if after not in number:
                if len(ideals) == limit:
                    return None
                number[after] = len(ideals)
                ideals.append(after)
                opened = [w for w in consumers[v] if needs[w] & ~after == 0]
                ready.append([w for w in ready[i] if w != v] + opened)
                leaving = totals[i][2] + transfer[v] - sum(transfer[u] for u in read_last)
                totals.append((totals[i][0] + work[v], totals[i][1] + load[v], leaving))
            step_node.append(v)
            step_ideal.append(number[after])
            last += read_last
            last_start.append(len(last))
        step_start.append(len(step_node))

    size = (dag.nodes + 63) // 64 * 8
    members = b"".join(ideal.to_bytes(size, "little") for ideal in ideals)
    works, loads, leavings = zip(*totals, strict=True)
    return Lattice(
        members=frozen(np.frombuffer(members, dtype="<i8")),
        work=frozen(works),
        load=frozen(loads),
        leaving=frozen(leavings),
        step_start=frozen(step_start),
        step_node=frozen(step_node),
        step_ideal=frozen(step_ideal),
        last_start=frozen(last_start),
        last=frozen(last),
        transfer=frozen(transfer),
        producer_start=dag.producer_start,
        producers=dag.producers,
        consumer_start=dag.consumer_start,
        consumers=dag.targets,
    )
