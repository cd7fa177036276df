"""Compiled latency and memory of plans; `boundmark.problems.slicing.latency` says what they mean."""

import numpy as np

from boundmark.heuristics.slicing.kernels.compiling import compiled
from boundmark.problems.arrays import IntArray


@compiled()
def missing(edges, row, vectors, lengths, begin, end, device):  # type: ignore[no-untyped-def]
    """Return the bytes of an edge's tensor that a device needs for a part and does not hold."""
    producer, unit, extent = edges[row, 0], edges[row, 2], edges[row, 3]
    multiply, add, size = edges[row, 4], edges[row, 5], edges[row, 6]
    divide, scale, crosses = edges[row, 7], edges[row, 8], edges[row, 9]
    low = min(max(scale * ((begin * multiply + add) // divide), 0), extent)
    reach = (end - 1) * multiply + add + size - 1
    high = max(low, min(scale * (reach // divide + 1), extent))
    first, last = vectors[producer, device], vectors[producer, device + 1]
    if crosses:
        return unit * (high - low) * (lengths[producer] - (last - first))
    return unit * (high - low - max(0, min(high, last) - max(low, first)))


@compiled()
def operator_ticks(length, work, launch, edges, start, router, vectors, operator):  # type: ignore[no-untyped-def]
    """Return the ticks of an operator on its slowest device."""
    devices = work.shape[1]
    active = 0
    for device in range(devices):
        active += vectors[operator, device] < vectors[operator, device + 1]
    broadcast = 0
    if active > 1:
        for row in range(start[operator], start[operator + 1]):
            if edges[row, 4] == 0:
                parts = length[edges[row, 0]] if edges[row, 9] else 1
                broadcast += edges[row, 2] * edges[row, 3] * parts
    longest = 0
    for device in range(devices):
        begin, end = vectors[operator, device], vectors[operator, device + 1]
        if begin == end:
            continue
        sent = 0
        for row in range(start[operator], start[operator + 1]):
            if active == 1 or edges[row, 4] != 0:
                sent += missing(edges, row, vectors, length, begin, end, device)
        ticks = 0
        if sent + broadcast > 0:
            ticks = router[4]
            ticks -= (-sent * router[0]) // router[1]
            ticks -= (-broadcast * router[2]) // router[3]
        if work[operator, device] > 0:
            ticks += launch[device]
            ticks -= (-work[operator, device] * (end - begin)) // length[operator]
        longest = max(longest, ticks)
    return longest


@compiled()
def all_ticks(length, work, launch, edges, start, router, vectors, ticks):  # type: ignore[no-untyped-def]
    """Fill in the ticks of each operator, and return their sum."""
    total = 0
    for operator in range(len(length)):
        ticks[operator] = operator_ticks(
            length, work, launch, edges, start, router, vectors, operator
        )
        total += ticks[operator]
    return total


@compiled()
def excess_memory(length, edges, start, weights, output, last_use, capacity, is_shared, vectors):  # type: ignore[no-untyped-def]
    """Return by how many bytes the devices exceed their memory, over all operators and devices."""
    devices = len(capacity)
    held = np.zeros(devices, np.int64)
    # Outputs in the order in which they are freed.
    freed = np.argsort(last_use)
    gone = 0
    excess = 0
    for operator in range(len(length)):
        for device in range(devices):
            begin, end = vectors[operator, device], vectors[operator, device + 1]
            held[device] += (end - begin) * output[operator]
            taken = held[device]
            if begin < end:
                if is_shared[operator]:
                    taken -= (-weights[operator] * (end - begin)) // length[operator]
                else:
                    taken += weights[operator]
                for row in range(start[operator], start[operator + 1]):
                    taken += missing(edges, row, vectors, length, begin, end, device)
            excess += max(0, taken - capacity[device])
        while gone < len(freed) and last_use[freed[gone]] == operator:
            other = freed[gone]
            for device in range(devices):
                width = vectors[other, device + 1] - vectors[other, device]
                held[device] -= width * output[other]
            gone += 1
    return excess


def latency_of(arrays, vectors: IntArray) -> int:  # type: ignore[no-untyped-def]
    """Return the latency of partition vectors, whatever memory they take."""
    ticks = np.empty(len(arrays.length), np.int64)
    return int(
        all_ticks(
            arrays.length, arrays.work, arrays.launch, arrays.edges, arrays.start, arrays.router,
            vectors, ticks,
        )
    )  # fmt: skip
