"""`pivot-tree`: certified trees, one for each position of the stage of one node, the pivot.

The pivot is the node around which most would have to be transferred; if no tensor leads past any
node, the mean work is all that is reported. Let the pivot be in stage j. What it depends on is in
stage j or before, and what depends on it is in stage j or after. In training graphs, with a pivot
where the forward part of the graph ends, only stage j can hold forward operators together with the
backward operators that read what they wrote: all other such tensors leave a stage before and enter
one after, or they leave or enter stage j. The program of three superblocks ([MTPP24], Section 3.3)
says how little that may be.

It is a certificate of the kind bottleneck-guess-tree, in which only the pivot demands anything of
its stage. Below, each position has a tree of its own. Multipliers of one position hold for others
as well, and prove little less if these are near. So programs are solved where the bound is least,
and many positions never have their own.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker.pipeline.leaf import Program, WeighedRow, add_up
from boundmark.bounds.checker.pipeline.limits import LARGEST_TREE_GRAPH
from boundmark.bounds.pipeline import separation, work
from boundmark.bounds.pipeline.quick_partition import quick_partition, segmented_along
from boundmark.bounds.pipeline.reach.prefixes import scaled
from boundmark.bounds.pipeline.tree.relaxation import (
    FAMILIES,
    TREE_FAMILIES,
    FloatArray,
    Relaxation,
    relax,
    solve,
    without_rows,
)
from boundmark.bounds.pipeline.tree.search import (
    EXCESS_PRICE,
    Multipliers,
    choice,
    prefix_values,
    rounded_multipliers,
)
from boundmark.bounds.pipeline.tree.superblocks import MIDDLE, Demand, Superblocks, around
from boundmark.bounds.pipeline.windows import SHARE_UNITS, Windows, branch, narrowed
from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.dag import Dag
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

KIND = "bottleneck-guess-tree/1"

ROWS = (*TREE_FAMILIES, "demand")
NOTHING: Multipliers = {name: [] for name in ROWS}

# The leaf with the pivot outside its stage, which the demand row alone refutes.
ELSEWHERE: Multipliers = {**NOTHING, "demand": [0, 1]}


@dataclass(frozen=True)
class PivotSettings:
    """Settings of `pivot-tree`.

    Attributes
    ----------
    start_fraction
        Part of the time for a quick partition, unless a cost is known: thresholds stay below it.
    least_side
        Least part of the nodes that the pivot depends on, and that depend on it.
    search_fraction
        Part of the time for programs; the rest is for checking the last certificate.
    partition_fraction
        Part of the time spent for partitions rounded from the programs' points.
    report_every
        Part of the time between two certificates.
    checks_in_reserve
        Time kept for the last certificate, in slowest checks so far.
    large_graph, left_out
        With more nodes, a program takes ten seconds and more. Then programs without the rows of
        the smallest tensors come first; `left_out` is the part of all transfers that these have.
        With 0.3, a program takes a tenth of the time and proves about four fifths as much.
    precision
        Relative gap of the programs' solutions.
    threshold_units
        The threshold in the solver's units of cost: with 10^8, it takes half as long again or
        fails.
    """

    start_fraction: float = 0.02
    least_side: float = 0.1
    search_fraction: float = 0.95
    partition_fraction: float = 0.15
    report_every: float = 0.1
    checks_in_reserve: float = 2.0
    large_graph: int = 5000
    left_out: tuple[float, ...] = (0.3, 0.1, 0.0)
    precision: float = 1e-5
    threshold_units: int = 10


# Above any cost: the bound of a leaf without partitions.
LARGEST = 2**62


@dataclass(eq=False)
class Leaf:
    """Partitions with the pivot in a given stage, until it is branched on.

    Attributes
    ----------
    superblocks
        What is before the pivot's stage, this stage, and what is after it.
    bound
        What the multipliers prove of the bottleneck stage, in exact arithmetic.
    solved
        How many of its own programs were solved; each leaves out less than the one before.
    choice
        Node and superblock to branch on; None if all is decided, or not known yet.
    """

    superblocks: Superblocks
    windows: Windows
    bound: int = 0
    multipliers: Multipliers = field(default_factory=lambda: NOTHING)
    solved: int = 0
    choice: tuple[int, int] | None = None
    children: "tuple[Leaf, Leaf] | None" = None


class Positions:
    """Branch and bound at a threshold: one tree for each position of the pivot's stage.

    Parameters
    ----------
    pivot
        The node.
    threshold
        What all stages are supposed to cost at most. No bound gets above it by more than a tick.

    Attributes
    ----------
    places
        Where the program solved last has each node, on the average: from 0, before the pivot's
        stage, to 2, after it. None if no program was solved since it was last taken.
    """

    def __init__(
        self,
        instance: PipelineInstance,
        pivot: int,
        threshold: int,
        budget: Budget,
        settings: PivotSettings = PivotSettings(),
    ) -> None:
        self._instance, self._pivot, self._budget = instance, pivot, budget
        self._settings = settings
        self.threshold = threshold
        self._checked = checker.check_instance(instance.to_json())
        self._amounts = scaled(instance.graph.work, threshold)
        demanded = np.zeros(instance.nodes, dtype=np.int64)
        demanded[pivot] = SHARE_UNITS
        self._demand = Demand.of(demanded, instance.k)
        row = WeighedRow(demanded.tolist(), ((MIDDLE, 1), (MIDDLE - 1, -1)), self._demand.least)
        self._weighed = {"demand": [row]}
        self._left_out = [
            _smallest_tensors(instance.graph, part)
            for part in settings.left_out[0 if instance.nodes > settings.large_graph else -1 :]
        ]
        self._roots = [self._root(instance.graph.dag, stage) for stage in range(instance.k)]
        self._leaves = list(self._roots)
        self.places: FloatArray | None = None

    def _root(self, dag: Dag, stage: int) -> Leaf:
        """Return all partitions with the pivot in a stage."""
        superblocks = around(stage, self._instance.k, self._demand)
        first = np.full(dag.nodes, MIDDLE if stage == 0 else 0)
        last = np.full(dag.nodes, MIDDLE if stage == self._instance.k - 1 else 2)
        first[self._pivot] = last[self._pivot] = MIDDLE
        return Leaf(superblocks, narrowed(dag, Windows(first, last)))

    @property
    def bound(self) -> int:
        """The bound proven so far."""
        return min(self.threshold + 1, min(leaf.bound for leaf in self._leaves))

    def improve(self) -> bool:
        """Solve a program of the leaf with the least bound or, if all are solved, branch on it.

        Returns
        -------
        Whether something may be left to do, and there is time.
        """
        worst = min(self._leaves, key=lambda leaf: leaf.bound)
        if worst.bound > self.threshold:
            return False
        if worst.solved < len(self._left_out):
            return self._solve(worst)
        if worst.choice is None:
            return False
        dag = self._instance.graph.dag
        earlier, later = branch(dag, worst.windows, *worst.choice)
        worst.children = Leaf(worst.superblocks, earlier), Leaf(worst.superblocks, later)
        for child in worst.children:
            child.solved = len(self._left_out) - 1
            self._prove(child, worst.multipliers)
        self._leaves.remove(worst)
        self._leaves += worst.children
        return True

    def payload(self) -> dict[str, Any]:
        """Return the certificate's payload: each root below two branchings that place the pivot."""
        nodes: list[Any] = []
        for root in self._roots:
            nodes += [[self._pivot, MIDDLE], [self._pivot, MIDDLE - 1], ELSEWHERE]
            waiting = [root]
            while waiting:
                leaf = waiting.pop()
                if leaf.children is None:
                    nodes.append(leaf.multipliers)
                else:
                    nodes.append(list(leaf.choice or ()))
                    waiting += leaf.children[::-1]
            nodes.append(ELSEWHERE)
        demand = self._demand.amounts.tolist()
        return {"threshold": self.threshold, "flows": [], "nodes": nodes, "demand": demand}

    def _solve(self, leaf: Leaf) -> bool:
        """Find multipliers for a leaf, and try those of a root at others.

        Returns
        -------
        Whether the time was enough.
        """
        graph = self._instance.graph
        every = relax(graph, leaf.superblocks, self._amounts, leaf.windows)
        relaxation = without_rows(every, _needless(every, graph.dag, self._left_out[leaf.solved]))
        price, budget = EXCESS_PRICE * (self.threshold + 1), self._budget
        unit = max(1.0, self.threshold / self._settings.threshold_units)
        precision = self._settings.precision
        point = solve(relaxation, price, budget.remaining(), budget.threads, precision, unit)
        if point is None:
            return False
        found = rounded_multipliers(relaxation, point)
        self.places = 2 - prefix_values(leaf.windows, relaxation, point)[:, : MIDDLE + 1].sum(
            axis=1
        )
        leaf.solved += 1
        leaf.choice = choice(
            graph, leaf.superblocks, self._amounts, leaf.windows, relaxation, point
        )
        multipliers = {name: found[name] for name in ROWS}
        self._prove(leaf, multipliers)
        if leaf in self._roots:
            for root in self._roots:
                if root.solved < leaf.solved:
                    self._prove(root, multipliers)
        return True

    def _prove(self, leaf: Leaf, multipliers: Multipliers) -> None:
        """Keep multipliers if they prove more of a leaf than those that it has."""
        if not leaf.windows.are_possible:
            leaf.bound = LARGEST
            return
        windows = leaf.windows.first.tolist(), leaf.windows.last.tolist()
        program = Program(leaf.superblocks.merged.tolist(), windows)
        found = add_up(self._checked, program, self._amounts.tolist(), self._weighed, multipliers)
        if found is None:
            raise AssertionError("a leaf with possible windows has no partitions")
        total, least = found
        # A sum without the cost column is a contradiction or proves nothing.
        without_costs = LARGEST if least > 0 else 0
        bound = -(-least // total) if total else without_costs
        if bound > leaf.bound:
            leaf.bound, leaf.multipliers = bound, multipliers


def _smallest_tensors(graph: PipelineGraph, part: float) -> npt.NDArray[np.bool_]:
    """Return the smallest tensors that have a part of all transfers together, shape (n,)."""
    order = np.argsort(graph.transfer, kind="stable")
    together = np.cumsum(graph.transfer[order])
    are_smallest = np.zeros(len(order), dtype=np.bool_)
    are_smallest[order[together <= part * together[-1]]] = True
    return are_smallest


def _needless(
    relaxation: Relaxation, dag: Dag, left_out: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Return a mask of rows: those of tensors left out, and those that edge rows imply.

    No tensor enters what is before the pivot's stage, or leaves what is after it.
    """
    edge, superblock = np.divmod(relaxation.number, 3)
    enters, leaves = (relaxation.family == FAMILIES.index(name) for name in ("enters", "leaves"))
    is_left_out = np.zeros(len(edge), dtype=np.bool_)
    of_tensors = enters | leaves
    is_left_out[of_tensors] = left_out[dag.sources[edge[of_tensors]]]
    needless: npt.NDArray[np.bool_] = (
        (enters & (superblock == 0)) | (leaves & (superblock == 2)) | is_left_out
    )
    return needless


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    settings: PivotSettings = PivotSettings(),
) -> None:
    """Report ever better certificates until the time is up or the trees are decided.

    Partitions are reported, too: where a program has the nodes is an order, and the best
    segmentation of that order splits what is before and after the pivot's stage into stages.

    Raises
    ------
    UnsupportedError
        If the instance is too large for the checker, or HiGHS is not installed.
    """
    largest = max(instance.nodes, instance.k)
    if largest > LARGEST_TREE_GRAPH:
        raise UnsupportedError(
            f"the instance has {largest} nodes or stages; expected at most {LARGEST_TREE_GRAPH}."
        )
    best = Best.before(instance, progress)
    work.run_mean_work(instance, budget, seed, best)
    pivot = widest_span(instance.graph, settings)
    if pivot is None:
        return
    if math.isinf(best.objective):
        floor = int(best.certified)
        best.solution(quick_partition(instance, seed, budget.part(settings.start_fraction), floor))
    threshold = int(best.objective) - 1
    if int(instance.graph.work.max()) > threshold or best.is_proven:
        return
    part = budget.part(settings.search_fraction)
    positions = Positions(instance, pivot, threshold, part, settings)
    reported, slowest, cutting = budget.spent(), 0.0, 0.0
    while positions.improve() and budget.remaining() > settings.checks_in_reserve * slowest:
        if positions.places is not None and cutting < settings.partition_fraction * budget.spent():
            began = budget.spent()
            best.solution(segmented_along(instance, positions.places))
            positions.places = None
            cutting += budget.spent() - began
        if positions.bound >= best.objective:
            break
        is_due = budget.spent() > reported + settings.report_every * budget.wall_seconds
        if is_due and positions.bound > best.certified:
            began = budget.spent()
            if not _report(instance, positions, best):
                return
            reported = budget.spent()
            slowest = max(slowest, reported - began)
    if positions.bound > best.certified:
        _report(instance, positions, best)


def widest_span(graph: PipelineGraph, settings: PivotSettings = PivotSettings()) -> int | None:
    """Return the node that edges of most transfer span; None if no edge spans a node.

    Much comes before it and much after: beside a single large tensor there is little to say.
    """
    dag = graph.dag
    order = dag.topological_order
    before = separation.reached(order, dag.producer_start, dag.producers)
    after = separation.reached(frozen(order[::-1]), dag.consumer_start, dag.targets)
    found = separation.spans(before, after, dag.consumer_start, dag.targets, graph.transfer)
    for side in (before, after):
        found[np.bitwise_count(side).sum(axis=1) < settings.least_side * dag.nodes] = 0
    pivot = int(found.argmax())
    return pivot if found[pivot] > 0 else None


def _report(instance: PipelineInstance, positions: Positions, best: Best) -> bool:
    """Report the certificate; return False if it exceeds the checker's limits."""
    payload = positions.payload()
    unproven = Certificate.of(instance, KIND, 0, payload, "pivot-tree")
    try:
        bound = checker.check_certificate(instance.to_json(), unproven.to_json())
    except checker.TooLarge:
        return False
    best.bound(Certificate.of(instance, KIND, bound, payload, "pivot-tree"))
    return True
