"""Orders that are built operator by operator, and the methods that report one of them.

`default-order` reports the model file's own order, as far as that is topological ([KAHN62]).
"""

from collections import deque
from collections.abc import Callable, Iterator

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag
from boundmark.problems.method import Budget, Progress
from boundmark.problems.ordering import ExecutionOrder, OrderingInstance


def _reporting(
    construct: Callable[[OrderingInstance], IntArray],
) -> Callable[[OrderingInstance, Budget, int, Progress], None]:
    """Return the method that reports the order that a function constructs."""

    def run(instance: OrderingInstance, budget: Budget, seed: int, progress: Progress) -> None:
        progress.solution(ExecutionOrder(construct(instance)))

    return run


def breadth_first(dag: Dag) -> IntArray:
    """Return the order that always takes the operator that has been executable for longest."""
    return _by_turn(dag, is_last=False)


def depth_first(dag: Dag) -> IntArray:
    """Return the order that always takes the operator that became executable last.

    Of those that became executable together, the one with the smallest number comes first.
    """
    return _by_turn(dag, is_last=True)


def _by_turn(dag: Dag, *, is_last: bool) -> IntArray:
    missing = [len(dag.producers_of(v)) for v in range(dag.nodes)]
    sources = [v for v in range(dag.nodes) if not missing[v]]
    waiting = deque(reversed(sources) if is_last else sources)
    order = []
    while waiting:
        v = waiting.pop() if is_last else waiting.popleft()
        order.append(v)
        opened = []
        for w in dag.consumers_of(v).tolist():
            missing[w] -= 1
            if not missing[w]:
                opened.append(w)
        waiting.extend(reversed(opened) if is_last else opened)
    return frozen(order)


def smallest_increase(instance: OrderingInstance) -> IntArray:
    """Return the order that always takes the operator after which memory holds least.

    Of equal ones, the operator that needs least while it runs comes first, then the smallest
    number.
    """
    graph = instance.graph
    size, kept = graph.size.tolist(), set(graph.kept)
    left = [len(row) + (t in kept) for t, row in enumerate(graph.consumers)]
    missing = [len(graph.dag.producers_of(v)) for v in range(graph.nodes)]
    ready = [v for v in range(graph.nodes) if not missing[v]]
    running = [
        sum(size[t] for t in row) + extra
        for row, extra in zip(graph.writes, instance.workspace.tolist(), strict=True)
    ]

    def key(v: int) -> tuple[int, int, int]:
        leaves = sum(size[t] for t in graph.writes[v] if left[t])
        freed = sum(size[t] for t in graph.reads[v] if left[t] == 1)
        return leaves - freed, running[v], v

    order = []
    while ready:
        v = min(ready, key=key)
        ready.remove(v)
        order.append(v)
        for tensor in graph.reads[v]:
            left[tensor] -= 1
        for w in graph.dag.consumers_of(v).tolist():
            missing[w] -= 1
            if not missing[w]:
                ready.append(w)
    return frozen(order)


def constructed(instance: OrderingInstance) -> Iterator[IntArray]:
    """Yield the orders of all simple methods."""
    dag = instance.graph.dag
    yield dag.topological_order
    yield depth_first(dag)
    yield breadth_first(dag)
    yield smallest_increase(instance)


run_default_order = _reporting(lambda instance: instance.graph.dag.topological_order)
run_bfs_order = _reporting(lambda instance: breadth_first(instance.graph.dag))
run_dfs_order = _reporting(lambda instance: depth_first(instance.graph.dag))
run_greedy_order = _reporting(smallest_increase)
