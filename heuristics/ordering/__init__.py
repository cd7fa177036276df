"""Heuristics for `ordering`: topological orders, and searches among them."""

from boundmark.heuristics.ordering.methods.bfs_order import BFS_ORDER
from boundmark.heuristics.ordering.methods.brkga_orders import BRKGA_ORDERS
from boundmark.heuristics.ordering.methods.default_order import DEFAULT_ORDER
from boundmark.heuristics.ordering.methods.dfs_order import DFS_ORDER
from boundmark.heuristics.ordering.methods.greedy_order import GREEDY_ORDER
from boundmark.heuristics.ordering.methods.reorder import REORDER
from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = (
    DEFAULT_ORDER,
    BFS_ORDER,
    DFS_ORDER,
    GREEDY_ORDER,
    BRKGA_ORDERS,
    REORDER,
)
