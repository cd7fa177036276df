"""`packing`: bounds at thresholds that rise towards the last one that weights refute.

The most that weights come to falls steadily as the threshold rises, and weights refute where it is
above k. How far below the last such threshold one is decides how long its proof takes: a search
takes three to six times as long for each percent.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from boundmark.bounds.best import Best
from boundmark.bounds.checker.pipeline.limits import (
    LARGEST_PACKING_GRAPH,
    MOST_PACKING_EDGES,
    MOST_PACKING_STEPS,
)
from boundmark.bounds.pipeline.packing.search import Attempt, attempt
from boundmark.bounds.pipeline.packing.tensors import Tensors, loaded
from boundmark.bounds.pipeline.packing.weighing import (
    PRECISION,
    FloatArray,
    Weigher,
    Weighing,
    whole_of,
)
from boundmark.bounds.pipeline.quick_partition import quick_partition
from boundmark.bounds.pipeline.share import ShareTable, share_table
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance

KIND = "packing/1"

# How far a threshold is below the last that weights refute, as a part of it.
MARGINS = (0.03, 0.015, 0.008, 0.004, 0.002, 0.001, 0.0)

# The first threshold to weigh, above the share bound as a part of it; and how close the last is to
# be known, as a part of the stages, before proofs are tried.
FIRST_STEP = 0.04
CLOSE = 0.004

# How far above a refuted threshold the next one is at most where none is known to stand, unless
# bounds need not be as precise.
MOST_STEP = 0.004

# A search takes up to so many times as long for each percent that a threshold is larger, and less
# far below the last threshold that weights refute: how much is seen from the last two searches, and
# nearer to that threshold it is about the square.
SEARCH_GROWTH = 6.0
LEAST_GROWTH = 1.1

# Below this part of the last threshold, searches hardly take longer for larger thresholds.
FAR = 0.95

# A search is short if one that takes so many times as long still ends in time.
SHORT = 100.0

# Of the time left, what a proof may take. Of the first one nothing is known before, so there has to
# be time for a smaller threshold.
FIRST_PROOF_FRACTION = 0.4
PROOF_FRACTION = 0.7

# Weights that come to more than the stages by this part are proved at once, if that takes no more
# than a part of the time: such searches are short, and the bound is one to fall back on.
EASY = 0.25
EASY_FRACTION = 0.1

# Proofs that took too long, after which no other one is tried if none has ended.
MOST_FAILURES = 2

# Searches that are too long to check, after which no other one is tried.
MOST_TOO_LONG = 3

# Of the time, at most, before the first proof is tried.
WEIGHING_FRACTION = 0.4

# Of what weights are expected to exceed the stages by, at a threshold to be proved, the part that
# they may lack; and of the time left, the most that they take. The last bit takes longest.
LACKING_PART = 0.3
WEIGHING_AGAIN_FRACTION = 0.3

# More sets than this that were not known make new weights worth their while; and of the time, the
# most that these take, and how precise they are as a part of the stages.
MANY_FOUND = 100
WEIGHING_FOUND_FRACTION = 0.2
FOUND_PRECISION = 0.01

# Thresholds that differ by less than this part are not worth another proof that takes long, which
# is this part of the time.
WORTH = 0.0005
LONG = 0.02

# Of the time, at most, for a partition to learn from.
START_FRACTION = 0.03


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    precision: float = 0.0,
) -> None:
    """Report the share bound, then better ones until the time is up or weights do no better.

    Parameters
    ----------
    precision
        How far the last bound may stay below what weights prove, as a part of it. Proofs of the
        last percent take most of the time.

    Raises
    ------
    InvalidInputError
        If the precision is negative.
    UnsupportedError
        If the graph is too large to check, or each proof is.
    """
    if not precision >= 0:
        raise InvalidInputError(f"packing: precision is {precision}; expected 0 or more.")
    best = Best.before(instance, progress)
    known = int(best.certified) if math.isfinite(best.certified) else 0
    start = quick_partition(instance, seed, budget.part(START_FRACTION), known)
    below = int(min(best.objective, instance.objective(start)))
    report_rising_bounds(
        instance, budget, best, "packing",
        below=below, known=known, start=start, precision=precision,
    )  # fmt: skip


def report_rising_bounds(
    instance: PipelineInstance,
    budget: Budget,
    progress: Progress,
    producer: str,
    *,
    most_steps: int = MOST_PACKING_STEPS,
    below: int | None = None,
    start: Partition | None = None,
    known: int = 0,
    precision: float = 0.0,
) -> None:
    """Report the share bound, then better ones until the time is up or weights do no better.

    Parameters
    ----------
    producer
        Name of the method.
    most_steps
        Largest number of steps that checking a certificate may take.
    below
        A cost that a partition is known to have, which no bound exceeds.
    start
        A good partition, whose stages weights have to reckon with.
    known
        A bound that is proven already.
    precision
        How far the last bound may stay below what weights refute, as a part of it.

    Raises
    ------
    UnsupportedError
        If the graph is too large to check, or each search is.
    """
    sizes = instance.nodes, instance.graph.dag.edges
    if sizes[0] > LARGEST_PACKING_GRAPH or sizes[1] > MOST_PACKING_EDGES:
        raise UnsupportedError(
            f"the graph has {sizes[0]:,} nodes and {sizes[1]:,} edges; expected at most "
            f"{LARGEST_PACKING_GRAPH:,} and {MOST_PACKING_EDGES:,}."
        )
    table = share_table(instance.graph)
    first = table.certificate(instance, producer)
    progress.bound(first)
    refuted = max(first.bound, known) - 1
    graph = instance.graph
    overflow = max(0, int(graph.param_load.sum()) - graph.cache)
    above = int(graph.work.sum()) + overflow if below is None else below
    # Overflow counts part by part; or all parameters count as work, and the cache as time.
    rises = [
        _Rise(instance, budget, progress, producer, most_steps, is_loaded, refuted, above)
        for is_loaded in ((False,) if graph.is_cached else (False, True))
    ]
    for rise in rises:
        if start is not None:
            rise.weigher.learn(start)
        rise.approach(table)
    max(rises, key=lambda rise: rise.last).prove_all(precision)


@dataclass(eq=False)
class _Rise:
    """One way to count parameters: thresholds refuted, and those that cannot be.

    Attributes
    ----------
    refuted
        The largest threshold that is refuted.
    above
        A threshold that weights do not refute, or only in a search that is or takes too long.
    last
        About the last threshold that weights refute.
    weights
        The best ones for about that threshold.
    too_long
        Thresholds that take a search too long to check, with about how many steps.
    searches
        Threshold, steps and seconds of each proof.
    """

    instance: PipelineInstance
    budget: Budget
    progress: Progress
    producer: str
    most_steps: int
    is_loaded: bool
    refuted: int
    above: int
    last: float = 0.0
    weights: FloatArray = field(default_factory=lambda: np.zeros(0))
    too_long: dict[int, int] = field(default_factory=dict)
    searches: list[tuple[int, int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        graph = self.instance.graph
        self.tensors = Tensors.of(loaded(graph) if self.is_loaded else graph)
        self.allowed = graph.cache if self.is_loaded else 0
        limit = self.refuted + self.allowed
        whole = whole_of(self.tensors.graph, limit)
        self.k = min(self.instance.k, self.instance.nodes)
        self.weigher = Weigher(self.tensors, self.k, whole)
        self.last = float(self.refuted)

    def approach(self, table: ShareTable) -> None:
        """Find about the last threshold that weights refute, and weights for it."""
        budget = self.budget.part(WEIGHING_FRACTION)
        k, refuted = self.k, self.refuted
        room = np.maximum(refuted + self.allowed - table.io(refuted), 1)
        self.weights = self.tensors.graph.work / room
        threshold = int(refuted * (1 + FIRST_STEP)) + 1
        while refuted < self.above - 1 and not budget.is_spent():
            threshold = min(max(refuted + 1, threshold), self.above - 1)
            weighing = self._weigh(threshold, budget, CLOSE * k / 2)
            self.weights = weighing.weights
            if weighing.upper <= k:
                self.above = threshold
                threshold = (refuted + threshold) // 2
                continue
            self.last = threshold * weighing.lower / k
            if weighing.lower <= k * (1 + CLOSE):
                break
            if weighing.lower > k * (1 + EASY):
                above = self.above
                self.prove(threshold, self.budget.part(EASY_FRACTION))
                # With more time, it may be.
                self.above = above
            refuted = threshold
            threshold = int(self.last * (1 - CLOSE / 2))
        self.last = min(self.last, float(self.above))

    def prove_all(self, precision: float) -> None:
        """Refute thresholds, far below the last one at first, up to some part of it below.

        Raises
        ------
        UnsupportedError
            If each of them takes a search too long to check.
        """
        margins = [*(margin for margin in MARGINS if margin > precision), precision]
        first, failures = self.refuted, 0
        while self.refuted < self._enough(precision) and not self.budget.is_spent():
            threshold = self._next(margins, max(MOST_STEP, precision))
            if threshold > self.refuted + 1 and threshold > self._reach():
                threshold = int(self._reach())
                if threshold <= self.refuted * (1 + WORTH):
                    break
            began = self.budget.spent()
            part = PROOF_FRACTION if self.searches else FIRST_PROOF_FRACTION
            self.prove(threshold, self.budget.part(part))
            took_long = self.budget.spent() - began > LONG * self.budget.wall_seconds
            failures += self.above == threshold
            if failures == MOST_FAILURES and not self.searches:
                break
            is_close = self.above - self.refuted <= WORTH * self.refuted
            if (took_long and is_close) or len(self.too_long) == MOST_TOO_LONG:
                break
        if self.refuted == first and self.too_long:
            raise UnsupportedError(
                f"refuting {min(self.too_long)} takes a search of more than {self.most_steps:,} "
                f"steps, of about {self.too_long[min(self.too_long)]:,}."
            )

    def _enough(self, precision: float) -> int:
        """Return the threshold to stop at: the last that may be refuted, or some part below it."""
        if not precision:
            return self.above - 1
        return int(min(self.last, self.above - 1) / (1 + precision))

    def _next(self, margins: list[float], most_step: float) -> int:
        """Return the threshold to refute next; take those margins that have led to it."""
        middle = (self.refuted + self.above) // 2
        if not self.searches:
            middle = min(middle, int(self.refuted + self.last) // 2)
        while margins:
            threshold = min(middle, int(self.last / (1 + margins.pop(0))))
            if threshold > self.refuted * (1 + WORTH):
                return threshold
        return min(middle, int(self.refuted * (1 + most_step)) + 1)

    def _reach(self) -> float:
        """Return about the largest threshold whose search ends in time, and can be checked."""
        if not self.searches or self.refuted < FAR * self.last:
            return np.inf
        _, steps, seconds = self.searches[-1]
        times = min(self.budget.remaining() / max(1.5 * seconds, 1e-6), self.most_steps / steps)
        if times > SHORT:
            return np.inf
        percents = np.log(max(1.0, times)) / np.log(self._growth())
        return float(self.refuted * (1 + percents / 100))

    def _growth(self) -> float:
        """Return how many times as long a search will take for each percent more."""
        if len(self.searches) < 2:
            return SEARCH_GROWTH
        (before, fewer, _), (threshold, steps, _) = self.searches[-2:]
        percents = 100 * (threshold / before - 1)
        return float(np.clip((steps / fewer) ** (2 / percents), LEAST_GROWTH, SEARCH_GROWTH))

    def prove(self, threshold: int, budget: Budget) -> None:
        """Refute a threshold, or find that it is not refuted, or only by a search too long."""
        limit, is_weighed = threshold + self.allowed, False
        pool = self.weigher.pool
        while not budget.is_spent():
            weights = self.weigher.integers(self.weights)
            began = self.budget.spent()
            result = attempt(self.tensors, pool, weights, self.k, limit, budget, self.most_steps)
            if result is None:
                lacking = LACKING_PART * self.k * (self.last / threshold - 1)
                part = budget.part(WEIGHING_AGAIN_FRACTION)
                weighing = self._weigh(threshold, part, max(PRECISION, lacking))
                if is_weighed or weighing.lower <= self.k:
                    break
                self.weights, is_weighed = weighing.weights, True
            elif result.payload is not None:
                self.searches.append((threshold, result.steps, self.budget.spent() - began))
                self._report(threshold, result)
                return
            elif result.found:
                is_weighed = False
                for members, cost in result.found:
                    pool.add(members, cost)
                if len(result.found) > MANY_FOUND:
                    part = budget.part(WEIGHING_FOUND_FRACTION)
                    weighing = self._weigh(threshold, part, FOUND_PRECISION * self.k)
                    if weighing.lower > self.k:
                        self.weights = weighing.weights
            else:
                if not budget.is_spent():
                    self.too_long[threshold] = result.steps
                break
        self.above = threshold

    def _weigh(self, threshold: int, budget: Budget, precision: float = PRECISION) -> Weighing:
        return self.weigher.at(threshold + self.allowed, self.weights, budget, precision)

    def _report(self, threshold: int, result: Attempt) -> None:
        self.refuted = threshold
        payload = {"threshold": threshold, "loaded": int(self.is_loaded), **(result.payload or {})}
        certificate = Certificate.of(self.instance, KIND, threshold + 1, payload, self.producer)
        self.progress.bound(certificate)
