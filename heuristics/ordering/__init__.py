"""Heuristics for `ordering`."""

from functools import partial

from boundmark.problems.method import Deferred, Method

_heuristic = partial(Method, problem="ordering", kind="heuristic")

METHODS: tuple[Method, ...] = (
    _heuristic(
        name="default-order",
        summary="The model file's own order: Kahn's, the smallest number first ([KAHN62]).",
        run=Deferred("boundmark.heuristics.ordering.constructed:run_default_order"),
    ),
    _heuristic(
        name="bfs-order",
        summary="Breadth first: always the operator that has been executable for longest.",
        run=Deferred("boundmark.heuristics.ordering.constructed:run_bfs_order"),
    ),
    _heuristic(
        name="dfs-order",
        summary="Depth first: always the operator that became executable last.",
        run=Deferred("boundmark.heuristics.ordering.constructed:run_dfs_order"),
    ),
    _heuristic(
        name="greedy-order",
        summary="Greedy: always the operator after which memory holds least.",
        run=Deferred("boundmark.heuristics.ordering.constructed:run_greedy_order"),
    ),
    _heuristic(
        name="brkga-orders",
        summary="Genetic search over priorities of operators ([BRKGA11]).",
        run=Deferred("boundmark.heuristics.ordering.search:run_brkga_orders"),
        params={"population": 100, "generations": 100},
        seeded=True,
    ),
    _heuristic(
        name="reorder",
        summary="Simulated annealing over orders, from the best of the simple methods' orders.",
        run=Deferred("boundmark.heuristics.ordering.search:run_reorder"),
        params={"evaluations": 0},
        seeded=True,
    ),
)
