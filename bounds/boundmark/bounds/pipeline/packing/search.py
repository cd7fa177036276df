"""Searches all connected convex sets for those that weigh more than a front allows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from boundmark.bounds.pipeline.kernels import set_flow, set_search
from boundmark.bounds.pipeline.kernels.set_search import Rule, Stack, TensorGraph
from boundmark.bounds.pipeline.packing.tensors import Tensors, unpacked
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.method import Budget

# Sets found after which a search stops: the weights have to change anyway.
MOST_FOUND = 500

# Steps that the flow of the root before may take instead of a root's own flow, which makes a
# certificate longer by as many amounts as the graph has edges.
STEPS_WITH_OLD_FLOW = 300

# Prices tried for a root's flow, and how far apart the first ones are.
PRICE_TRIALS = 6
PRICE_STEP = 0.1

# Steps between looks at the clock: about a tenth of a second.
STEPS_AT_A_TIME = 100_000


@dataclass(frozen=True, eq=False)
class Task:
    """What is searched for: sets of cost up to the limit that weigh more than the front.

    Attributes
    ----------
    weights
        Of nodes, shape (n,).
    front
        The most that a set may weigh, by units of its cost, shape (limit // unit + 1,).
    """

    tensors: Tensors
    weights: IntArray
    front: IntArray
    unit: int
    limit: int


@dataclass(eq=False)
class Group:
    """Roots that are searched with one flow.

    Attributes
    ----------
    price
        Of a tick, in weight.
    taken
        What tensors take from their ends, by the searched order of nodes.
    """

    roots: list[int]
    price: int
    taken: IntArray


@dataclass(eq=False)
class Outcome:
    """What a search came to.

    Attributes
    ----------
    groups
        All roots, if the search ended.
    found
        Sets that exceed the front and what they cost.
    steps
        As the checker counts them.
    has_ended
        Whether all sets were met, so that there are no others than those found.
    """

    graph: TensorGraph
    groups: list[Group] = field(default_factory=list)
    found: list[tuple[int, int]] = field(default_factory=list)
    steps: int = 0
    has_ended: bool = False

    def searches(self, tensors: Tensors) -> list[dict[str, Any]]:
        """Return the groups in the form in which certificates hold them."""
        return [self._search(group, tensors) for group in self.groups]

    def _search(self, group: Group, tensors: Tensors) -> dict[str, Any]:
        start, edges, amounts = tensors.graph.dag.consumer_start, [], []
        order = [root for each in self.groups for root in each.roots]
        for i, v in enumerate(order):
            first = int(self.graph.end_start[i])
            for j in range(int(start[v + 1] - start[v])):
                amount = -int(group.taken[first + 1 + j])
                if amount:
                    edges.append(int(start[v]) + j)
                    amounts.append(amount)
        by_edge = sorted(range(len(edges)), key=edges.__getitem__)
        return {
            "roots": group.roots,
            "price": group.price,
            "edges": [edges[i] for i in by_edge],
            "amounts": [amounts[i] for i in by_edge],
        }


def search(task: Task, price: int, budget: Budget, most_steps: int) -> Outcome:
    """Search all sets, until there is an end to them, to the time or to the steps.

    Parameters
    ----------
    price
        About what a tick is worth, in weight.
    """
    return _Search(task, price, most_steps).run(budget)


def _order(tensors: Tensors, weights: IntArray) -> list[int]:
    """Return the nodes, those first that are heavy or among expensive tensors.

    To leave such a node out costs most, so that few sets without it are met.
    """
    graph, dag = tensors.graph, tensors.graph.dag
    around = np.zeros(dag.nodes)
    np.add.at(around, dag.targets, graph.transfer[dag.sources])
    producers = np.unique(dag.sources)
    around[producers] += graph.transfer[producers]
    score = weights / max(1.0, float(weights.mean())) + around / max(1.0, float(around.mean()))
    order: list[int] = np.argsort(-score, kind="stable").tolist()
    return order


class _Search:
    """A search under way."""

    def __init__(self, task: Task, price: int, most_steps: int) -> None:
        self.task = task
        self.order = _order(task.tensors, task.weights)
        self.graph = task.tensors.arrays(self.order)
        self.weights = frozen(task.weights[self.order])
        self.front = frozen(task.front)
        self.least = frozen(np.minimum.accumulate(task.front[::-1])[::-1])
        units = np.arange(1, len(task.front) + 1)
        self.largest = np.minimum(units * task.unit - 1, task.limit)
        self.price = price
        self.most_steps = most_steps
        self.stack = _stack(task.tensors.nodes)
        self.outcome = Outcome(self.graph)

    def run(self, budget: Budget) -> Outcome:
        """Search from one root after the other."""
        outcome, counts = self.outcome, self.stack.counts
        rule: Rule | None = None
        for root, node in enumerate(self.order):
            steps, found = int(counts[set_search.STEPS]), int(counts[set_search.FOUND])
            if rule is not None and self._ends(root, rule, STEPS_WITH_OLD_FLOW, budget):
                outcome.groups[-1].roots.append(node)
            else:
                counts[set_search.STEPS], counts[set_search.FOUND] = steps, found
                rule = self._best_rule(root)
                left = self.most_steps - steps
                outcome.groups.append(Group([node], int(rule.scalars[0]), rule.taken))
                if not self._ends(root, rule, left, budget):
                    break
            if counts[set_search.FOUND] > MOST_FOUND:
                break
        else:
            outcome.has_ended = True
        outcome.steps = int(counts[set_search.STEPS])
        for row in range(min(int(counts[set_search.FOUND]), MOST_FOUND)):
            members = unpacked(self.stack.found[row], self.order)
            outcome.found.append((members, int(self.stack.found_cost[row])))
        return outcome

    def _ends(self, root: int, rule: Rule, most_steps: int, budget: Budget) -> bool:
        """Search from a root; return whether that ended within so many steps and the time."""
        counts = self.stack.counts
        last = counts[set_search.STEPS] + most_steps
        set_search.start(root, self.graph, rule, self.stack)
        while not budget.is_spent() and counts[set_search.FOUND] <= MOST_FOUND:
            pause = min(last, counts[set_search.STEPS] + STEPS_AT_A_TIME)
            if set_search.search(pause, self.graph, rule, self.stack):
                return True
            if pause == last:
                return False
        return False

    def _best_rule(self, root: int) -> Rule:
        """Return the price and flow that leave a root's sets the least excess over the front."""
        best, best_gap = None, 0
        low = high = None
        base = int(self.graph.work[root]) // self.task.unit
        price = self.price
        for _ in range(PRICE_TRIALS):
            rule, cost = self._rule(root, price)
            set_search.start(root, self.graph, rule, self.stack)
            gap = int(self.stack.excess[0] - rule.short[min(base, len(rule.short) - 1)])
            if best is None or gap < best_gap:
                best, best_gap = rule, gap
            if self.stack.counts[set_search.DEPTH] < 0:
                best = rule
                break
            # The gap is convex in the price, and this is its slope.
            at = int(np.argmin((self.front - price * self.largest)[base:])) + base
            if cost > self.largest[at]:
                low = price
            else:
                high = price
            if low is None:
                price = int(price / (1 + PRICE_STEP))
            elif high is None:
                price = int(price * (1 + PRICE_STEP)) + 1
            else:
                price = (low + high) // 2
        if best is None:
            raise AssertionError("no price was tried")
        self.price = int(best.scalars[0])
        return best

    def _rule(self, root: int, price: int) -> tuple[Rule, int]:
        """Return the rule for a price, and the cost of a set that has all of the excess."""
        taken = np.zeros(len(self.graph.end), dtype=np.int64)
        left = np.zeros(len(self.order), dtype=np.int64)
        cost = set_flow.split(root, price, self.weights, self.graph, taken, left)
        short = np.minimum.accumulate((self.front - price * self.largest)[::-1])[::-1]
        task = self.task
        scalars = frozen([price, task.unit, task.limit, task.tensors.graph.cache])
        rule = Rule(
            self.weights,
            self.front,
            self.least,
            frozen(short),
            frozen(left),
            frozen(taken),
            scalars,
        )
        return rule, int(cost)


def _stack(nodes: int) -> Stack:
    words = max(1, -(-nodes // 64))
    bits = [np.zeros((nodes + 1, words), dtype=np.uint64) for _ in range(7)]
    vectors = [np.zeros(nodes + 1, dtype=np.int64) for _ in range(5)]
    return Stack(
        *bits,
        *vectors,
        decided=np.zeros((2, words), dtype=np.uint64),
        found=np.zeros((MOST_FOUND, words), dtype=np.uint64),
        found_cost=np.zeros(MOST_FOUND, dtype=np.int64),
        counts=np.zeros(4, dtype=np.int64),
    )
