"""Searches the down-sets of a section for an order below a cost."""

from ..budget import hold, spend
from ..sets import as_bits, members
from .limits import set_steps, state_bytes
from .section import EARLIER, Section


class Search:
    """A search of one section, from the empty down-set to all operators."""

    def __init__(self, part: Section) -> None:
        self._part = part
        count = len(part.operators)
        # Sets of operators are numbers of `count` bits.
        spend((8 + count // 512) * (count + sum(2 + len(t.readers) for t in part.tensors)))
        readers = [as_bits(tensor.readers) for tensor in part.tensors]
        overwritten = [set(tensors) for tensors in part.overwrites]
        self._set_steps = set_steps(count)
        self._bytes = state_bytes(len(part.operators))
        # For each operator: (other readers, size, is overwritten) of what it may be last to read.
        self._reads: list[list[tuple[int, int, bool]]] = []
        for at, read in enumerate(part.reads):
            self._reads.append([])
            for place in read:
                tensor = part.tensors[place]
                if not tensor.stays:
                    others = readers[place] & ~(1 << at)
                    self._reads[at].append((others, tensor.size, place in overwritten[at]))
        self._needs = [
            as_bits([part.tensors[t].producer for t in read if part.tensors[t].producer >= 0])
            for read in part.reads
        ]
        # What each operator leaves behind, and the operators that read it.
        self._leaves = []
        self._feeds: list[list[int]] = []
        for written in part.writes:
            tensors = [part.tensors[t] for t in written]
            self._leaves.append(sum(t.size for t in tensors if t.readers or t.stays))
            self._feeds.append(sorted({reader for t in tensors for reader in t.readers}))
        self._start = part.base + sum(t.size for t in part.tensors if t.producer == EARLIER)
        self._first = sum(1 << at for at, needed in enumerate(self._needs) if not needed)

    def _run(self, done: int, live: int, v: int) -> tuple[int, int]:
        """Return the memory while an operator runs after a down-set, and afterwards."""
        spend(3 + len(self._reads[v]) + self._set_steps)
        taken = live + self._part.running[v]
        left, is_in_place = live + self._leaves[v], False
        for others, size, is_overwritten in self._reads[v]:
            if not others & ~done:
                left -= size
                is_in_place |= is_overwritten
        return (taken - self._part.written[v] if is_in_place else taken), left

    def _ready_after(self, done: int, ready: int, v: int) -> int:
        """Return which operators may be next, once an operator has run."""
        spend(1 + len(self._feeds[v]))
        ready ^= 1 << v
        for w in self._feeds[v]:
            if not self._needs[w] & ~done:
                ready |= 1 << w
        return ready

    def refutes_sum(self, least: list[int], limit: int) -> bool:
        """Whether the memory of all operators adds up to the limit or more in every order."""
        level = {0: (sum(least), self._start, self._first)}
        for _ in self._part.operators:
            following: dict[int, tuple[int, int, int]] = {}
            for done, (cost, live, ready) in level.items():
                for v in members(ready):
                    taken, left = self._run(done, live, v)
                    total = cost + taken - least[v]
                    after = done | 1 << v
                    known = following.get(after)
                    if total < limit and (known is None or total < known[0]):
                        following[after] = total, left, self._ready_after(after, ready, v)
                hold(self._bytes * (len(level) + len(following)))
            level = following
        return not level

    def refutes_peak(self, limit: int) -> bool:
        """Whether in all orders of the section, some operator takes the limit or more."""
        level = {0: (self._start, self._first)}
        for _ in self._part.operators:
            following: dict[int, tuple[int, int]] = {}
            for done, (live, ready) in level.items():
                steps = []
                for v in members(ready):
                    taken, left = self._run(done, live, v)
                    if taken >= limit:
                        continue
                    if left <= live:
                        steps = [(v, left)]
                        break
                    steps.append((v, left))
                for v, left in steps:
                    after = done | 1 << v
                    if after not in following:
                        following[after] = left, self._ready_after(after, ready, v)
                hold(self._bytes * (len(level) + len(following)))
            level = following
        return not level
