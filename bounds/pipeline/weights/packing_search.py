"""Proofs that no stage weighs more than 1: a search of all connected convex sets of nodes.

The sets that weigh more than a front allows, by their cost, are looked for. If there are none, no
packing of sets that costs at most the threshold weighs too much.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from boundmark.bounds.checker.pipeline.limits import (
    MOST_PACKING_STEPS,
    SPLIT,
    flow_steps,
    plan_steps,
)
from boundmark.bounds.pipeline.flows.minimum_cuts import transfers_around
from boundmark.bounds.pipeline.weights import set_search
from boundmark.bounds.pipeline.weights.cut_trees import Ends
from boundmark.bounds.pipeline.weights.pool import Front, Pool, pack, unit_of
from boundmark.bounds.pipeline.weights.set_search import Rule, Stack, TensorFlow
from boundmark.bounds.pipeline.weights.tensors import (
    BitSets,
    TensorGraph,
    Tensors,
    bits_of,
    packed,
    renumbered,
    unpacked,
)
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.method import Budget
from boundmark.problems.pipeline.graph import PipelineGraph


@dataclass(frozen=True)
class SearchSettings:
    """Settings of the search for sets that weigh too much, and of the proofs made of it.

    Attributes
    ----------
    most_found
        Number of sets found after which a search stops: the weights have to change anyway.
    found_growth
        A search that has found a set stops when it has taken this many times the steps up to it.
    steps_with_last_flow
        Steps that a search may take with the last flow before it gets a new one. A new flow makes
        the certificate longer by as many amounts as the graph has edges.
    steps_with_own_flow
        Steps that a search may take with a new flow before its sets are split in two, or a part of
        all steps so far if that is more.
    """

    most_found: int = 500
    found_growth: float = 2.0
    steps_with_last_flow: int = 3_000
    steps_with_own_flow: int = 10_000


# No price is larger than the first one by more than this factor, so that prices of all costs stay
# within 64 bits (see `whole_of`).
LARGEST_PRICE_FACTOR = 4


def allowance(front: Front, most: int) -> IntArray | None:
    """Return the allowed weight of sets for each cost in units; None if known sets exceed it.

    Sets of at most half the units may weigh a little more than those that are known; larger ones,
    as much as is left by the heaviest packing beside them.
    """
    units = len(front.weights) - 1
    half = units // 2
    known = np.maximum.accumulate(front.weights)
    # Sets of half the units or less get half of the slack of the heaviest packing: then few new
    # ones matter, and larger ones hardly lose by it.
    more = 0.5 * max(0.0, most / front.most - 1.0)
    small = known.copy()
    small[half + 1 :] = 0
    small += (small * more).astype(np.int64)
    packed, last = np.zeros_like(small), np.zeros_like(small)
    pack(small, packed, last)
    large = most - packed[::-1]
    if known[0] or packed[units] > most or (large < known)[half + 1 :].any():
        return None
    small[half + 1 :] = large[half + 1 :]
    return small


@dataclass(frozen=True, eq=False)
class Attempt:
    """The result of an attempt to refute a threshold.

    Attributes
    ----------
    payload
        The proof, but for threshold and whether parameters are loaded; None if there is none.
    found
        Sets that were not known, and are heavier than the proof allows.
    steps
        Steps of trees and the search through all sets, as the checker counts; if the search was not
        ended, about.
    """

    payload: dict[str, Any] | None
    found: list[tuple[int, int]]
    steps: int


@dataclass(frozen=True, eq=False)
class Task:
    """Input of a search for sets up to a cost that weigh more than the front.

    Attributes
    ----------
    weights
        Weights of nodes, shape (n,).
    front
        The most that a set may weigh, by units of its cost, shape (limit // unit + 1,).
    """

    tensors: Tensors
    weights: IntArray
    front: IntArray
    unit: int
    limit: int
    settings: SearchSettings = SearchSettings()


@dataclass(frozen=True, eq=False)
class Refuter:
    """Prover that k stages of a given cost cannot hold all nodes, with given weights.

    Attributes
    ----------
    pool
        The sets that are known.
    most_steps
        Largest number of steps that checking a proof may take.
    """

    tensors: Tensors
    pool: Pool
    k: int
    most_steps: int = MOST_PACKING_STEPS
    settings: SearchSettings = SearchSettings()

    def attempt(
        self, weights: IntArray, limit: int, budget: Budget, ends: Ends | None = None
    ) -> Attempt | None:
        """Try to refute a threshold; return None if known sets make that impossible.

        Sets that cost half the limit or less come first: they decide what larger ones may weigh.
        """
        unit = unit_of(limit)
        units = limit // unit
        total, stages, spent = int(weights.sum()), self.k, 0
        if ends is not None:
            total, stages, spent = total - sum(ends.most), stages - 2, ends.steps
        most = (total - 1) // stages
        front = allowance(Front.of(self.pool, weights, unit, units), most)
        if front is None:
            return None
        price = max(1, int(1.1 * most / max(1, limit)))
        half = units // 2
        small = Task(
            self.tensors, weights, front[: half + 1], unit, (half + 1) * unit - 1, self.settings
        )
        whole = Task(self.tensors, weights, front, unit, limit, self.settings)
        for task in (small, whole):
            outcome = Search(task, price).run(budget, self.most_steps - spent)
            if outcome.found or not outcome.has_ended:
                return Attempt(None, outcome.found, spent + outcome.estimate)
        payload = {
            "unit": unit,
            "weights": weights.tolist(),
            "front": front.tolist(),
            "order": outcome.order,
            "flows": outcome.flows,
            "plan": outcome.plan,
            "ends": [] if ends is None else ends.proofs,
        }
        return Attempt(payload, [], spent + outcome.steps)


def _order(tensors: Tensors, weights: IntArray) -> list[int]:
    """Return the nodes in the order of the search: heavy ones with expensive tensors first.

    To leave such a node out costs most, so that few sets without it are met.
    """
    around = transfers_around(tensors.graph)
    weight, moved = (values / max(1.0, float(values.mean())) for values in (weights, around))
    score = weight + 2.0 * moved
    order: list[int] = np.argsort(-score, kind="stable").tolist()
    return order


class Search:
    """A search of all sets, and what it has found.

    Parameters
    ----------
    price
        About what a tick is worth, in weight.

    Attributes
    ----------
    order
        Nodes are numbered in the order in which they are roots.
    flows, plan
        The search as certificates hold it, if it ended. The plan says for all sets from one root,
        and then for those from the next, which flow they are searched with; or `SPLIT`, followed
        by the plans for those with the first neighbour inside, and for the others.
    found
        Sets that exceed the front, and what they cost.
    steps
        As the checker counts them.
    estimate
        How many steps all roots take, judged by those that are done.
    has_ended
        Whether all sets were met, so that no others exceed the front.
    rule
        That of the last flow.
    """

    def __init__(self, task: Task, price: int) -> None:
        self.order = _order(task.tensors, task.weights)
        self.flows: list[dict[str, Any]] = []
        self.plan: list[int] = []
        self.found: list[tuple[int, int]] = []
        self.steps = self.estimate = 0
        self.has_ended = False
        self.task = task
        self.tensors = Tensors.of(renumbered(task.tensors.graph, self.order))
        self.graph = self.tensors.arrays()
        self.edges = _edges(task.tensors.graph, self.order, self.graph)
        self.weights = frozen(task.weights[self.order])
        self.front = frozen(task.front)
        self.least = frozen(np.minimum.accumulate(task.front[::-1])[::-1])
        units = np.arange(1, len(task.front) + 1)
        self.largest = frozen(np.minimum(units * task.unit - 1, task.limit))
        self.stack = _stack(self.tensors.nodes, task.settings)
        self.flow = TensorFlow(self.graph, self.weights)
        self.rule, _ = self._rule(price, frozen(np.zeros(len(self.order), dtype=np.int64)))
        self.largest_price = LARGEST_PRICE_FACTOR * price
        self.is_in_flows = False
        levels = 1 + int(np.count_nonzero(np.diff(task.front)))
        self.flow_steps = flow_steps(self.tensors.nodes, task.tensors.graph.dag.edges, levels)
        self.entry_steps = plan_steps(self.tensors.nodes)
        self.start_steps = 0

    def run(self, budget: Budget, most_steps: int) -> "Search":
        """Search root by root until all are done, the time is up or the steps are spent."""
        counts = self.stack.counts
        waiting = [(1 << root, (1 << root) - 1) for root in reversed(range(len(self.order)))]
        last = math.inf
        while waiting and self.steps <= most_steps and not budget.is_spent():
            inside, outside = waiting.pop()
            outside = self.tensors.kept_out(inside, outside)
            self.steps += self.entry_steps
            if self._ends(inside, outside):
                self.plan.append(self._flow())
                self.steps += int(counts[set_search.STEPS])
            else:
                self.plan.append(SPLIT)
                self.steps += self.start_steps
                waiting += self._halves(inside, outside)
            if counts[set_search.FOUND] and math.isinf(last):
                last = self.task.settings.found_growth * self.steps
            if counts[set_search.FOUND] > self.task.settings.most_found or self.steps > last:
                break
        self.has_ended = not waiting and self.steps <= most_steps
        roots = len(self.order)
        begun = sum(inside & (inside - 1) == 0 for inside, _ in waiting)
        self.estimate = self.steps * roots // max(1, roots - begun)
        self._keep_found()
        return self

    def _keep_found(self) -> None:
        for row in range(
            min(int(self.stack.counts[set_search.FOUND]), self.task.settings.most_found)
        ):
            members = unpacked(self.stack.found[row])
            in_graph = sum(1 << self.order[i] for i in bits_of(members))
            self.found.append((in_graph, int(self.stack.found_cost[row])))

    def _ends(self, inside: int, outside: int) -> bool:
        """Search sets with the last flow or a new one; return whether few steps suffice."""
        if self._search(inside, outside, self.task.settings.steps_with_last_flow):
            return True
        self.rule = self._best_rule(inside, outside)
        self.is_in_flows = False
        part = int(0.002 * self.steps)
        return self._search(inside, outside, max(self.task.settings.steps_with_own_flow, part))

    def _search(self, inside: int, outside: int, most_steps: int) -> bool:
        """Search sets by the current rule; return whether it ends within the steps."""
        self._start(inside, outside)
        self.start_steps = int(self.stack.counts[set_search.STEPS])
        pause = self.start_steps + most_steps
        return bool(set_search.search(pause, self.graph, self.rule, self.stack))

    def _start(self, inside: int, outside: int) -> None:
        words = packed((inside, outside), self.tensors.nodes)
        self.stack.counts[set_search.STEPS] = 0
        set_search.start(words[0], words[1], self.graph, self.rule, self.stack)

    def _halves(self, inside: int, outside: int) -> list[tuple[int, int]]:
        """Split the sets by whether they contain the first neighbour."""
        near = self.tensors.near_to(inside) & ~outside
        node = (near & -near).bit_length() - 1
        joined = self.tensors.hull(inside, node)
        halves = [(inside, outside | 1 << node)]
        return halves if joined & outside else [*halves, (joined, outside)]

    def _best_rule(self, inside: int, outside: int) -> Rule:
        """Return the rule whose price and flow leave the least excess over the front."""
        sides = np.zeros(len(self.order), dtype=np.int64)
        sides[list(bits_of(inside))], sides[list(bits_of(outside))] = 1, -1
        price, low, high = int(self.rule.scalars[0]), 0, 0
        best, best_gap = self.rule, None
        for _ in range(6):
            self.rule, cost = self._rule(price, frozen(sides))
            self._start(inside, outside)
            if self.stack.counts[set_search.DEPTH] < 0:
                return self.rule
            first = int(self.stack.work[0] + self.stack.cut[0]) // self.task.unit
            # By how much the heaviest set may exceed the front is convex in the price.
            worst = int(self.rule.short[first])
            gap = int(self.stack.excess[0]) - worst
            if best_gap is None or gap < best_gap:
                best, best_gap = self.rule, gap
            at = set_search.first_short(worst, price, first, self.front, self.largest)
            if cost > self.largest[at]:
                low = price
            else:
                high = price
            if low and high:
                price = (low + high) // 2
            else:
                price = int(price * 1.1) + 1 if low else int(price / 1.1)
            price = min(price, self.largest_price)
        return best

    def _rule(self, price: int, sides: IntArray) -> tuple[Rule, int]:
        """Return the rule for a price, and the cost of a set that attains the excess."""
        cost = self.flow.split(price, sides)
        left, taken = frozen(self.flow.left), frozen(self.flow.taken)
        short = np.empty_like(self.front)
        set_search.fill_short(price, self.front, self.largest, short)
        short.flags.writeable = False
        task = self.task
        scalars = frozen([price, task.unit, task.limit, task.tensors.graph.cache])
        rule = Rule(self.weights, self.front, self.least, short, left, taken, scalars)
        return rule, cost

    def _flow(self) -> int:
        """Return the number of the rule's flow in the certificate."""
        if not self.is_in_flows:
            used = np.flatnonzero((self.rule.taken != 0) & (self.edges >= 0))
            used = used[np.argsort(self.edges[used])]
            flow = {
                "price": int(self.rule.scalars[0]),
                "edges": self.edges[used].tolist(),
                "amounts": (-self.rule.taken[used]).tolist(),
            }
            self.flows.append(flow)
            self.steps += self.flow_steps
            self.is_in_flows = True
        return len(self.flows) - 1


def _edges(graph: PipelineGraph, order: list[int], ends: TensorGraph) -> IntArray:
    """Return the edge of the graph for each end of a tensor, -1 for producers."""
    dag = graph.dag
    pairs = zip(dag.sources.tolist(), dag.targets.tolist(), strict=True)
    number = {edge: i for i, edge in enumerate(pairs)}
    result = []
    for u, v in enumerate(order):
        of_tensor = ends.end[ends.end_start[u] : ends.end_start[u + 1]].tolist()
        result += [number.get((v, order[w]), -1) for w in of_tensor]
    return frozen(np.array(result, dtype=np.int64))


def _stack(nodes: int, settings: SearchSettings) -> Stack:
    words = max(1, -(-nodes // 64))
    bits: list[BitSets] = [np.zeros((nodes + 1, words), dtype=np.uint64) for _ in range(7)]
    vectors: list[IntArray] = [np.zeros(nodes + 1, dtype=np.int64) for _ in range(5)]
    decided = np.zeros((2, words), dtype=np.uint64)
    found = np.zeros((settings.most_found, words), dtype=np.uint64)
    found_cost, counts = np.zeros(settings.most_found, dtype=np.int64), np.zeros(4, dtype=np.int64)
    return Stack._make([*bits, *vectors, decided, found, found_cost, counts])
