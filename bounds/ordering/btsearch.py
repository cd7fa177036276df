"""`btsearch`: backtracking over graph states ([MEMORIANOVA24], Section 3.2 and Algorithm 1).

A state says which operators have run. From each, all executable operators are tried in turn, depth
first; hashing (3.2.2) keeps what parsing a state gave: its executable operators and the tensors
that it holds. There is no pruning by the best order so far.

State marking (3.2.1) can be read in two ways. As "each serial subgraph is processed only once"
(3.2.3): a state is marked with the best cost of all that follows it, its remainder, and is never
entered again, since what follows does not depend on how it was reached. As "prune if the current
metric exceeds the recorded value": it is marked with the cost of reaching it, and entered again
whenever it is reached at a lower one. The first is the method, the second is `marking="prefix"`;
it prunes equal costs too, since what follows is equal then. A state is parsed before it is looked
up, as in the text, so that hashing saves something under either.
"""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from boundmark.bounds.checker.ordering import limits
from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.ordering import ExecutionOrder, OrderingInstance
from boundmark.problems.ordering.graph import INPUT

KIND = "downset-dp/1"

# Steps between looks at the clock.
STEPS_PER_LOOK = 256


class GraphStates:
    """Parser of graph states: sets of operators that have run, as bits.

    Parameters
    ----------
    hashing
        Whether results are kept.
    """

    def __init__(self, instance: OrderingInstance, hashing: bool) -> None:
        graph = instance.graph
        self.all = (1 << instance.nodes) - 1
        self._size = graph.size.tolist()
        self._producer = graph.producer.tolist()
        self._readers = [sum(1 << reader for reader in row) for row in graph.consumers]
        self._kept = set(graph.kept)
        self._needs = [
            sum({1 << self._producer[t] for t in read if self._producer[t] != INPUT})
            for read in graph.reads
        ]
        self._written: list[int] = [sum(self._size[t] for t in written) for written in graph.writes]
        self._workspace: list[int] = instance.workspace.tolist()
        self._overwrites = instance.overwrites
        self._known: dict[int, tuple[list[int], int]] | None = {} if hashing else None

    def parse(self, done: int) -> tuple[list[int], int]:
        """Return the executable operators, and the size of all live tensors."""
        if self._known is not None and done in self._known:
            return self._known[done]
        ready = [
            v for v, needed in enumerate(self._needs) if not done >> v & 1 and not needed & ~done
        ]
        live = 0
        for tensor, producer in enumerate(self._producer):
            is_written = producer == INPUT or done >> producer & 1
            if is_written and (self._readers[tensor] & ~done or tensor in self._kept):
                live += self._size[tensor]
        if self._known is not None:
            self._known[done] = ready, live
        return ready, live

    def memory(self, done: int, live: int, v: int) -> int:
        """Return the memory while an operator runs after a state."""
        is_in_place = any(self._readers[tensor] & ~done == 1 << v for tensor in self._overwrites[v])
        return live + self._written[v] * (not is_in_place) + self._workspace[v]


REMAINDER, PREFIX, NONE = MARKINGS = ("remainder", "prefix", "none")

# More than any cost.
_NO_ORDER = 2**62


@dataclass
class _Visit:
    """A state on the way to the current one, and what is known of it.

    Attributes
    ----------
    taken, cost
        Memory while the last operator ran, and cost of all that have run.
    live, untried
        Size of the live tensors, and operators that may be next.
    remainder, following
        The least cost of what follows, as far as it was tried, and the operator that it begins
        with.
    """

    done: int
    taken: int
    cost: int
    live: int
    untried: Iterator[int]
    remainder: int = _NO_ORDER
    following: int = -1


class Backtracking:
    """A depth-first search for the best order.

    Attributes
    ----------
    steps
        How often an operator was appended so far.
    best
        Cost of the best order; None before there is one.
    """

    def __init__(self, instance: OrderingInstance, marking: str, hashing: bool) -> None:
        if marking not in MARKINGS:
            raise InvalidInputError(
                f"btsearch: marking is {marking!r}; expected {' or '.join(map(repr, MARKINGS))}."
            )
        self._states = GraphStates(instance, hashing)
        self._marking = marking
        self._add: Callable[[int, int], int] = max if instance.metric == "peak" else operator.add
        # By state: the cost of reaching it, or its remainder and the operator that begins this.
        self._reached: dict[int, int] = {}
        self._solved = {self._states.all: (0, -1)}
        self.steps = 0
        self.best: int | None = None

    def orders(self, budget: Budget) -> Iterator[list[int]]:
        """Yield ever better orders, the last one optimal unless the budget is spent."""
        order: list[int] = []
        visits = [self._visit(0, 0, 0)]
        while visits:
            here = visits[-1]
            v = next(here.untried, None)
            if v is None:
                visits.pop()
                self._mark(here)
                if visits:
                    self._learn(visits[-1], order.pop(), here.taken, here.remainder)
                continue
            self.steps += 1
            if self.steps % STEPS_PER_LOOK == 0 and budget.is_spent():
                return
            after = here.done | 1 << v
            taken = self._states.memory(here.done, here.live, v)
            visit = self._visit(after, taken, self._add(here.cost, taken))
            if after in self._solved:
                remainder, _ = self._solved[after]
                self._learn(here, v, taken, remainder)
                total = self._add(visit.cost, remainder)
                if self.best is None or total < self.best:
                    self.best = total
                    yield [*order, v, *self._following(after)]
            elif self._reached.get(after, visit.cost + 1) > visit.cost:
                order.append(v)
                visits.append(visit)

    def _visit(self, done: int, taken: int, cost: int) -> _Visit:
        ready, live = self._states.parse(done)
        return _Visit(done, taken, cost, live, iter(ready))

    def _learn(self, visit: _Visit, v: int, taken: int, remainder: int) -> None:
        """Take an operator as the next of a state if what follows costs less than so far."""
        found = self._add(taken, remainder)
        if found < visit.remainder:
            visit.remainder, visit.following = found, v

    def _mark(self, visit: _Visit) -> None:
        """Mark a state all of whose executable operators were tried."""
        if self._marking == REMAINDER:
            self._solved[visit.done] = visit.remainder, visit.following
        elif self._marking == PREFIX:
            self._reached[visit.done] = visit.cost

    def _following(self, done: int) -> Iterator[int]:
        """Yield the operators of the best order after a solved state."""
        while done != self._states.all:
            _, v = self._solved[done]
            yield v
            done |= 1 << v


def run(
    instance: OrderingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    marking: str,
    hashing: bool,
) -> None:
    """Report ever better orders and, if all were tried in time, that the last one is optimal.

    Parameters
    ----------
    marking
        ``"remainder"``, ``"prefix"`` or ``"none"``: with what states are marked, so that they are
        recognised when they are reached again.
    hashing
        Whether parsed states are kept (Section 3.2.2).
    """
    search = Backtracking(instance, marking, hashing)
    best: list[int] = []
    for best in search.orders(budget):
        progress.solution(ExecutionOrder(frozen(best)))
    if budget.is_spent() or search.best is None:
        return
    # The checker repeats each step at most once.
    reads = max(map(len, instance.graph.reads))
    feeds = max(sum(len(instance.graph.consumers[t]) for t in row) for row in instance.graph.writes)
    spent = search.steps * (5 + reads + feeds)
    held = search.steps * limits.state_bytes(instance.nodes)
    if spent <= limits.MOST_SEARCH_STEPS and held <= limits.MOST_LEVEL_BYTES:
        payload = {"order": best, "stops": [], "cuts": [], "searches": [[0, search.best]]}
        progress.bound(Certificate.of(instance, KIND, search.best, payload, "btsearch"))
    else:
        progress.bound(Claim(KIND, search.best))
