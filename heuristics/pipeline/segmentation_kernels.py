"""Optimal segmentation of a topological order without an n x n table.

Positions count from 0; f(l, r) is the cost of the stage of positions l .. r. Two facts carry
everything here.

*Increments.* A tensor's members are its producer and its consumers. It costs a stage nothing if all
or none of them lie in it, and its transfer otherwise. So for fixed l, putting the node at position
r into the stage adds a constant (its work, and the transfer of each tensor that it is a member of),
less the transfer again if an earlier member lies in the stage, and if r is the last member and the
first one lies in the stage. Each of these corrections applies to all l up to some position. So the
sweep over r keeps one row of costs, and a row follows from the one before by a constant, kept
aside, and at most two range subtractions per member. In the reversed order, where stages grow at
their left ends, everything is the same.

*Windows.* At a threshold t only stages with work + overflow <= t matter. That is monotone at both
ends, whereas f is not: tensor costs may shrink when a stage grows. The window of r are those l.

A decision "at most k stages of cost <= t each?" is then a sweep whose inner loops are vectorised,
in O(m + window) and without a table.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from boundmark.heuristics.compiling import INTEGERS, compiled, inlined, internal
from boundmark.heuristics.pipeline.kernel_graph import GRAPH, Graph
from boundmark.problems.arrays import IntArray

_UNREACHED = 2**40
# Largest k for which the dynamic program is the best choice when lists grow too long.
_FEW_STAGES = 8
# Largest number of vectorised subtractions that are faster than one running sum.
_FEW_CORRECTIONS = 12


class Segments(NamedTuple):
    """The costs of all stages of consecutive positions of an order, as increments.

    Attributes
    ----------
    gain_before
        ``gain_before[r]``: sum of the constants of the positions before r, shape (n + 1,).
    event_start
        Offsets into the two arrays below: the corrections of position r.
    event_bound, event_amount
        A stage l .. r costs `event_amount` less if l <= `event_bound`.
    work_before, load_before
        Sums of work and of param_load over the positions before r, shape (n + 1,).
    cache
        What a stage's sum of param_load exceeds is overflow.
    """

    gain_before: IntArray
    event_start: IntArray
    event_bound: IntArray
    event_amount: IntArray
    work_before: IntArray
    load_before: IntArray
    cache: int


class Listed(NamedTuple):
    """Stages that may be part of the best segmentation.

    Attributes
    ----------
    start
        Offsets, shape (n + 1,): stages that begin at the last position but j are those from
        ``start[j]`` to ``start[j + 1] - 1``.
    end, cost
        The position after each stage, and what it costs.
    """

    start: IntArray
    end: IntArray
    cost: IntArray


_INT = types.int64
_ROW = types.int64[::1]
_SEGMENTS = types.NamedTuple([_ROW] * 6 + [_INT], Segments)  # type: ignore[no-untyped-call]
_LISTED = types.NamedUniTuple(_ROW, 3, Listed)  # type: ignore[no-untyped-call]
_COST_AND_ENDS = types.Tuple((_INT, _ROW))  # type: ignore[no-untyped-call]


@compiled([_SEGMENTS(INTEGERS, GRAPH)])
def segments_of(order: IntArray, graph: Graph) -> Segments:
    """Return the costs of the stages of an order, or of a reversed order, in time O(n + m)."""
    nodes, edges = len(order), len(graph.producers)
    # Of each tensor's members: how many are to come, and where the first and the latest one are.
    missing = np.empty(nodes, np.int64)
    first = np.empty(nodes, np.int64)
    latest = np.full(nodes, -1, np.int64)
    for node in range(nodes):
        missing[node] = 1 + graph.consumer_start[node + 1] - graph.consumer_start[node]
    gain_before = np.zeros(nodes + 1, np.int64)
    work_before = np.zeros(nodes + 1, np.int64)
    load_before = np.zeros(nodes + 1, np.int64)
    event_start = np.zeros(nodes + 1, np.int64)
    event_bound = np.empty(edges + nodes, np.int64)
    event_amount = np.empty(edges + nodes, np.int64)
    events = 0
    for index in range(nodes):
        node = order[index]
        gain = graph.work[node]
        start, stop = graph.producer_start[node], graph.producer_start[node + 1]
        is_read = graph.consumer_start[node + 1] > graph.consumer_start[node]
        for edge in range(start - is_read, stop):
            tensor = graph.producers[edge] if edge >= start else node
            amount = graph.transfer[tensor]
            gain += amount
            if latest[tensor] < 0:
                first[tensor] = index
            else:
                event_bound[events], event_amount[events] = latest[tensor], amount
                events += 1
            latest[tensor] = index
            missing[tensor] -= 1
            if missing[tensor] == 0:
                event_bound[events], event_amount[events] = first[tensor], amount
                events += 1
        event_start[index + 1] = events
        gain_before[index + 1] = gain_before[index] + gain
        work_before[index + 1] = work_before[index] + graph.work[node]
        load_before[index + 1] = load_before[index] + graph.param_load[node]
    return Segments(
        gain_before, event_start, event_bound, event_amount, work_before, load_before, graph.cache
    )


@inlined([_INT(_SEGMENTS, _INT, _INT)])
def _overflow(segments: Segments, first: int, end: int) -> int:
    """Return the overflow of the stage of positions first .. end - 1."""
    load = segments.load_before[end] - segments.load_before[first]
    return max(0, int(load) - segments.cache)


@inlined([_INT(_SEGMENTS, _INT, _INT)])
def _floor(segments: Segments, first: int, end: int) -> int:
    """Return work + overflow of positions first .. end - 1: at most their cost, and monotone."""
    work = segments.work_before[end] - segments.work_before[first]
    return int(work + _overflow(segments, first, end))


@inlined([_INT(_SEGMENTS, _INT, _INT)])
def _increment(segments: Segments, first: int, index: int) -> int:
    """Return by how much position `index` raises the cost of first .. index - 1, less overflow."""
    increment = segments.gain_before[index + 1] - segments.gain_before[index]
    for event in range(segments.event_start[index], segments.event_start[index + 1]):
        if segments.event_bound[event] >= first:
            increment -= segments.event_amount[event]
    return int(increment)


@internal([types.void(_ROW, _ROW, _ROW, _INT, _INT)])
def _correct_in_one_go(
    bounds: IntArray, amounts: IntArray, costs: IntArray, first: int, end: int
) -> None:
    """Apply many corrections to the costs of stages that begin at first .. end - 1, in one pass."""
    pending = np.zeros(end - first, np.int64)
    for event in range(len(bounds)):
        if bounds[event] >= first:
            pending[bounds[event] - first] += amounts[event]
    total = 0
    for index in range(end - first - 1, -1, -1):
        total += pending[index]
        costs[first + index] -= total


@inlined([_INT(_SEGMENTS, _INT, _INT, _INT, _ROW)])
def _sweep(segments: Segments, threshold: int, first: int, end: int, costs: IntArray) -> int:
    """Advance the sweep over right ends from end - 1 to `end`; return where its window begins.

    From then on, the stage l .. end - 1 costs ``costs[l] + gain_before[end]`` plus overflow for
    every l in the window ``first .. end - 1``.
    """
    costs[end - 1] = -segments.gain_before[end - 1]
    while first < end and _floor(segments, first, end) > threshold:
        first += 1
    start, stop = segments.event_start[end - 1], segments.event_start[end]
    if stop - start > _FEW_CORRECTIONS:
        bounds, amounts = segments.event_bound[start:stop], segments.event_amount[start:stop]
        _correct_in_one_go(bounds, amounts, costs, first, end)
    else:
        for event in range(start, stop):
            if segments.event_bound[event] >= first:
                affected = costs[first : segments.event_bound[event] + 1]
                amount = segments.event_amount[event]
                for index in range(affected.size):
                    affected[index] -= amount
    return first


@inlined([_INT(_SEGMENTS, _INT, _INT, _INT, _ROW, _ROW)])
def _fewest_before(
    segments: Segments, threshold: int, first: int, end: int, costs: IntArray, fewest: IntArray
) -> int:
    """Return the least ``fewest[l]`` of the stages l .. end - 1 of cost <= threshold."""
    limit = threshold - segments.gain_before[end]
    row, before = costs[first:end], fewest[first:end]
    best = _UNREACHED
    if _overflow(segments, first, end) == 0:
        for index in range(row.size):
            best = min(best, before[index] if row[index] <= limit else _UNREACHED)
    else:
        load, room = segments.load_before[first:end], segments.load_before[end] - segments.cache
        for index in range(row.size):
            cost = row[index] + max(0, room - load[index])
            best = min(best, before[index] if cost <= limit else _UNREACHED)
    return best


@compiled([_INT(_SEGMENTS, _INT, _INT, types.boolean, _ROW)])
def fewest_stages(
    segments: Segments, k: int, threshold: int, until_refuted: bool, fewest: IntArray
) -> int:
    """Return the smallest number of stages of cost <= threshold into which the order can be cut.

    `fewest`, shape (n + 1,), is filled with the answer for every prefix, `_UNREACHED` or more if
    there is none. If `until_refuted`, stop and return k + 1 as soon as it cannot be k or fewer.
    """
    nodes = len(fewest) - 1
    costs = np.empty(nodes, np.int64)
    fewest[0] = 0
    first = 0
    for end in range(1, nodes + 1):
        first = _sweep(segments, threshold, first, end, costs)
        fewest[end] = 1 + _fewest_before(segments, threshold, first, end, costs, fewest)
        if until_refuted and (end & 31) == 0:
            # Every segmentation has a cut in this window, or ends a stage at its right.
            rest = segments.work_before[nodes] - segments.work_before[end]
            window, least = fewest[first : end + 1], fewest[end]
            for index in range(window.size):
                least = min(least, window[index])
            if least + (rest + threshold - 1) // max(1, threshold) > k:
                return k + 1
    return int(fewest[nodes])


@internal([_INT(_SEGMENTS, _INT, _INT)])
def _longest_stages(segments: Segments, k: int, threshold: int) -> int:
    """Return the cost of always cutting off the longest stage of cost <= threshold.

    It does not always have the fewest stages, because f is not monotone; nor is a stage followed
    beyond twice the threshold. If k stages do not suffice, the result is negative: -1 -
    (number of positions that they cover).
    """
    nodes = len(segments.event_start) - 1
    first = stages = worst = 0
    while first < nodes:
        if stages == k:
            return -1 - first
        stages += 1
        cost = 0
        best_end, best_cost = first, 0
        for index in range(first, nodes):
            if _floor(segments, first, index + 1) > threshold:
                break
            cost += _increment(segments, first, index)
            total = cost + _overflow(segments, first, index + 1)
            if total <= threshold:
                best_end, best_cost = index + 1, total
            elif total > 2 * threshold:
                break
        if best_end == first:
            return -1 - first
        worst = max(worst, best_cost)
        first = best_end
    return worst


@internal([_INT(_SEGMENTS, _INT, _INT)])
def _good_segmentation(segments: Segments, k: int, floor: int) -> int:
    """Return the cost of some segmentation: search over thresholds for `_longest_stages`.

    The search begins at `floor`, a lower bound.
    """
    nodes = len(segments.event_start) - 1
    low, guess = floor, floor
    # All nodes in one stage: nothing is transferred.
    high = _floor(segments, 0, nodes)
    while high - low > low // 128 + 1:
        cost = _longest_stages(segments, k, guess)
        if cost >= 0:
            high = cost
            guess = low + (high - low) // 2
        else:
            # Stages that cover half of the work cost about half as much as needed.
            low = guess
            covered = max(1, segments.work_before[-1 - cost])
            guess = int(guess * (segments.work_before[nodes] / covered))
            middle = low + (high - low) // 2
            guess = min(max(guess, low + low // 128 + 1), middle)
    return high


@internal([_INT(_SEGMENTS, _INT, _INT, _ROW, _ROW, _LISTED)])
def _list_useful_stages(
    segments: Segments,
    k: int,
    threshold: int,
    fewest: IntArray,
    fewest_after: IntArray,
    listed: Listed,
) -> int:
    """List the stages of cost <= threshold that lie in a segmentation into at most k such stages.

    Return how many there are, or -1 if there are more than fit. `segments` are those of the
    reversed order; `fewest` is what `fewest_stages` filled in for the order itself, and
    `fewest_after`, shape (n + 1,), is filled with the same for every suffix, by its length.
    """
    nodes = len(fewest) - 1
    costs = np.empty(nodes, np.int64)
    fewest_after[0] = 0
    listed.start[0] = 0
    found = 0
    first = 0
    for end in range(1, nodes + 1):
        first = _sweep(segments, threshold, first, end, costs)
        listed.start[end] = found
        fewest_after[end] = _UNREACHED
        most = k - 1 - fewest[nodes - end]
        if most < 0:
            continue
        best = _fewest_before(segments, threshold, first, end, costs, fewest_after)
        fewest_after[end] = best + 1
        if best > most:
            continue
        gain, room = segments.gain_before[end], segments.load_before[end] - segments.cache
        row, after = costs[first:end], fewest_after[first:end]
        load = segments.load_before[first:end]
        for index in range(row.size):
            cost = row[index] + gain + max(0, room - load[index])
            if after[index] <= most and cost <= threshold:
                if found == listed.end.size:
                    return -1
                listed.end[found] = nodes - first - index
                listed.cost[found] = cost
                found += 1
        listed.start[end] = found
    return found


@internal([_INT(_INT, _INT, _INT, _LISTED, _ROW)])
def _least_threshold(k: int, low: int, high: int, listed: Listed, fewest: IntArray) -> int:
    """Return the least threshold in low .. high for which the listed stages suffice.

    Bisection that snaps to the costs listed; `high` must suffice. `fewest` is left as
    `fewest_stages` would fill it, up to prefixes that no segmentation at this threshold uses.
    """
    nodes = len(fewest) - 1
    while True:
        threshold = low + (high - low) // 2
        # The greatest cost met that is within the threshold, and the least beyond.
        within, beyond = np.int64(0), np.int64(2**62)
        fewest[:] = _UNREACHED
        fewest[0] = 0
        for first in range(nodes):
            stages = fewest[first] + 1
            if stages > k:
                continue
            for index in range(listed.start[nodes - first - 1], listed.start[nodes - first]):
                cost, end = listed.cost[index], listed.end[index]
                if cost > threshold:
                    beyond = min(beyond, cost)
                else:
                    within = max(within, cost)
                    fewest[end] = min(fewest[end], stages)
        if low >= high:
            return high
        if fewest[nodes] <= k:
            high = int(within)
        else:
            low = int(beyond)


@internal([_INT(_SEGMENTS, _INT, _INT)])
def _least_cost(segments: Segments, k: int, threshold: int) -> int:
    """Return the least cost with at most k stages, or the threshold if that is less.

    The dynamic program of the paper's Algorithm 1, windowed. With k = 0, any number of stages may
    be used. Memory O(n k).
    """
    nodes = len(segments.event_start) - 1
    costs = np.empty(nodes, np.int64)
    row_costs = np.empty(nodes, np.int64)
    # A layer for each number of stages; layer 0 follows itself.
    least = np.full((k + 1, nodes + 1), threshold, np.int64)
    least[:, 0] = 0
    first = 0
    for end in range(1, nodes + 1):
        first = _sweep(segments, threshold, first, end, costs)
        gain, room = segments.gain_before[end], segments.load_before[end] - segments.cache
        load, row = segments.load_before[first:end], costs[first:end]
        corrected = row_costs[first:end]
        for index in range(row.size):
            corrected[index] = row[index] + gain + max(0, room - load[index])
        if k > 0 and first == 0:
            least[1, end] = min(threshold, corrected[0])
        # Of the last layer only the whole order is asked for.
        lowest, highest = (k, k) if end == nodes else (min(2, k), max(k - 1, 0))
        for layer in range(lowest, highest + 1):
            before = least[max(0, layer - 1), first:end]
            best = threshold
            for index in range(before.size):
                best = min(best, max(before[index], corrected[index]))
            least[layer, end] = best
    return int(least[k, nodes])


@internal([_ROW(_SEGMENTS, _INT, _ROW)])
def _cut(segments: Segments, threshold: int, fewest: IntArray) -> IntArray:
    """Return the ends of a segmentation from the reversed order's segments and `fewest_stages`."""
    nodes = len(fewest) - 1
    stages = fewest[nodes]
    ends = np.empty(stages, np.int64)
    # Counted from the right, as in the segments.
    first = 0
    for stage in range(stages - 1, -1, -1):
        ends[stage] = nodes - first
        cost = 0
        for index in range(first, nodes):
            cost += _increment(segments, first, index)
            is_affordable = cost + _overflow(segments, first, index + 1) <= threshold
            if is_affordable and fewest[nodes - index - 1] == stage:
                first = index + 1
                break
    return ends


@internal([_COST_AND_ENDS(_SEGMENTS, _INT)])
def _at_most_two_stages(segments: Segments, k: int) -> tuple[int, IntArray]:
    """Return the best segmentation into at most k <= 2 stages, in time O(n + m).

    With one end fixed at 0 or n, the costs are one row each.
    """
    nodes = len(segments.event_start) - 1
    # costs_after[l]: cost of the stage l .. n - 1, from all corrections at once.
    costs_after = np.zeros(nodes + 1, np.int64)
    for event in range(segments.event_start[nodes]):
        costs_after[segments.event_bound[event]] -= segments.event_amount[event]
    for first in range(nodes - 1, -1, -1):
        costs_after[first] += costs_after[first + 1]
    best, best_end = _floor(segments, 0, nodes), nodes
    cost = 0
    for end in range(1, nodes if k == 2 else 1):
        cost += _increment(segments, 0, end - 1)
        left = cost + _overflow(segments, 0, end)
        right = costs_after[end] + segments.gain_before[nodes] - segments.gain_before[end]
        right += _overflow(segments, end, nodes)
        if max(left, right) < best:
            best, best_end = max(left, right), end
    ends = np.full(1 if best_end == nodes else 2, nodes, np.int64)
    ends[0] = best_end
    return best, ends


@internal([_INT(_SEGMENTS, _SEGMENTS, _INT, _INT, _INT, _INT, _ROW)])
def _optimum(
    right: Segments,
    left: Segments,
    k: int,
    low: int,
    high: int,
    list_size: int,
    fewest: IntArray,
) -> int:
    """Return the least cost with at most k stages, known to lie in low .. high.

    Two sweeps find the stages that can be part of a segmentation of cost `high`, usually a few for
    each position, and the optimum among these needs no further sweep. Where they are too many to
    list, decisions lower the threshold first, or, if k is small, the dynamic program runs in
    windows.
    `fewest` is left as by `fewest_stages` at the optimum.
    """
    nodes = len(fewest) - 1
    fewest_after = np.empty(nodes + 1, np.int64)
    listed = Listed(
        np.empty(nodes + 1, np.int64), np.empty(list_size, np.int64), np.empty(list_size, np.int64)
    )
    is_first_round = True
    step = high // 64 + 1
    while low < high:
        fewest_stages(right, k, high, False, fewest)
        if _list_useful_stages(left, k, high, fewest, fewest_after, listed) >= 0:
            return _least_threshold(k, low, high, listed, fewest)
        if k <= _FEW_STAGES:
            high = _least_cost(right, k, high)
            break
        if is_first_round and fewest[nodes] < k:
            # With more stages to spend than are needed, this bound is usually the optimum.
            low = max(low, _least_cost(right, 0, high))
            if fewest_stages(right, k, low, True, fewest) <= k:
                high = low
                break
            low += 1
        is_first_round = False
        # The list only gets shorter when `high` falls, and the optimum is not far below it.
        is_lower = False
        while low < high and not is_lower:
            middle = max(high - step, low + (high - low) // 2)
            is_lower = fewest_stages(right, k, middle, True, fewest) <= k
            if is_lower:
                high = middle
            else:
                low = middle + 1
    fewest_stages(right, k, high, False, fewest)
    return high


@compiled([_COST_AND_ENDS(INTEGERS, GRAPH, _INT, _INT)])
def best_segmentation(
    order: IntArray, graph: Graph, k: int, list_size: int
) -> tuple[int, IntArray]:
    """Return the least cost of cutting the order into at most k stages, and the stages' ends.

    At most `list_size` stages are listed, on which the result does not depend.
    """
    nodes = len(order)
    right = segments_of(order, graph)
    if k <= 2:
        return _at_most_two_stages(right, k)
    low = (right.work_before[nodes] + k - 1) // k
    for index in range(nodes):
        low = max(low, _floor(right, index, index + 1))
    high = _good_segmentation(right, k, low)
    left = segments_of(order[::-1].copy(), graph)
    fewest = np.empty(nodes + 1, np.int64)
    cost = _optimum(right, left, k, low, high, list_size, fewest)
    return cost, _cut(left, cost, fewest)


@compiled([types.boolean(INTEGERS, GRAPH, _INT, _INT)])
def is_segmentable(order: IntArray, graph: Graph, k: int, threshold: int) -> bool:
    """Return whether the order can be cut into at most k stages of cost <= threshold each."""
    nodes = len(order)
    right = segments_of(order, graph)
    if (right.work_before[nodes] + k - 1) // k > threshold:
        return False
    if k <= 2:
        return bool(_at_most_two_stages(right, k)[0] <= threshold)
    fewest = np.empty(nodes + 1, np.int64)
    return bool(fewest_stages(right, k, threshold, True, fewest) <= k)
