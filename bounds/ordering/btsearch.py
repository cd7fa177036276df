"""`btsearch`: backtracking over graph states ([MEMORIANOVA24], Section 3.2 and Algorithm 1).

A state says which operators have run. From each, all executable operators are tried in turn, depth
first. State marking ends a branch whose state was reached before at no higher cost; hashing keeps
what parsing a state gave: its executable operators and the tensors that it holds. Either can be
switched off, as in the paper's comparison.

The paper's text says that a branch is pruned if its metric exceeds the recorded one; here, also if
both are equal, since what follows is equal then too. It has no pruning by the best order so far.
"""

from collections.abc import Iterator

from boundmark.bounds.checker.ordering import limits
from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import Certificate, Claim
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


class Backtracking:
    """A depth-first search for the best order.

    Attributes
    ----------
    steps
        How often an operator was appended so far.
    best
        Cost of the best order; None before there is one.
    """

    def __init__(self, instance: OrderingInstance, marking: bool, hashing: bool) -> None:
        self._is_peak = instance.metric == "peak"
        self._states = GraphStates(instance, hashing)
        self._marked: dict[int, int] | None = {} if marking else None
        self.steps = 0
        self.best: int | None = None

    def orders(self, budget: Budget) -> Iterator[list[int]]:
        """Yield ever better orders, the last one optimal unless the budget is spent."""
        # States from the first to the current one: (state, cost, tensors, operators to try).
        order: list[int] = []
        ready, live = self._states.parse(0)
        stack = [(0, 0, live, iter(ready))]
        while stack:
            done, cost, live, untried = stack[-1]
            v = next(untried, None)
            if v is None:
                if self._marked is not None:
                    self._marked[done] = min(cost, self._marked.get(done, cost))
                stack.pop()
                if order:
                    order.pop()
                continue
            self.steps += 1
            if self.steps % STEPS_PER_LOOK == 0 and budget.is_spent():
                return
            taken = self._states.memory(done, live, v)
            after, total = done | 1 << v, max(cost, taken) if self._is_peak else cost + taken
            if after == self._states.all:
                if self.best is None or total < self.best:
                    self.best = total
                    yield [*order, v]
                continue
            if self._marked is not None and self._marked.get(after, total + 1) <= total:
                continue
            ready, live = self._states.parse(after)
            order.append(v)
            stack.append((after, total, live, iter(ready)))


def run(
    instance: OrderingInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    marking: bool,
    hashing: bool,
) -> None:
    """Report ever better orders and, if all were tried in time, that the last one is optimal.

    Parameters
    ----------
    marking
        Whether states that were reached before are recognised (the paper's Section 3.2.1).
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
