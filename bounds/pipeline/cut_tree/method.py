"""`cut-tree`: bounds at rising thresholds, each by node weights and a tree of minimum cuts.

Weights are computed for about the largest threshold that they can refute; a tree then needs less
time the farther its threshold is below that one. A set that a tree finds becomes a row of the
weights' program. What the checker could not follow in its steps is not refuted.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from boundmark.bounds.best import Best
from boundmark.bounds.checker.pipeline.limits import LARGEST_CUT_GRAPH
from boundmark.bounds.pipeline.cut_tree import search
from boundmark.bounds.pipeline.cut_tree.search import IndexArray, Rule, Search
from boundmark.bounds.pipeline.packing.set_weights import SetWeights, SetWeightSettings, in_edges
from boundmark.bounds.pipeline.packing.shared import SharedWeights
from boundmark.bounds.pipeline.packing.tensors import Tensors, loaded, members_where, packed
from boundmark.bounds.pipeline.packing.weighing import FloatArray
from boundmark.bounds.pipeline.quick_partition import quick_partition
from boundmark.bounds.pipeline.share import Tables, table_in_time
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

KIND = "cut-tree/1"

PRODUCER = "cut-tree"


@dataclass(frozen=True)
class CutTreeSettings:
    """Settings of `cut-tree`: how time is divided, and which thresholds are tried.

    Attributes
    ----------
    start_fraction
        Part of the time for a quick partition, whose stages are the first sets.
    weighing_fraction
        Part of the time for weights before the first tree.
    weighing_again_fraction
        Part of all the time for new weights after a tree has found a set.
    margin_again
        By how much the weights have to exceed k stages after a tree has found a set, as a part of
        them.
    first_part
        Threshold of the first tree, as a part of the largest one that weights were found for.
    tree_fraction, last_fraction
        Part of the remaining time that a tree is expected to take, at most; the latter where the
        former leaves less than a fifth more than the tree before took.
    growth, shortest
        A tree is expected to take so many times what the one before took, at most, but some
        seconds at least.
    worth
        If no threshold is left that is higher than the last one refuted by more than this part of
        it, those that stood are tried again with better weights.
    further, better_fraction, most_retries
        Such weights are for a threshold higher by this part than the last one refuted, and take the
        second part of the remaining time, at most. If they help to refute nothing, `further` is
        halved, and after so many times in a row, the method ends.
    patience
        Part of the remaining time for trees that find sets at one threshold; then lower ones are
        tried.
    quick
        Seconds of a tree up to which it is the tree that tells whether weights are good enough,
        instead of long walks.
    most_found
        Sets that a tree may find before weights are computed again, in the time of one tree.
    nearer
        Part of the way to the threshold of a quick tree by which weights are for a lower one after
        it has found a set.
    whole
        Sum of the integer weights, about.
    price_units
        Units that a price of weight has at the beginning, about: flows are counted in parts of a
        tick that allow for so many.
    candidates
        Number of nodes that are compared before a branching.
    rounds
        Rounds of flow by which they are compared, at most: more tell their gains exactly, and take
        longer.
    most_steps
        Steps that the checker takes for a tree, at most; the rest is for the instance.
    most_numbers
        Numbers of a tree's certificate, at most; they take about 6 bytes each.
    turn
        Number of branches, times nodes, between two looks at the clock.
    weights
        Settings of the search for weights.
    """

    start_fraction: float = 0.02
    weighing_fraction: float = 0.35
    weighing_again_fraction: float = 0.03
    margin_again: float = 0.0001
    first_part: float = 0.8
    tree_fraction: float = 0.5
    last_fraction: float = 0.75
    growth: float = 3.0
    shortest: float = 0.3
    worth: float = 0.003
    further: float = 0.03
    better_fraction: float = 0.2
    most_retries: int = 3
    patience: float = 0.05
    quick: float = 1.0
    most_found: int = 10
    nearer: float = 0.25
    whole: int = 2**17
    price_units: int = 2**10
    candidates: int = 8
    rounds: int = 2
    most_steps: int = 3 * 2**24
    most_numbers: int = 2**23
    turn: int = 10_000
    weights: SetWeightSettings = field(default_factory=SetWeightSettings)


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
    shared = shared or SharedWeights()
    start = shared.start or quick_partition(
        instance, seed, budget.part(settings.start_fraction), best.proven
    )
    above = int(min(best.objective, instance.objective(start)))
    rise = _Rise(instance, budget, best, settings, seed, above, shared)
    rise.weights.add_stages(start)
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
    retries, refuted_before
        How often better weights were computed since more than the latter was refuted.
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
    retries: int = 0
    refuted_before: int = 0

    def __post_init__(self) -> None:
        graph, k = self.instance.graph, self.instance.k
        # Either cuts neglect overflow, or all parameters count as work and the cache as time.
        self.is_loaded = int(graph.param_load.sum()) > k * graph.cache
        self.allowed = graph.cache if self.is_loaded else 0
        self.tensors = Tensors.of(loaded(graph) if self.is_loaded else graph)
        self.weights = SetWeights(self.tensors, k, self.seed, self.settings.weights)
        self.current: FloatArray = self.weights.by_work()
        self.above = self.known
        self.pace = _Pace()

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
        if self.above < self.cost and self.above - self.refuted <= (
            self.settings.worth * self.refuted
        ):
            self.retries = 0 if self.refuted > self.refuted_before else self.retries + 1
            if self.retries > self.settings.most_retries:
                return False
            self.refuted_before = self.refuted
            self.above = self.cost
            further = 1 + self.settings.further / 2**self.retries
            self.last = min(self.cost - 1, int(self.refuted * further) + 1)
            budget = self.budget.part(self.settings.better_fraction)
            self.current = self.weights.at(self.last + self.allowed, self.current, budget).weights
        return self.above - self.refuted > 1

    def weigh(self) -> None:
        """Find weights for about the largest threshold that they refute."""
        threshold = None
        found = self.shared.found(self.is_loaded)
        if found:
            for members in found.sets:
                self.weights.add(members)
            self.current, threshold = found.weights, found.threshold
        between = self.refuted, self.above
        budget = self.budget.part(self.settings.weighing_fraction)
        found = self.weights.for_largest(between, self.allowed, self.current, budget, threshold)
        self.last, self.current = found.threshold, found.weights
        self.shared.tell(self.is_loaded, found)

    def prove_all(self) -> None:
        """Refute rising thresholds, as far apart as the time for trees allows."""
        threshold, patience = int(self.settings.first_part * self.last), 0.0
        while threshold and self.is_open() and self.reopen():
            threshold = min(max(threshold, self.refuted + 1), self.above - 1)
            before = self.budget.spent()
            ended, part, is_new = self.prove(threshold)
            self.pace.note(threshold, self.budget.spent() - before, ended == search.REFUTED, part)
            if is_new and self.weigh_again(threshold):
                patience = patience or before + self.settings.patience * self.budget.remaining()
                if self.budget.spent() > patience:
                    threshold, patience = (self.refuted + threshold) // 2, 0.0
                continue
            patience = 0.0
            if ended != search.REFUTED:
                self.above = threshold
            threshold = self.next_threshold()

    def weigh_again(self, threshold: int) -> bool:
        """Find weights again, with a new set as constraint; return whether a proof is likely."""
        part = self.settings.weighing_again_fraction * self.budget.wall_seconds
        budget = self.budget.part(min(1.0, part / max(self.budget.remaining(), 1e-9)))
        is_quick = self.pace.seconds < self.settings.quick
        nearer = self.settings.nearer if is_quick else 0.0
        self.last = max(threshold, int((1 - nearer) * self.last + nearer * threshold))
        k = self.instance.k
        limit = self.last + self.allowed
        weighing = self.weights.at(limit, self.current, budget, is_quick=is_quick)
        self.current = weighing.weights
        if weighing.lower > k * (1 + self.settings.margin_again):
            return True
        # Below, fewer sets count, and weights may still do.
        before = self.last
        self.last = max(threshold, int(before * max(0.9, weighing.lower / k) * 0.995))
        return before > threshold

    def next_threshold(self) -> int:
        """Return the threshold whose tree is expected to fill the time left; 0 if there is none."""
        settings, pace, left = self.settings, self.pace, self.budget.remaining()
        most = settings.tree_fraction * left
        if most < 1.2 * pace.seconds:
            most = settings.last_fraction * left
        most = min(most, pace.longest)
        if most < pace.seconds:
            return 0
        seconds = min(most, max(settings.growth * pace.seconds, settings.shortest))
        middle = (self.refuted + self.above) // 2
        return max(self.refuted + 1, min(middle, pace.threshold_for(seconds)))

    def prove(self, threshold: int) -> tuple[int, float, bool]:
        """Search for a set that costs at most a threshold, and report a bound if there is none.

        Returns
        -------
        How the search ended, the part of a certificate's size that was needed, and whether a set
        was found that weights did not know.
        """
        settings = self.settings
        weights = np.floor(self.current / max(self.current.sum(), 1e-9) * settings.whole)
        rule, state = start_search(
            self.tensors,
            self.instance.k,
            frozen(weights.astype(np.int64)),
            threshold + self.allowed,
            settings,
        )
        ended, branches = search.RUNNING, max(1, settings.turn // self.tensors.nodes)
        while ended == search.RUNNING and not self.budget.is_spent():
            ended = search.proceed(rule, state, branches)
        written, steps = state.counts[search.WRITTEN], state.counts[search.STEPS]
        part = float(max(written / settings.most_numbers, steps / settings.most_steps))
        if ended == search.FOUND:
            return ended, part, self.add_found(rule, state)
        if ended == search.REFUTED:
            payload = {
                "threshold": threshold,
                "loaded": int(self.is_loaded),
                "scale": int(rule.scalars[search.SCALE]),
                "weights": rule.weights.tolist(),
                "nodes": entries(state),
            }
            self.best.bound(Certificate.of(self.instance, KIND, threshold + 1, payload, PRODUCER))
        return ended, part, False

    def add_found(self, rule: Rule, state: Search) -> bool:
        """Add the set that a tree found, and those found next; return whether one is new."""
        until, is_new = self.budget.spent() + self.pace.seconds, False
        branches = max(1, self.settings.turn // self.tensors.nodes)
        ended = search.FOUND
        for _ in range(self.settings.most_found):
            sides = state.sides[state.counts[search.DEPTH]]
            is_new |= self.weights.add(members_where(sides == search.INSIDE))
            # The proof has a gap from here on.
            state.counts[search.DEPTH] -= 1
            state.counts[search.IS_NEW] = 0
            ended = search.RUNNING
            while ended == search.RUNNING and not self.budget.is_spent():
                if self.budget.spent() >= until:
                    break
                ended = search.proceed(rule, state, branches)
            if ended != search.FOUND:
                break
        return is_new


@dataclass(eq=False)
class _Pace:
    """How the time that trees take grows with the threshold.

    Attributes
    ----------
    power
        About the power of the threshold with which the time grows.
    threshold, seconds
        Of the last tree that refuted something.
    longest
        Time of a tree that takes four fifths of what a certificate may take.
    """

    power: float = 20.0
    threshold: int = 1
    seconds: float = 0.01
    longest: float = math.inf

    def note(self, threshold: int, seconds: float, has_refuted: bool, part: float) -> None:
        """Record how long a tree took, or at least took if it was given up.

        Parameters
        ----------
        part
            Of a certificate's size that was needed.
        """
        seconds = max(seconds, 0.01)
        if min(seconds, self.seconds) > 0.1 and threshold > self.threshold:
            grown = math.log((1 if has_refuted else 1.5) * seconds / self.seconds)
            power = grown / math.log(threshold / self.threshold)
            self.power = min(max((self.power + power) / 2, 8.0), 60.0)
        if has_refuted:
            self.threshold, self.seconds = threshold, seconds
            self.longest = 0.8 * seconds / max(part, 1e-6)

    def threshold_for(self, seconds: float) -> int:
        """Return the threshold whose tree is expected to take a given time, at most 8 % higher."""
        step = math.log(seconds / self.seconds) / self.power
        return int(self.threshold * math.exp(min(step, 0.08)))


def start_search(
    tensors: Tensors, k: int, weights: IntArray, limit: int, settings: CutTreeSettings
) -> tuple[Rule, Search]:
    """Return a rule for sets that weigh the mean over k and cost at most a limit, and a search."""
    graph, n = tensors.graph, tensors.nodes
    m = graph.dag.edges
    least = -(-int(weights.sum()) // k)
    total = int(graph.work.sum()) + 4 * int(graph.transfer.sum()) + limit
    wanted = -(-settings.price_units * least // max(1, limit))
    scale = max(1, min(wanted, 2**58 // max(1, total)))
    largest_price = 2**60 // max(1, int(weights.sum()))
    in_start, edges = in_edges(tensors)
    arcs = _Arcs.of(graph)
    around = np.where(np.diff(graph.dag.consumer_start) > 0, graph.transfer, 0)
    np.add.at(around, graph.dag.targets, graph.transfer[graph.dag.sources])
    scalars = (
        limit, least, scale, largest_price, graph.cache, settings.most_steps, settings.candidates,
        settings.rounds,
    )  # fmt: skip
    rule = Rule(
        before=packed(tensors.before, n),
        after=packed(tensors.after, n),
        sources=frozen(graph.dag.sources),
        targets=frozen(graph.dag.targets),
        out_start=frozen(graph.dag.consumer_start),
        in_start=in_start,
        in_edges=edges,
        work=frozen(graph.work),
        load=frozen(graph.param_load),
        transfer=frozen(graph.transfer),
        weights=frozen(weights),
        around=frozen(around),
        arc_start=arcs.start,
        head=arcs.head,
        reverse=arcs.reverse,
        sent=arcs.sent,
        returned=arcs.returned,
        halved=arcs.halved,
        scalars=frozen(np.array(scalars)),
    )
    price = min(scale * limit // max(1, least), largest_price)
    counts = np.array([0, 1, price, 0, 0, 0], dtype=np.int64)
    state = Search(
        residual=scale * arcs.room,
        added=scale * graph.work - price * weights,
        told=np.zeros(m, dtype=np.int64),
        sides=np.zeros((n + 2, n), dtype=np.int8),
        branched=np.zeros(n + 2, dtype=np.int64),
        side=np.zeros(n + 2, dtype=np.int64),
        prices=np.zeros(n + 2, dtype=np.int64),
        written=np.zeros(settings.most_numbers, dtype=np.int64),
        counts=counts,
    )
    return rule, state


@dataclass(frozen=True)
class _Arcs:
    """The network of flows through tensors, as `search.Rule` has it.

    Attributes
    ----------
    room
        What each arc has room for at the beginning, in ticks.
    """

    start: IndexArray
    head: IndexArray
    reverse: IndexArray
    room: IntArray
    sent: IntArray
    returned: IntArray
    halved: IntArray

    @classmethod
    def of(cls, graph: PipelineGraph) -> "_Arcs":
        """Return the arcs of a graph, each beside others from the same vertex."""
        n, m = graph.dag.nodes, graph.dag.edges
        consumers = np.diff(graph.dag.consumer_start)
        # Each arc is followed by the one back. To and from consumers, no flow is larger than the
        # tensor's room.
        pairs: list[tuple[int, int, int, int]] = []
        sent, returned, halved = [0] * m, [0] * m, [0] * m
        for u in range(n):
            room = int(graph.transfer[u])
            edges = range(graph.dag.consumer_start[u], graph.dag.consumer_start[u + 1])
            if consumers[u] == 1:
                (e,) = edges
                sent[e], returned[e], halved[e] = 2 * len(pairs) + 1, 2 * len(pairs), 1
                pairs.append((u, int(graph.dag.targets[e]), room, room))
                continue
            if consumers[u]:
                pairs += [(u, n + u, room, 0), (2 * n + u, u, room, 0)]
            for e in edges:
                w = int(graph.dag.targets[e])
                sent[e], returned[e] = 2 * len(pairs) + 1, 2 * len(pairs) + 3
                pairs += [(n + u, w, room, 0), (w, 2 * n + u, room, 0)]
        tails = np.array([end for pair in pairs for end in pair[:2]], dtype=np.int64)
        heads = np.array([end for pair in pairs for end in pair[1::-1]], dtype=np.int64)
        rooms = np.array([room for pair in pairs for room in pair[2:]], dtype=np.int64)
        order = np.argsort(tails, kind="stable")
        place = np.argsort(order, kind="stable")
        return cls(
            start=_indices(np.searchsorted(tails[order], np.arange(3 * n + 1))),
            head=_indices(heads[order]),
            reverse=_indices(place[order ^ 1]),
            room=frozen(rooms[order]),
            sent=frozen(place[sent]),
            returned=frozen(place[returned]),
            halved=frozen(halved),
        )


def _indices(numbers: IntArray) -> IndexArray:
    result = numbers.astype(np.uint64)
    result.flags.writeable = False
    return result


def entries(state: Search) -> list[list[int]]:
    """Return the proof that a search has written."""
    numbers: list[int] = state.written[: state.counts[search.WRITTEN]].tolist()
    result = []
    at = 0
    while at < len(numbers):
        end = at + 1 + numbers[at]
        result.append(numbers[at + 1 : end])
        at = end
    return result
