"""Heuristics for `ordering`."""

from boundmark.problems.method import Deferred, Method

DEFAULT_ORDER = Method(
    name="default-order",
    problem="ordering",
    kind="heuristic",
    summary="The model file's own order: Kahn's, the smallest number first ([KAHN62]).",
    run=Deferred("boundmark.heuristics.ordering.constructed:run_default_order"),
)

BFS_ORDER = Method(
    name="bfs-order",
    problem="ordering",
    kind="heuristic",
    summary="Breadth first: always the operator that has been executable for longest.",
    run=Deferred("boundmark.heuristics.ordering.constructed:run_bfs_order"),
)

DFS_ORDER = Method(
    name="dfs-order",
    problem="ordering",
    kind="heuristic",
    summary="Depth first: always the operator that became executable last.",
    run=Deferred("boundmark.heuristics.ordering.constructed:run_dfs_order"),
)

GREEDY_ORDER = Method(
    name="greedy-order",
    problem="ordering",
    kind="heuristic",
    summary="Greedy: always the operator after which memory holds least.",
    run=Deferred("boundmark.heuristics.ordering.constructed:run_greedy_order"),
)

BRKGA_ORDERS = Method(
    name="brkga-orders",
    problem="ordering",
    kind="heuristic",
    summary="Genetic search over priorities of operators ([BRKGA11]).",
    run=Deferred("boundmark.heuristics.ordering.search:run_brkga_orders"),
    params={"population": 100, "generations": 100},
    seeded=True,
)

REORDER = Method(
    name="reorder",
    problem="ordering",
    kind="heuristic",
    summary="Simulated annealing over orders, from the best of the simple methods' orders.",
    run=Deferred("boundmark.heuristics.ordering.search:run_reorder"),
    params={"evaluations": 0},
    seeded=True,
)

METHODS: tuple[Method, ...] = (
    DEFAULT_ORDER,
    BFS_ORDER,
    DFS_ORDER,
    GREEDY_ORDER,
    BRKGA_ORDERS,
    REORDER,
)
