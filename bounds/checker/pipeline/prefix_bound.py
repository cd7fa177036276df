"""Checks the kind prefix-bound: bounds the weight of the first stages, a tree for each step."""

from typing import Any, NamedTuple

from ..budget import spend
from ..values import LARGEST_AMOUNT, Rejected, fields, integer, integers
from .instance import Instance
from .leaf import Program, WeighedRow, add_up
from .limits import TREE_SHARE_UNITS
from .tree import leaves, read_threshold
from .windows import Order, in_order, shares_at, weights_around


class Step(NamedTuple):
    """A bound to be proven on the weight of a prefix of the stages.

    That the prefix which ends with `last` weighs at most `limit` if `is_upper`, else that the
    prefix before `first` weighs at least `limit`.
    """

    first: int
    last: int
    is_upper: bool
    limit: int


def prefix_bound(graph: Instance, payload: Any) -> int:
    """Return the threshold + 1 if the steps refute it."""
    threshold = read_threshold(graph, payload, {"weights", "moves", "steps"})
    weights = integers(payload["weights"], "weights of the payload", 0, LARGEST_AMOUNT)
    if len(weights) != len(graph.work):
        raise Rejected("weights of the payload is not one for each node")
    if type(payload["steps"]) is not list:
        raise Rejected("steps of the payload is not a list")
    moved = _moved(graph, threshold, payload["moves"])
    shares = shares_at(graph, threshold, payload["flows"])
    if shares is None:
        return threshold + 1
    # No limit is known for what a stage has of other weights.
    is_limited = _within(weights, shares) or _within(weights, moved)
    heaviest = TREE_SHARE_UNITS if is_limited else sum(weights)
    prefixes = _Prefixes(graph, weights, heaviest)
    if prefixes.are_refuted():
        return threshold + 1
    for written in payload["steps"]:
        written = fields(written, "a step", {"first", "last", "side", "limit", "nodes"})
        step = _step(written, graph.k)
        program, weighed = prefixes.program(step)
        for leaf_program, leaf in leaves(prefixes.order, written["nodes"], program, "a step"):
            found = add_up(graph, leaf_program, shares, weighed, leaf)
            if found is not None and found[1] <= found[0] * threshold:
                raise Rejected("a leaf of a step does not prove the step's limit")
        prefixes.learn(step)
        if prefixes.are_refuted() or prefixes.is_stuck(step):
            return threshold + 1
    raise Rejected("the steps do not refute the threshold")


def _moved(graph: Instance, threshold: int, moves: Any) -> list[int]:
    """Return the nodes' work over the threshold after some of it was moved along edges.

    No tensor takes more than its transfer. So what a stage's nodes got from elsewhere came with
    tensors that enter it, and all in all they have at most its cost, hence one stage.
    """
    moves = integers(moves, "moves of the payload", 0, LARGEST_AMOUNT)
    if len(moves) % 2 or any(edge >= len(graph.edges) for edge in moves[::2]):
        raise Rejected("moves of the payload is not a list of edges and amounts")
    unit = max(threshold, 1)
    moved = [work * TREE_SHARE_UNITS // unit for work in graph.work]
    room = [transfer * TREE_SHARE_UNITS // unit for transfer in graph.transfer]
    for edge, amount in zip(moves[::2], moves[1::2], strict=True):
        u, w = graph.edges[edge]
        moved[u] -= amount
        moved[w] += amount
        room[u] -= amount
    if any(left < 0 for left in room):
        raise Rejected("moves of the payload take more along a tensor than its transfer")
    return moved


def _within(weights: list[int], most: list[int]) -> bool:
    return all(weight <= amount for weight, amount in zip(weights, most, strict=True))


def _step(written: dict[str, Any], k: int) -> Step:
    first = integer(written["first"], "first of a step", 0, k - 1)
    last = integer(written["last"], "last of a step", first, k - 1)
    if written["side"] not in ("upper", "lower"):
        raise Rejected("side of a step is neither 'upper' nor 'lower'")
    limit = integer(written["limit"], "limit of a step", -1, LARGEST_AMOUNT)
    return Step(first, last, written["side"] == "upper", limit)


class _Prefixes:
    """Bounds on the weight of the first s stages, for s from 0 to k."""

    def __init__(self, graph: Instance, weights: list[int], heaviest: int) -> None:
        self._weights, self._k, self._total = weights, graph.k, sum(weights)
        self._heaviest = heaviest
        self.order: Order = in_order(graph)
        self._before, self._after = weights_around(self.order, weights)
        self._most = [min(self._total, s * heaviest) for s in range(graph.k)] + [self._total]
        self._least = [max(0, self._total - most) for most in reversed(self._most)]

    def are_refuted(self) -> bool:
        """Whether no pipeline has such prefixes."""
        return any(least > most for least, most in zip(self._least, self._most, strict=True))

    def is_stuck(self, step: Step) -> bool:
        """Whether a step over one inner stage makes no progress, so that no later stage makes any.

        Then it holds for all later stages, or all earlier ones, as well: at a stage further on, a
        prefix weighs no less, and by induction no more, than the step assumes.
        """
        if step.first != step.last or step.first == 0 or step.last == self._k - 1:
            return False
        if step.is_upper:
            return step.limit <= self._most[step.first] and step.limit < self._total
        return step.limit >= self._least[step.last + 1] and step.limit > 0

    def program(self, step: Step) -> tuple[Program, dict[str, list[WeighedRow]]]:
        """Return the program of a step: its stages between all those before and after.

        The contrary of what is to be proved takes the place of what is known of that prefix.
        """
        first, last, k = step.first, step.last, self._k
        stages = last - first + 1
        spend(k + len(self._weights) * (stages + 1))
        least, most = self._least[first : last + 2], self._most[first : last + 2]
        if step.is_upper:
            least[-1] = max(least[-1], step.limit + 1)
            most[-1] = most[0] + stages * self._heaviest
        else:
            most[0] = min(most[0], step.limit - 1)
            least[0] = max(0, least[-1] - stages * self._heaviest)
        merged = [(k - 1) * (first > 0), *[1] * stages, (k - 1) * (last < k - 1)]
        # A prefix with a node in it has all that the node depends on; one without the node lacks
        # all that depends on it. What is before stage 0 or after the last stage is empty.
        low = [max(sum(amount > m for m in most), first == 0) for amount in self._before]
        high = [
            min(stages + 1 - sum(self._total - amount < m for m in least), stages + (last < k - 1))
            for amount in self._after
        ]
        rows = {
            "at_least": [WeighedRow(self._weights, ((b, 1),), m) for b, m in enumerate(least)],
            "at_most": [WeighedRow(self._weights, ((b, -1),), -m) for b, m in enumerate(most)],
        }
        return Program(merged, (low, high)), rows

    def learn(self, step: Step) -> None:
        """Apply a proven step to the bounds of its prefix and of those before and after it."""
        least, most, k = self._least, self._most, self._k
        if step.is_upper:
            s = step.last + 1
            most[s] = min(most[s], step.limit)
            for s in range(step.last + 1, 0, -1):
                most[s - 1] = min(most[s - 1], most[s])
            for s in range(step.last + 1, k):
                most[s + 1] = min(most[s + 1], most[s] + self._heaviest)
        else:
            s = step.first
            least[s] = max(least[s], step.limit)
            for s in range(step.first, k):
                least[s + 1] = max(least[s + 1], least[s])
            for s in range(step.first, 0, -1):
                least[s - 1] = max(least[s - 1], least[s] - self._heaviest)
