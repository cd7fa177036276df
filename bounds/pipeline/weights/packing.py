"""`packing`: bounds at thresholds that rise towards the last one that weights refute.

The most that weights come to falls steadily as the threshold rises, and weights refute where it is
above k. How far below the last such threshold one is decides how long its proof takes: a search
takes three to six times as long for each percent.
"""

from dataclasses import dataclass, field

import numpy as np

from boundmark.bounds.best import Best
from boundmark.bounds.checker.pipeline.limits import (
    LARGEST_PACKING_GRAPH,
    MOST_PACKING_EDGES,
    MOST_PACKING_STEPS,
)
from boundmark.bounds.pipeline.flows.fractional_load import ShareTable, Tables, table_in_time
from boundmark.bounds.pipeline.quick_partition import quick_partition
from boundmark.bounds.pipeline.weights.cut_trees import Ends, TreeSettings, bounded_ends
from boundmark.bounds.pipeline.weights.known_sets import KnownSets
from boundmark.bounds.pipeline.weights.packing_search import Attempt, Refuter, SearchSettings
from boundmark.bounds.pipeline.weights.set_weights import (
    Found,
    SetWeights,
    SharedWeights,
    Weighing,
)
from boundmark.bounds.pipeline.weights.tensors import FIRST, LAST, FloatArray, Tensors, loaded
from boundmark.bounds.pipeline.weights.weighing import (
    PRECISION,
    Weigher,
    whole_of,
)
from boundmark.problems.arrays import IntArray
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance

KIND = "packing/2"

PRODUCER = "packing"

# Least distance of a threshold from the one refuted before, as a part of it, that is worth another
# long proof.
WORTH = 0.0005


@dataclass(frozen=True)
class PackingSettings:
    """Settings of `packing`: how time is divided, and how long proofs may be.

    "Last threshold" is the largest that weights refute; it is only estimated.

    Attributes
    ----------
    weighing_fraction
        Part of the time before the first proof, at most.
    easy
        Weights whose sum exceeds k by this part are proved at once: such searches are short, and
        the bound is one to fall back on.
    most_steps
        Largest number of steps that checking a certificate may take.
    search
        Settings of the searches that prove weights.
    """

    weighing_fraction: float = 0.4
    easy: float = 0.25
    most_steps: int = MOST_PACKING_STEPS
    search: SearchSettings = field(default_factory=SearchSettings)


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    precision: float = 0.0,
    settings: PackingSettings = PackingSettings(),
    tables: Tables = table_in_time,
    shared: SharedWeights | None = None,
) -> None:
    """Report the share bound, then better ones until the time is up or weights do no better.

    Parameters
    ----------
    precision
        How far the last bound may stay below what weights prove, as a part of it. Proofs of the
        last percent take most of the time.
    tables
        Maps the graph and the time left to its table of cuts.
    shared
        What other methods have found, and are told.

    Raises
    ------
    InvalidInputError
        If the precision is negative.
    UnsupportedError
        If the graph is too large to check, or each proof is.
    """
    if not precision >= 0:
        raise InvalidInputError(f"packing: precision is {precision}; expected 0 or more.")
    sizes = instance.nodes, instance.graph.dag.edges
    if sizes[0] > LARGEST_PACKING_GRAPH or sizes[1] > MOST_PACKING_EDGES:
        raise UnsupportedError(
            f"the graph has {sizes[0]:,} nodes and {sizes[1]:,} edges; expected at most "
            f"{LARGEST_PACKING_GRAPH:,} and {MOST_PACKING_EDGES:,}."
        )
    best = Best.before(instance, progress)
    known = best.proven
    shared = shared or SharedWeights()
    start = shared.start or quick_partition(instance, seed, budget.part(0.03), known)
    # No bound exceeds the cost of a partition.
    above = int(min(best.objective, instance.objective(start)))
    table = tables(instance.graph, budget)
    refuted = max(table.report(instance, PRODUCER, best, budget), known) - 1
    # Overflow counts part by part; or all parameters count as work, and the cache as time.
    rises = [
        _Rise(instance, budget, best, settings, is_loaded, refuted, above, shared)
        for is_loaded in ((False,) if instance.graph.is_cached else (False, True))
    ]
    for rise in rises:
        rise.weigher.learn(start)
        rise.approach(table, start)
    max(rises, key=lambda rise: rise.last).prove_all(precision)


@dataclass(eq=False)
class _Rise:
    """State of the search for thresholds, for one way to count parameters.

    Attributes
    ----------
    refuted
        The largest threshold that is refuted.
    above
        A threshold that weights do not refute, or only in a search that is or takes too long.
    shared
        Weights of other methods.
    last
        About the last threshold that weights refute.
    weighed
        The threshold that weights were found for last.
    weights
        The best ones for about that threshold.
    too_long
        Thresholds that take a search too long to check, with about how many steps.
    searches
        Threshold, steps and seconds of each proof.
    ends_of, ends
        A limit and weights, and what the first and the last stage weigh at most then.
    """

    instance: PipelineInstance
    budget: Budget
    best: Best
    settings: PackingSettings
    is_loaded: bool
    refuted: int
    above: int
    shared: SharedWeights
    last: float = 0.0
    weighed: int = 0
    weights: FloatArray = field(default_factory=lambda: np.zeros(0))
    too_long: dict[int, int] = field(default_factory=dict)
    searches: list[tuple[int, int, float]] = field(default_factory=list)
    ends_of: tuple[int, bytes] = (-1, b"")
    ends: Ends = field(default_factory=lambda: Ends([0, 0]))

    def __post_init__(self) -> None:
        graph = self.instance.graph
        self.tensors = Tensors.of(loaded(graph) if self.is_loaded else graph)
        self.allowed = graph.cache if self.is_loaded else 0
        limit = self.refuted + self.allowed
        whole = whole_of(self.tensors.graph, limit)
        self.k = min(self.instance.k, self.instance.nodes)
        self.has_ends = self.k > 2
        self.weigher = Weigher(self.tensors, self.k, whole)
        self.known_ends = KnownSets(self.tensors, self.weigher.seed)
        settings = self.settings
        self.refuter = Refuter(
            self.tensors, self.weigher.pool, self.k, settings.most_steps, settings.search
        )
        self.last = float(self.refuted)

    def approach(self, table: ShareTable, start: Partition) -> None:
        """Estimate the last threshold that weights refute, and find weights for it."""
        k, refuted = self.k, self.refuted
        # Precision of the last threshold before proofs begin, as a part of k.
        close = 0.004
        found = self.shared.found(self.is_loaded) or self._walked(start)
        budget = self.budget.part(self.settings.weighing_fraction)
        if found:
            self.weigher.learn_sets(found.sets)
            self.weights, threshold = found.weights, found.threshold
        else:
            room = np.maximum(refuted + self.allowed - table.io(refuted), 1)
            self.weights = self.tensors.graph.work / room
            threshold = int(refuted * 1.04) + 1
        while refuted < self.above - 1 and not budget.is_spent():
            threshold = min(max(refuted + 1, threshold), self.above - 1)
            weighing = self._weigh(threshold, budget, close * k / 2)
            if weighing.upper <= k:
                self.above = threshold
                lower = int(threshold * weighing.lower / k)
                threshold = max((refuted + threshold) // 2, min(lower, threshold - 1))
                continue
            self.weights = weighing.weights
            self.last = threshold * weighing.lower / k
            if weighing.lower <= k * (1 + close):
                break
            if weighing.lower > k * (1 + self.settings.easy):
                above = self.above
                self.prove(threshold, self.budget.part(0.1))
                # A proof that failed here may succeed with more time.
                self.above = above
            refuted = threshold
            threshold = int(self.last * (1 - close / 2))
        self.last = min(self.last, float(self.above))
        sets = self.weigher.heaviest_sets(self.weights, int(self.last) + self.allowed)
        self.shared.tell(self.is_loaded, Found(int(self.last), self.weights, tuple(sets)))

    def _walked(self, start: Partition) -> Found | None:
        """Find weights by walks among whole stages; None if stages are small.

        With 20 nodes or more in the mean, that takes less time than packings of connected sets.
        With fewer, packings of grown sets prove 1 to 8 % more in 8 seconds.
        """
        if self.instance.nodes < 20 * self.k or self.refuted >= self.above - 1:
            return None
        weights = SetWeights(self.tensors, self.k, self.weigher.seed)
        weights.known.add_stages(start)
        budget = self.budget.part(0.2)
        between = self.refuted, self.above
        found = weights.for_largest(between, self.allowed, weights.by_work(), budget)
        self.shared.tell(self.is_loaded, found)
        return self.shared.found(self.is_loaded)

    def prove_all(self, precision: float) -> None:
        """Refute rising thresholds up to a distance below the last one."""
        # Distances of the thresholds from the last one, as parts of it: a smaller one takes a
        # longer proof. While none is known to stand, steps are not larger than `most_step`.
        margins = [m for m in (0.03, 0.015, 0.008, 0.004, 0.002, 0.001, 0.0) if m > precision]
        margins, most_step = [*margins, precision], max(0.004, precision)
        most_failures, most_too_long = 2, 3
        first, failures = self.refuted, 0
        while self._is_open(precision):
            threshold = self._next(margins, most_step)
            if threshold > self.refuted + 1 and threshold > self._reach():
                threshold = int(self._reach())
                if threshold <= self.refuted * (1 + WORTH):
                    break
            began = self.budget.spent()
            # The length of the first proof is not known before, and there has to be time for a
            # smaller threshold.
            self.prove(threshold, self.budget.part(0.7 if self.searches else 0.4))
            took_long = self.budget.spent() - began > 0.02 * self.budget.wall_seconds
            failures += self.above == threshold
            if failures == most_failures and not self.searches:
                break
            is_close = self.above - self.refuted <= WORTH * self.refuted
            if (took_long and is_close) or len(self.too_long) == most_too_long:
                break
        if self.refuted == first and self.too_long:
            raise UnsupportedError(
                f"refuting {min(self.too_long)} takes a search of more than "
                f"{self.settings.most_steps:,} steps, of about "
                f"{self.too_long[min(self.too_long)]:,}."
            )

    def _is_open(self, precision: float) -> bool:
        """Learn what others found meanwhile; return whether there is time and more to prove."""
        is_open = not self.budget.is_spent()
        if self.best.certified - 1 > self.refuted:
            self.refuted = int(self.best.certified) - 1
            self.last = max(self.last, float(self.refuted))
        self.above = int(min(self.above, self.best.objective))
        return is_open and self.refuted < self._enough(precision)

    def _enough(self, precision: float) -> int:
        """Return the threshold at which to stop."""
        if not precision:
            return self.above - 1
        return int(min(self.last, self.above - 1) / (1 + precision))

    def _next(self, margins: list[float], most_step: float) -> int:
        """Return the threshold to refute next; remove the margins used so far."""
        middle = (self.refuted + self.above) // 2
        if not self.searches:
            middle = min(middle, int(self.refuted + self.last) // 2)
        while margins:
            threshold = min(middle, int(self.last / (1 + margins.pop(0))))
            if threshold > self.refuted * (1 + WORTH):
                return threshold
        return max(self.refuted + 1, min(middle, int(self.refuted * (1 + most_step)) + 1))

    def _reach(self) -> float:
        """Estimate the largest threshold whose search ends in time and can be checked."""
        # Far below the last threshold, a search hardly takes longer for a larger one.
        if not self.searches or self.refuted < 0.95 * self.last:
            return np.inf
        _, steps, seconds = self.searches[-1]
        times = min(
            self.budget.remaining() / max(1.5 * seconds, 1e-6), self.settings.most_steps / steps
        )
        # The last search was short: one that takes much longer would still end in time.
        if times > 100:
            return np.inf
        percents = np.log(max(1.0, times)) / np.log(self._growth())
        return float(self.refuted * (1 + percents / 100))

    def _growth(self) -> float:
        """Estimate the factor by which a search takes longer for each percent of the threshold.

        Near the last threshold it is about the square of what the last two searches show.
        """
        least, most = 1.5, 6.0
        if len(self.searches) < 2:
            return most
        (before, fewer, _), (threshold, steps, _) = self.searches[-2:]
        percents = 100 * (threshold / before - 1)
        return float(np.clip((steps / fewer) ** (2 / percents), least, most))

    def prove(self, threshold: int, budget: Budget) -> None:
        """Try to refute a threshold; note if that fails or takes too long."""
        limit, is_weighed = threshold + self.allowed, False
        pool = self.weigher.pool
        # Growing finds new sets faster than a search does.
        if threshold > self.weighed * 1.005:
            self._weigh_again(threshold, budget)
        while not budget.is_spent():
            weights = self.weigher.integers(self.weights)
            began, ends = self.budget.spent(), None
            if self.has_ends:
                ends = self._ends(weights, limit, budget)
                if not ends.is_bounded:
                    if (is_weighed and not ends.found) or not self._weigh_again(threshold, budget):
                        break
                    is_weighed = not ends.found
                    continue
            result = self.refuter.attempt(weights, limit, budget, ends)
            if result is None:
                if not self._weigh_again(threshold, budget) or is_weighed:
                    break
                is_weighed = True
            elif result.payload is not None:
                self.searches.append((threshold, result.steps, self.budget.spent() - began))
                self._report(threshold, result)
                return
            elif result.found:
                is_weighed = False
                for members, cost in result.found:
                    pool.add(members, cost)
                if len(result.found) > 100:
                    weighing = self._weigh(threshold, budget.part(0.2), 0.01 * self.k)
                    if weighing.lower > self.k:
                        self.weights = weighing.weights
            else:
                if not budget.is_spent():
                    self.too_long[threshold] = result.steps
                break
        self.above = threshold

    def _ends(self, weights: IntArray, limit: int, budget: Budget) -> Ends:
        """Find what the first and the last stage weigh at most."""
        if self.ends_of == (limit, weights.tobytes()):
            return self.ends
        exact = weights.astype(float)
        for end in (FIRST, LAST):
            for _ in range(5):
                self.known_ends.walk(exact, limit, end, budget)
        known = [
            self.weigher.heaviest_packing(weights, limit),
            *(int(self.known_ends.heaviest(exact, limit, end)) for end in (FIRST, LAST)),
        ]
        # A tree that took too long with less would probably do so again.
        trees = TreeSettings(end_share=max(0.5, self.ends.share))
        ends = bounded_ends(self.tensors, weights, limit, known, self.k - 2, trees, budget)
        for members in ends.found:
            self.known_ends.add(members)
        self.weigher.learn_sets(ends.found)
        if ends.is_bounded:
            self.ends_of, self.ends = (limit, weights.tobytes()), ends
        return ends

    def _weigh_again(self, threshold: int, budget: Budget) -> bool:
        """Find weights for a threshold to refute; return whether they may do."""
        # The last improvements take longest, and a proof does without them.
        lacking = 0.3 * self.k * (self.last / threshold - 1)
        weighing = self._weigh(threshold, budget.part(0.3), max(PRECISION, lacking))
        if weighing.lower <= self.k:
            return False
        self.weights = weighing.weights
        return True

    def _weigh(self, threshold: int, budget: Budget, precision: float) -> Weighing:
        self.weighed = threshold
        return self.weigher.at(threshold + self.allowed, self.weights, budget, precision)

    def _report(self, threshold: int, result: Attempt) -> None:
        self.refuted = threshold
        payload = {"threshold": threshold, "loaded": int(self.is_loaded), **(result.payload or {})}
        certificate = Certificate.of(self.instance, KIND, threshold + 1, payload, PRODUCER)
        self.best.bound(certificate)
