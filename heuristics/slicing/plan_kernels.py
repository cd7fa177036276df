"""Compiled evaluation of partition vectors, simulated annealing over them, and the best plan.

`boundmark.problems.slicing.latency` says in plain Python what latency and memory are; tests compare
the two.
"""

# ruff: noqa: NPY002 - the generator of compiled code, which the caller gives a seed.

from functools import partial
from typing import NamedTuple

import numpy as np
from numba import types

from boundmark.heuristics.incumbent import Incumbent
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.compiling import compiled, internal
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Progress
from boundmark.problems.slicing import CHANNELS, SlicingInstance, SlicingPlan


class SlicingArrays(NamedTuple):
    """Fields of a `SlicingGraph` as contiguous arrays.

    Attributes
    ----------
    edges
        A row per edge, sorted by consumer: the fields of `Edge`, and 1 if producer and consumer are
        sliced in different dimensions, shape (m, 10).
    start
        Operator i's inputs are ``edges[start[i]:start[i + 1]]``, shape (N + 1,).
    readers, reader_start
        The operators that read i's output: ``readers[reader_start[i]:reader_start[i + 1]]``.
    router
        Ticks and bytes point to point, ticks and bytes by broadcast, and the delay, shape (5,).
    last_use
        The last operator that reads each output, or the operator itself, shape (N,).
    freed
        All operators in the order of their last use, shape (N,).
    is_shared
        1 where parameters are divided among devices, 0 where they are copied, shape (N,).
    """

    length: IntArray
    work: IntArray
    launch: IntArray
    edges: IntArray
    start: IntArray
    readers: IntArray
    reader_start: IntArray
    router: IntArray
    weights: IntArray
    output: IntArray
    last_use: IntArray
    freed: IntArray
    capacity: IntArray
    is_shared: IntArray


def _readonly(axes: int) -> types.Array:
    return types.Array(types.int64, axes, "C", readonly=True)


ARRAYS = types.NamedTuple(  # type: ignore[no-untyped-call]
    [_readonly(2 if field in ("work", "edges") else 1) for field in SlicingArrays._fields],
    SlicingArrays,
)


def slicing_arrays(instance: SlicingInstance) -> SlicingArrays:
    """Return the arrays of an instance."""
    graph = instance.graph
    rows = [
        (*edge, int(graph.axis[edge.producer] != graph.axis[edge.consumer]))
        for inputs in graph.inputs
        for edge in inputs
    ]
    edges = frozen(np.array(rows, dtype=np.int64).reshape(-1, 10))
    return SlicingArrays(
        length=graph.length,
        work=graph.work,
        launch=graph.launch,
        edges=edges,
        start=frozen(np.searchsorted(edges[:, 1], np.arange(graph.nodes + 1))),
        readers=frozen(graph.dag.targets),
        reader_start=frozen(graph.dag.consumer_start),
        router=frozen([*graph.point_to_point, *graph.broadcast, graph.delay]),
        weights=graph.weights,
        output=graph.output,
        last_use=graph.last_use,
        freed=frozen(np.argsort(graph.last_use, kind="stable")),
        capacity=graph.capacity,
        is_shared=frozen((graph.axis == CHANNELS).astype(np.int64)),
    )


_ROW = types.int64[::1]
_TABLE = types.int64[:, ::1]
_REALS = types.float64[:, ::1]
_PAIR = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]

# Probabilities of steps: a pattern for a run of operators; like an input; one boundary.
_PATTERN, _LIKE_INPUT, _ONE_BOUNDARY = 0.35, 0.25, 0.2


@internal([types.int64(ARRAYS, _TABLE, types.int64, types.int64, types.int64)])
def _missing(net: SlicingArrays, vectors: IntArray, row: int, operator: int, device: int) -> int:
    """Return the bytes of an edge's tensor that a device needs and does not have."""
    begin, end = vectors[operator, device], vectors[operator, device + 1]
    edge = net.edges[row]
    producer, unit, extent = edge[0], edge[2], edge[3]
    low = min(max(edge[8] * ((begin * edge[4] + edge[5]) // edge[7]), 0), extent)
    reach = (end - 1) * edge[4] + edge[5] + edge[6] - 1
    high = max(low, min(edge[8] * (reach // edge[7] + 1), extent))
    first, last = vectors[producer, device], vectors[producer, device + 1]
    if edge[9]:
        return int(unit * (high - low) * (net.length[producer] - (last - first)))
    return int(unit * (high - low - max(0, min(high, last) - max(low, first))))


@compiled([types.int64(ARRAYS, _TABLE, types.int64)])
def operator_ticks(net: SlicingArrays, vectors: IntArray, operator: int) -> int:
    """Return the ticks of an operator on its slowest device."""
    devices = net.capacity.size
    active = 0
    for device in range(devices):
        if vectors[operator, device] < vectors[operator, device + 1]:
            active += 1
    rows = range(net.start[operator], net.start[operator + 1])
    shared = np.int64(0)
    if active > 1:
        for row in rows:
            if net.edges[row, 4] == 0:
                parts = net.length[net.edges[row, 0]] if net.edges[row, 9] else 1
                shared += net.edges[row, 2] * net.edges[row, 3] * parts
    longest = np.int64(0)
    for device in range(devices):
        width = vectors[operator, device + 1] - vectors[operator, device]
        if width == 0:
            continue
        sent = np.int64(0)
        for row in rows:
            if active == 1 or net.edges[row, 4] != 0:
                sent += _missing(net, vectors, row, operator, device)
        ticks = np.int64(0)
        if sent + shared > 0:
            ticks = net.router[4] - (-sent * net.router[0]) // net.router[1]
            ticks -= (-shared * net.router[2]) // net.router[3]
        work = net.work[operator, device]
        if work > 0:
            ticks += net.launch[device] - (-work * width) // net.length[operator]
        longest = max(longest, ticks)
    return int(longest)


@compiled([types.int64(ARRAYS, _TABLE, _ROW)])
def all_ticks(net: SlicingArrays, vectors: IntArray, ticks: IntArray) -> int:
    """Compute the ticks of each operator into `ticks`; return their sum."""
    total = np.int64(0)
    for operator in range(net.length.size):
        ticks[operator] = operator_ticks(net, vectors, operator)
        total += ticks[operator]
    return int(total)


@compiled([types.int64(ARRAYS, _TABLE, types.int64, types.int64, types.int64, _TABLE, _ROW)])
def excess_between(
    net: SlicingArrays,
    vectors: IntArray,
    first: int,
    last: int,
    gone: int,
    held: IntArray,
    excess: IntArray,
) -> int:
    """Compute by how many bytes devices exceed their memory while some operators run."""
    devices = net.capacity.size
    total = np.int64(0)
    for operator in range(first, last + 1):
        beyond = np.int64(0)
        for device in range(devices):
            width = vectors[operator, device + 1] - vectors[operator, device]
            taken = held[operator, device] + width * net.output[operator]
            held[operator + 1, device] = taken
            if width > 0:
                if net.is_shared[operator]:
                    taken -= (-net.weights[operator] * width) // net.length[operator]
                else:
                    taken += net.weights[operator]
                for row in range(net.start[operator], net.start[operator + 1]):
                    taken += _missing(net, vectors, row, operator, device)
            beyond += max(0, taken - net.capacity[device])
        excess[operator] = beyond
        total += beyond
        while gone < net.freed.size and net.last_use[net.freed[gone]] == operator:
            other = net.freed[gone]
            for device in range(devices):
                width = vectors[other, device + 1] - vectors[other, device]
                held[operator + 1, device] -= width * net.output[other]
            gone += 1
    return int(total)


@compiled([types.int64(ARRAYS, _TABLE)])
def excess_memory(net: SlicingArrays, vectors: IntArray) -> int:
    """Return by how many bytes devices exceed their memory, over all operators and devices."""
    operators = net.length.size
    held = np.zeros((operators + 1, net.capacity.size), np.int64)
    return int(
        excess_between(net, vectors, 0, operators - 1, 0, held, np.empty(operators, np.int64))
    )


@compiled([types.void(ARRAYS, types.int64[:, :, ::1], _ROW, _ROW)])
def evaluate_all(
    net: SlicingArrays, population: IntArray, latency: IntArray, excess: IntArray
) -> None:
    """Compute the latency and the excess memory of each plan, shape (p, N, n + 1)."""
    ticks = np.empty(net.length.size, np.int64)
    for number in range(len(population)):
        latency[number] = all_ticks(net, population[number], ticks)
        excess[number] = excess_memory(net, population[number])


@compiled([types.void(types.int64, types.float64[::1], _ROW)])
def fit_pattern(
    length: int, pattern: "np.ndarray[tuple[int], np.dtype[np.float64]]", vector: IntArray
) -> None:
    """Compute the vector that divides an operator at these fractions, to the nearest indices."""
    for device in range(vector.size):
        vector[device] = np.int64(np.floor(pattern[device] * length + 0.5))


@internal([_PAIR(ARRAYS, _REALS, _TABLE)])
def _change(
    net: SlicingArrays,
    patterns: "np.ndarray[tuple[int, int], np.dtype[np.float64]]",
    vectors: IntArray,
) -> tuple[int, int]:
    """Change the vectors of a run of operators at random; return its first operator and length."""
    operators, devices = net.length.size, net.capacity.size
    operator = np.random.randint(operators)
    kind = np.random.random()
    if kind < _PATTERN:
        spread = np.random.exponential(4.0) * np.random.exponential(1.0)
        count = min(operators - operator, 1 + int(spread))
        pattern = patterns[np.random.randint(len(patterns))]
        for number in range(operator, operator + count):
            fit_pattern(net.length[number], pattern, vectors[number])
        return operator, count
    inputs = net.start[operator + 1] - net.start[operator]
    if kind < _PATTERN + _LIKE_INPUT and inputs > 0:
        producer = net.edges[net.start[operator] + np.random.randint(inputs), 0]
        fractions = vectors[producer] / net.length[producer]
        fit_pattern(net.length[operator], fractions, vectors[operator])
        return operator, 1
    boundary = 1 + np.random.randint(devices - 1)
    count = 1
    if kind > _PATTERN + _LIKE_INPUT + _ONE_BOUNDARY:
        # The same boundary moves in a run of operators, by about the same fraction.
        count = min(operators - operator, 1 + int(np.random.exponential(3.0)))
    step = 1 + int(np.random.exponential(0.04) * net.length[operator])
    if np.random.random() < 0.5:
        step = -step
    for number in range(operator, operator + count):
        shift = step
        if number > operator:
            shift = int(np.floor(step * net.length[number] / net.length[operator] + 0.5))
        place = vectors[number, boundary] + shift
        low, high = vectors[number, boundary - 1], vectors[number, boundary + 1]
        vectors[number, boundary] = min(max(place, low), high)
    return operator, count


@internal([types.int64(ARRAYS, _TABLE, _TABLE, types.int64, types.int64, types.int64, _ROW, _ROW)])
def _affected(
    net: SlicingArrays,
    vectors: IntArray,
    saved: IntArray,
    first: int,
    count: int,
    step: int,
    stamp: IntArray,
    found: IntArray,
) -> int:
    """List the operators whose ticks may have changed; return their number."""
    size = 0
    for operator in range(first, first + count):
        is_same = True
        for device in range(vectors.shape[1]):
            if vectors[operator, device] != saved[operator, device]:
                is_same = False
        if is_same:
            continue
        if stamp[operator] != step:
            stamp[operator] = step
            found[size] = operator
            size += 1
        for at in range(net.reader_start[operator], net.reader_start[operator + 1]):
            reader = net.readers[at]
            if stamp[reader] != step:
                stamp[reader] = step
                found[size] = reader
                size += 1
    return size


@compiled(
    [
        types.void(
            ARRAYS,
            _REALS,
            _TABLE,
            types.int64,
            types.float64,
            types.float64,
            types.int64,
            types.int64,
        )
    ]
)
def anneal(
    net: SlicingArrays,
    patterns: "np.ndarray[tuple[int, int], np.dtype[np.float64]]",
    vectors: IntArray,
    steps: int,
    hot: float,
    cold: float,
    penalty: int,
    seed: int,
) -> None:
    """Replace vectors by the best ones that annealing finds and that fit into memory.

    If none fit, replace them by those with the least cost and penalty.
    """
    np.random.seed(seed)
    operators = net.length.size
    ticks = np.empty(operators, np.int64)
    cost = all_ticks(net, vectors, ticks)
    # Outputs held before each operator, and bytes beyond the memory while it runs: with the current
    # vectors, and with those that are tried.
    held = np.zeros((operators + 1, net.capacity.size), np.int64)
    over = np.zeros(operators, np.int64)
    tried_held, tried_over = np.zeros_like(held), np.zeros_like(over)
    freed = np.zeros(operators + 1, np.int64)
    for operator in range(operators):
        freed[net.last_use[operator] + 1] += 1
    freed = np.cumsum(freed)
    excess = excess_between(net, vectors, 0, operators - 1, 0, held, over) if penalty else 0
    cost += penalty * excess
    least, fits, best, saved = cost, excess == 0, vectors.copy(), vectors.copy()
    stamp = np.full(operators, -1, np.int64)
    touched, before = np.empty(operators, np.int64), np.empty(operators, np.int64)
    for step in range(steps):
        first, count = _change(net, patterns, vectors)
        size = _affected(net, vectors, saved, first, count, step, stamp, touched)
        change = 0
        for at in range(size):
            before[at] = ticks[touched[at]]
            ticks[touched[at]] = operator_ticks(net, vectors, touched[at])
            change += ticks[touched[at]] - before[at]
        allowed = hot * (cold / hot) ** (step / steps) * np.random.exponential(1.0)
        beyond, last = excess, -1
        if penalty and size and change <= allowed + penalty * excess:
            for operator in range(first, first + count):
                last = max(last, int(net.last_use[operator]))
            tried_held[first] = held[first]
            beyond += excess_between(
                net, vectors, first, last, int(freed[first]), tried_held, tried_over
            )
            beyond -= over[first : last + 1].sum()
            change += penalty * (beyond - excess)
        if change <= allowed:
            cost += change
            excess = beyond
            # None if memory was not looked at: then nothing has changed.
            held[first + 1 : last + 2] = tried_held[first + 1 : last + 2]
            over[first : last + 1] = tried_over[first : last + 1]
            saved[first : first + count] = vectors[first : first + count]
            if (excess == 0 and not fits) or ((excess == 0) == fits and cost < least):
                least, fits = cost, excess == 0
                best[:] = vectors
        else:
            for at in range(size):
                ticks[touched[at]] = before[at]
            vectors[first : first + count] = saved[first : first + count]
    vectors[:] = best


class PlanIncumbent(Incumbent[SlicingPlan]):
    """Evaluate plans, keep the best one and report every improvement.

    Attributes
    ----------
    arrays
        The instance as kernels read it.
    """

    def __init__(self, instance: SlicingInstance, progress: Progress) -> None:
        super().__init__(progress)
        self.arrays = slicing_arrays(instance)
        self._ticks = np.empty(instance.nodes, np.int64)

    def evaluate(self, vectors: IntArray) -> bool:
        """Offer a plan if it fits into memory; return whether it fits."""
        if excess_memory(self.arrays, vectors):
            return False
        latency = all_ticks(self.arrays, vectors, self._ticks)
        self.offer(latency, partial(SlicingPlan, vectors))
        return True

    def require(self, vectors: IntArray, what: str) -> None:
        """Offer a plan that has to fit into memory."""
        if not self.evaluate(vectors):
            raise UnsupportedError(f"{what} does not fit into the devices' memory.")
