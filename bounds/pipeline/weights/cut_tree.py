"""`cut-tree`: bounds at rising thresholds, each by node weights and a tree of minimum cuts.

Weights are computed for about the largest threshold that they can refute; a tree then needs less
time the farther its threshold is below that one. A set that a tree finds becomes a row of the
weights' program. What the checker could not follow in its steps is not refuted.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from boundmark.bounds.best import Best
from boundmark.bounds.checker.pipeline.limits import LARGEST_CUT_GRAPH
from boundmark.bounds.pipeline.flows.fractional_load import Tables, table_in_time
from boundmark.bounds.pipeline.quick_partition import quick_partition
from boundmark.bounds.pipeline.weights import cut_search as search
from boundmark.bounds.pipeline.weights.cut_trees import (
    Ends,
    HeavySets,
    Tree,
    TreeSettings,
    bounded_ends,
)
from boundmark.bounds.pipeline.weights.known_sets import POSITIONS
from boundmark.bounds.pipeline.weights.set_weights import SetWeights, SharedWeights
from boundmark.bounds.pipeline.weights.tensors import FloatArray, Tensors, loaded
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

KIND = "cut-tree/2"

PRODUCER = "cut-tree"

# Sum of the integer weights, about.
WHOLE = 2**17


@dataclass(frozen=True)
class CutTreeSettings:
    """Settings of `cut-tree`.

    Attributes
    ----------
    first_part
        Threshold of the first tree, as a part of the largest one that weights were found for.
    tree
        Settings of the trees.
    """

    first_part: float = 0.8
    tree: TreeSettings = field(default_factory=TreeSettings)


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    settings: CutTreeSettings = CutTreeSettings(),
    *,
    tables: Tables = table_in_time,
    shared: SharedWeights | None = None,
) -> None:
    """Report the share bound, then better ones until the time is up or weights do no better.

    Parameters
    ----------
    tables
        Maps the graph and the time left to its table of cuts.
    shared
        What other methods have found, and are told.

    Raises
    ------
    UnsupportedError
        If the graph is too large to check.
    """
    if instance.nodes > LARGEST_CUT_GRAPH:
        raise UnsupportedError(
            f"the graph has {instance.nodes:,} nodes; expected at most {LARGEST_CUT_GRAPH:,}."
        )
    best = Best.before(instance, progress)
    tables(instance.graph, budget).report(instance, PRODUCER, best, budget)
    if instance.k == 1:
        # There is one partition only, and shares prove what it costs.
        return
    shared = shared or SharedWeights()
    start = shared.start or quick_partition(instance, seed, budget.part(0.02), best.proven)
    above = int(min(best.objective, instance.objective(start)))
    rise = _Rise(instance, budget, best, settings, seed, above, shared)
    rise.weights.known.add_stages(start)
    if rise.is_open():
        rise.weigh()
        rise.prove_all()


@dataclass(eq=False)
class _Rise:
    """State of the search for thresholds.

    Attributes
    ----------
    known
        The cost of a partition.
    shared
        Weights of other methods.
    above
        A threshold that stands, or that weights or a tree in the time given do not refute.
    last
        About the largest threshold that weights can refute; the present weights are for this one.
    end
        About the threshold at which the present weights have nothing in excess.
    allowance
        Seconds that the next tree may take before it is given up.
    retries, refuted_before
        How often better weights were computed since more than the latter was refuted.
    is_weighed
        Whether the present weights were done within their time.
    """

    instance: PipelineInstance
    budget: Budget
    best: Best
    settings: CutTreeSettings
    seed: int
    known: int
    shared: SharedWeights
    above: int = 0
    last: int = 0
    end: float = 0.0
    allowance: float = math.inf
    retries: int = 0
    refuted_before: int = 0
    is_weighed: bool = False

    def __post_init__(self) -> None:
        graph, k = self.instance.graph, self.instance.k
        # Either cuts neglect overflow, or all parameters count as work and the cache as time.
        self.is_loaded = int(graph.param_load.sum()) > k * graph.cache
        self.allowed = graph.cache if self.is_loaded else 0
        self.tensors = Tensors.of(loaded(graph) if self.is_loaded else graph)
        self.weights = SetWeights(self.tensors, k, self.seed, has_ends=True)
        self.current: FloatArray = self.weights.by_work()
        self.above = self.known
        # As if a tree at 0 ticks took a hundredth of a second.
        self.pace = _Pace(float(self.known))

    @property
    def refuted(self) -> int:
        """The largest threshold that is refuted."""
        return self.best.proven - 1

    @property
    def cost(self) -> int:
        """The cost of the best partition known."""
        return int(min(self.known, self.best.objective))

    def is_open(self) -> bool:
        """Whether there is time and more to prove."""
        return not self.budget.is_spent() and self.cost - self.refuted > 1

    def reopen(self) -> bool:
        """If hardly a threshold is left, try what stood again; return whether one is left then.

        What stood with other weights may not stand with better ones, which are found here.
        """
        self.above = min(self.above, self.cost)
        if self.above < self.cost and self.above - self.refuted <= max(1, 0.003 * self.refuted):
            self.retries = 0 if self.refuted > self.refuted_before else self.retries + 1
            if self.retries > 3:
                return False
            self.refuted_before = self.refuted
            self.above = self.cost
            # Half as far each time that weights help to refute nothing.
            further = 1 + 0.03 / 2**self.retries
            self.last = min(self.cost - 1, int(self.refuted * further) + 1)
            self.find_weights(self.budget.part(0.2))
        return self.above - self.refuted > 1

    def find_weights(self, budget: Budget, *, is_quick: bool = False) -> float:
        """Find weights for the last threshold; return how many stages they call for."""
        limit = self.last + self.allowed
        weighing = self.weights.at(limit, self.current, budget, is_quick=is_quick)
        self.current = weighing.weights
        self.end = self.last * weighing.lower / self.instance.k
        self.is_weighed = not budget.is_spent()
        return weighing.lower

    def weigh(self) -> None:
        """Find weights for about the largest threshold that they refute."""
        threshold = None
        found = self.shared.found(self.is_loaded)
        if found:
            for members in found.sets:
                self.weights.known.add(members)
            self.current, threshold = found.weights, found.threshold
        between = self.refuted, self.above
        budget = self.budget.part(0.25)
        found = self.weights.for_largest(between, self.allowed, self.current, budget, threshold)
        self.last, self.current = found.threshold, found.weights
        needed = self.weights.needed(self.current, self.last + self.allowed)
        self.end = self.last * needed / self.instance.k
        self.shared.tell(self.is_loaded, found)

    def prove_all(self) -> None:
        """Refute rising thresholds, as far apart as the time for trees allows."""
        threshold, patience = int(self.settings.first_part * self.last), 0.0
        while threshold and self.is_open() and self.reopen():
            threshold = min(max(threshold, self.refuted + 1), self.above - 1)
            before = self.budget.spent()
            ended, part, is_new = self.prove(threshold)
            seconds, excess = self.budget.spent() - before, self.end - threshold
            self.pace.note(excess, seconds, ended == search.REFUTED, part)
            if is_new and self.weigh_again(threshold):
                # Trees may find sets at one threshold for a part of the time.
                patience = patience or before + 0.05 * self.budget.remaining()
                if self.budget.spent() > patience:
                    threshold, patience = (self.refuted + threshold) // 2, 0.0
                continue
            patience = 0.0
            if ended != search.REFUTED:
                self.above = threshold
            if not self.is_weighed and not self.budget.is_spent():
                # Trees are larger the worse the weights are, so both get about the same time.
                self.find_weights(self.seconds(max(seconds, 0.3)))
            threshold = self.next_threshold()

    def seconds(self, seconds: float) -> Budget:
        """Return a budget of some seconds, or of what is left."""
        return self.budget.part(min(1.0, seconds / max(self.budget.remaining(), 1e-9)))

    def weigh_again(self, threshold: int) -> bool:
        """Find weights again, with a new set as constraint; return whether a proof is likely."""
        budget = self.seconds(0.03 * self.budget.wall_seconds)
        # A quick tree tells whether weights are good enough, instead of long walks. They are for a
        # lower threshold then, nearer to that of the tree.
        is_quick = self.pace.seconds < 1.0
        nearer = 0.25 if is_quick else 0.0
        self.last = max(threshold, int((1 - nearer) * self.last + nearer * threshold))
        part = self.find_weights(budget, is_quick=is_quick) / self.instance.k
        if part > 1.0001:
            return True
        # Below, fewer sets count, and weights may still do.
        before = self.last
        self.last = max(threshold, int(before * max(0.9, part) * 0.995))
        return before > threshold

    def next_threshold(self) -> int:
        """Return the threshold whose tree is expected to fill the time left; 0 if there is none."""
        pace, left = self.pace, self.budget.remaining()
        most = 0.5 * left
        if most < 1.2 * pace.seconds:
            most = 0.75 * left
        most = min(most, pace.longest)
        if most < pace.seconds:
            return 0
        # Not much more than the tree before took, but some time at least. A tree that takes twice
        # what was expected is given up for a lower threshold.
        seconds = min(most, max(3.0 * pace.seconds, 0.3))
        self.allowance = 2.0 * seconds
        middle = (self.refuted + self.above) // 2
        step = max(1, self.refuted // 500)
        return max(self.refuted + step, min(middle, pace.threshold_for(seconds, self.end)))

    def prove(self, threshold: int) -> tuple[int, float, bool]:
        """Search for a set that costs at most a threshold, and report a bound if there is none."""
        trees, k, limit = self.settings.tree, self.instance.k, threshold + self.allowed
        whole = np.floor(self.current / max(self.current.sum(), 1e-9) * WHOLE)
        weights, sets = frozen(whole.astype(np.int64)), self.weights.known
        known = [int(sets.heaviest(whole, limit, position)) for position in POSITIONS]
        ends = bounded_ends(self.tensors, weights, limit, known, k - 2, trees, self.budget)
        if not ends.is_bounded:
            return ends.ended, 0.0, self.add_all(ends.found)
        self.add_all(ends.found)
        if k == 2:
            self.report(threshold, weights, ends, None)
            return search.REFUTED, 0.0, False
        tree = Tree(
            self.tensors,
            HeavySets(weights, ends.least_of_others(weights, k - 2), limit),
            replace(trees, most_steps=trees.most_steps - ends.steps),
        )
        ended = tree.run(self.budget, self.budget.spent() + self.allowance)
        if ended == search.FOUND:
            until = self.budget.spent() + self.pace.seconds
            found = tree.more_found(self.budget, until)
            return ended, tree.part, self.add_all(found)
        if ended == search.REFUTED:
            self.report(threshold, weights, ends, tree)
        return ended, tree.part, False

    def report(self, threshold: int, weights: IntArray, ends: Ends, tree: Tree | None) -> None:
        """Report that a threshold is refuted; there is no tree if no stage is between the ends."""
        payload = {
            "threshold": threshold,
            "loaded": int(self.is_loaded),
            "weights": weights.tolist(),
            **(tree.proof() if tree else {"scale": 1, "nodes": []}),
            "ends": ends.proofs,
        }
        self.best.bound(Certificate.of(self.instance, KIND, threshold + 1, payload, PRODUCER))

    def add_all(self, found: list[int]) -> bool:
        """Add sets that trees found to those that weights know; return whether any is new."""
        return sum(self.weights.known.add(members) for members in found) > 0


@dataclass(eq=False)
class _Pace:
    """An estimate of the time that trees take, as it grows with the threshold.

    It grows with a power of one over the threshold's distance from where weights have nothing in
    excess: on random graphs, with the third, about.

    Attributes
    ----------
    excess, seconds
        Distance, in ticks, and time of the last tree that refuted something.
    power
        The power, as far as known.
    longest
        Time of a tree that takes four fifths of what a certificate may take.
    """

    excess: float
    seconds: float = 0.01
    power: float = 3.0
    longest: float = math.inf

    def note(self, excess: float, seconds: float, has_refuted: bool, part: float) -> None:
        """Record how long a tree took, or at least took if it was given up."""
        seconds, excess = max(seconds, 0.01), max(excess, 1.0)
        if min(seconds, self.seconds) > 0.1 and excess < 0.99 * self.excess:
            grown = math.log((1 if has_refuted else 1.5) * seconds / self.seconds)
            power = grown / math.log(self.excess / excess)
            self.power = min(max((self.power + power) / 2, 1.5), 6.0)
        if has_refuted:
            self.excess, self.seconds = excess, seconds
            self.longest = 0.8 * seconds / max(part, 1e-6)

    def threshold_for(self, seconds: float, end: float) -> int:
        """Return the threshold whose tree is expected to take a given time."""
        return int(end - self.excess * (self.seconds / seconds) ** (1 / self.power))
