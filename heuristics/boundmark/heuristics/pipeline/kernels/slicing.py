"""Optimal slicing of a topological order without an n x n table.

Positions count from 0; f(l, r) is the cost of the stage of positions l .. r. Two facts carry
everything here.

*Increments.* For fixed l, putting the node at position r into the stage adds a constant (its work,
its inputs, its output), less what was counted before or is no longer: an input's tensor was there
if the producer or an earlier consumer lies in the stage, and leaves the stage no more if the node
is its last consumer. Each of these corrections applies to all l up to some position. So the sweep
over r keeps one row of costs, and a row follows from the one before by a constant, kept aside, and
at most two range subtractions an edge. The same holds with the ends exchanged.

*Windows.* At a threshold t only stages with work + overflow <= t matter. That is monotone at both
ends, whereas f is not: tensor costs may shrink when a stage grows. The window of r are those l.

A decision "at most k stages of cost <= t each?" is then a sweep whose inner loops are vectorised,
in O(m + window) and without a table.
"""

from typing import NamedTuple

import numba
import numpy as np
from numba import types

from boundmark.problems.arrays import IntArray

_INTEGERS = types.Array(types.int64, 1, "C", readonly=True)
_ROW = types.int64[::1]
_UNREACHED = 2**40
# Up to here the dynamic program is the best way out when lists grow too long.
_FEW_BLOCKS = 8
# Up to here, that many vectorised subtractions are faster than one running sum.
_FEW_CORRECTIONS = 12


class Segments(NamedTuple):
    """Everything about a graph in a given order that costs of stages depend on.

    Attributes
    ----------
    gain_before
        ``gain_before[r]``: sum of the constants of the positions before r, shape (n + 1,).
    event_start
        Offsets into the two arrays below: the corrections of position r.
    event_bound, event_amount
        A stage l .. r costs `event_amount` less if l <= `event_bound` (in the sweep over r), or if
        r >= `event_bound` (in the sweep over l).
    work_before, load_before
        Sums of work and of param_load over the positions before r, shape (n + 1,).
    """

    gain_before: IntArray
    event_start: IntArray
    event_bound: IntArray
    event_amount: IntArray
    work_before: IntArray
    load_before: IntArray


_SEGMENTS = types.NamedUniTuple(_ROW, 6, Segments)  # type: ignore[no-untyped-call]
_TWO_INTEGERS = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]
_COST_AND_ENDS = types.Tuple((types.int64, _ROW))  # type: ignore[no-untyped-call]
_GRAPH = (_INTEGERS,) * 7


@numba.njit([_SEGMENTS(*_GRAPH)], cache=True, nogil=True)
def growing_right(
    order: IntArray,
    producer_start: IntArray,
    producers: IntArray,
    consumer_start: IntArray,
    work: IntArray,
    transfer: IntArray,
    param_load: IntArray,
) -> Segments:
    """Return the increments of stages that grow at their right end. Time O(n + m)."""
    nodes, edges = len(order), len(producers)
    position = np.empty(nodes, np.int64)
    unread = np.empty(nodes, np.int64)
    for index in range(nodes):
        position[order[index]] = index
        unread[index] = consumer_start[index + 1] - consumer_start[index]
    latest = position.copy()
    gain_before = np.zeros(nodes + 1, np.int64)
    work_before = np.zeros(nodes + 1, np.int64)
    load_before = np.zeros(nodes + 1, np.int64)
    event_start = np.zeros(nodes + 1, np.int64)
    event_bound = np.empty(edges + nodes, np.int64)
    event_amount = np.empty(edges + nodes, np.int64)
    events = 0
    for index in range(nodes):
        node = order[index]
        gain = work[node]
        if unread[node] > 0:
            gain += transfer[node]
        for edge in range(producer_start[node], producer_start[node + 1]):
            producer = producers[edge]
            amount = transfer[producer]
            gain += amount
            event_bound[events] = latest[producer]
            event_amount[events] = amount
            events += 1
            latest[producer] = index
            unread[producer] -= 1
            if unread[producer] == 0:
                event_bound[events] = position[producer]
                event_amount[events] = amount
                events += 1
        event_start[index + 1] = events
        gain_before[index + 1] = gain_before[index] + gain
        work_before[index + 1] = work_before[index] + work[node]
        load_before[index + 1] = load_before[index] + param_load[node]
    return Segments(gain_before, event_start, event_bound, event_amount, work_before, load_before)


@numba.njit([_SEGMENTS(*_GRAPH)], cache=True, nogil=True)
def growing_left(
    order: IntArray,
    producer_start: IntArray,
    producers: IntArray,
    consumer_start: IntArray,
    work: IntArray,
    transfer: IntArray,
    param_load: IntArray,
) -> Segments:
    """Return the increments of stages that grow at their left end. Time O(n + m)."""
    nodes, edges = len(order), len(producers)
    earliest = np.full(nodes, nodes, np.int64)
    last = np.empty(nodes, np.int64)
    gain_before = np.zeros(nodes + 1, np.int64)
    work_before = np.zeros(nodes + 1, np.int64)
    load_before = np.zeros(nodes + 1, np.int64)
    event_start = np.zeros(nodes + 1, np.int64)
    event_bound = np.empty(edges + 2 * nodes, np.int64)
    event_amount = np.empty(edges + 2 * nodes, np.int64)
    for index in range(nodes):
        node = order[index]
        gain = work[node]
        count = 0
        if consumer_start[node + 1] > consumer_start[node]:
            gain += transfer[node]
            count = 2
        for edge in range(producer_start[node], producer_start[node + 1]):
            gain += transfer[producers[edge]]
            count += 1
        event_start[index + 1] = event_start[index] + count
        gain_before[index + 1] = gain_before[index] + gain
        work_before[index + 1] = work_before[index] + work[node]
        load_before[index + 1] = load_before[index] + param_load[node]
    for index in range(nodes - 1, -1, -1):
        node = order[index]
        event = event_start[index]
        if consumer_start[node + 1] > consumer_start[node]:
            event_bound[event], event_amount[event] = earliest[node], transfer[node]
            event_bound[event + 1], event_amount[event + 1] = last[node], transfer[node]
            event += 2
        for edge in range(producer_start[node], producer_start[node + 1]):
            producer = producers[edge]
            # The bound n, past every stage, stands for "no later consumer".
            event_bound[event], event_amount[event] = earliest[producer], transfer[producer]
            event += 1
            if earliest[producer] == nodes:
                last[producer] = index
            earliest[producer] = index
    return Segments(gain_before, event_start, event_bound, event_amount, work_before, load_before)


@numba.njit([types.int64(_SEGMENTS, types.int64, types.int64, types.int64)], cache=True, nogil=True)
def _floor(segments: Segments, cache: int, first: int, end: int) -> int:
    """Return work + overflow of the positions first .. end - 1: at most their cost, monotone."""
    load = segments.load_before[end] - segments.load_before[first]
    return int(segments.work_before[end] - segments.work_before[first] + max(0, load - cache))


@numba.njit([types.void(_ROW, _ROW, _ROW, types.int64, types.int64)], cache=True, nogil=True)
def _correct_up_to(
    bounds: IntArray, amounts: IntArray, costs: IntArray, first: int, position: int
) -> None:
    """Apply a position's corrections, if many, to the costs of stages that begin at first or later.

    The corrections are added up in one go from right to left.
    """
    pending = np.zeros(position + 1 - first, np.int64)
    for event in range(len(bounds)):
        if bounds[event] >= first:
            pending[bounds[event] - first] += amounts[event]
    total = 0
    for index in range(position - first, -1, -1):
        total += pending[index]
        costs[first + index] -= total


@numba.njit([types.void(_ROW, _ROW, _ROW, types.int64, types.int64)], cache=True, nogil=True)
def _correct_from(
    bounds: IntArray, amounts: IntArray, costs: IntArray, position: int, stop: int
) -> None:
    """Apply a position's corrections, if many, to the costs of stages that end before stop."""
    pending = np.zeros(stop - position, np.int64)
    for event in range(len(bounds)):
        if bounds[event] < stop:
            pending[bounds[event] - position] += amounts[event]
    total = 0
    for index in range(stop - position):
        total += pending[index]
        costs[position + index] -= total


@numba.njit(
    [types.int64(_SEGMENTS, types.int64, types.int64, types.int64, types.boolean, _ROW)],
    cache=True,
    nogil=True,
)
def fewest_stages(
    segments: Segments, cache: int, k: int, threshold: int, until_refuted: bool, fewest: IntArray
) -> int:
    """Return how few stages of cost <= threshold the order can be sliced into.

    Parameters
    ----------
    until_refuted
        Whether to stop, and return k + 1 or more, as soon as it cannot be k or fewer.
    fewest
        Filled with the answer for every prefix, shape (n + 1,); `_UNREACHED` or more if there is
        none.
    """
    nodes = len(segments.event_start) - 1
    gain_before, event_bound = segments.gain_before, segments.event_bound
    load_before = segments.load_before
    costs = np.empty(nodes, np.int64)
    fewest[0] = 0
    first = 0
    for end in range(1, nodes + 1):
        costs[end - 1] = -gain_before[end - 1]
        while first < end and _floor(segments, cache, first, end) > threshold:
            first += 1
        events = segments.event_start[end - 1 : end + 1]
        if events[1] - events[0] > _FEW_CORRECTIONS:
            bounds = segments.event_bound[events[0] : events[1]]
            amounts = segments.event_amount[events[0] : events[1]]
            _correct_up_to(bounds, amounts, costs, first, end - 1)
        else:
            for event in range(events[0], events[1]):
                if event_bound[event] >= first:
                    affected = costs[first : event_bound[event] + 1]
                    amount = segments.event_amount[event]
                    for index in range(affected.size):
                        affected[index] -= amount
        limit = threshold - gain_before[end]
        row, before = costs[first:end], fewest[first:end]
        best = _UNREACHED
        if load_before[end] - load_before[first] <= cache:
            for index in range(row.size):
                best = min(best, before[index] if row[index] <= limit else _UNREACHED)
        else:
            load = load_before[first:end]
            room = load_before[end] - cache
            for index in range(row.size):
                cost = row[index] + max(0, room - load[index])
                best = min(best, before[index] if cost <= limit else _UNREACHED)
        fewest[end] = best + 1
        if until_refuted and (end & 31) == 0:
            # Every slicing has a cut in this window, or ends a stage at its right.
            window = fewest[first : end + 1]
            least = _UNREACHED
            for index in range(window.size):
                least = min(least, window[index])
            rest = segments.work_before[nodes] - segments.work_before[end]
            if least + (rest + threshold - 1) // max(1, threshold) > k:
                return k + 1
    return int(fewest[nodes])


@numba.njit([types.int64(_SEGMENTS, types.int64, types.int64, types.int64)], cache=True, nogil=True)
def _longest_stages(segments: Segments, cache: int, k: int, threshold: int) -> int:
    """Return the cost of cutting off the longest stage of cost <= threshold time and again.

    That is a slicing, but not always one of fewest stages, because f is not monotone; nor is it
    followed beyond twice the threshold. If k stages do not suffice, the result is negative: -1 -
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
            if _floor(segments, cache, first, index + 1) > threshold:
                break
            cost += segments.gain_before[index + 1] - segments.gain_before[index]
            for event in range(segments.event_start[index], segments.event_start[index + 1]):
                if segments.event_bound[event] >= first:
                    cost -= segments.event_amount[event]
            load = segments.load_before[index + 1] - segments.load_before[first]
            total = cost + max(0, load - cache)
            if total <= threshold:
                best_end, best_cost = index + 1, total
            elif total > 2 * threshold:
                break
        if best_end == first:
            return -1 - first
        worst = max(worst, best_cost)
        first = best_end
    return worst


@numba.njit([types.int64(_SEGMENTS, types.int64, types.int64, types.int64)], cache=True, nogil=True)
def _good_slicing(segments: Segments, cache: int, k: int, floor: int) -> int:
    """Return the cost of some slicing, found by a search over thresholds for `_longest_stages`.

    Parameters
    ----------
    floor
        A lower bound, where the search begins.
    """
    nodes = len(segments.event_start) - 1
    low, guess = floor, floor
    # All nodes in one stage: nothing is transferred.
    high = _floor(segments, cache, 0, nodes)
    while high - low > low // 128 + 1:
        cost = _longest_stages(segments, cache, k, guess)
        if cost >= 0:
            high = cost
            guess = low + (high - low) // 2
        else:
            # Stages that cover half of the work are about half as dear as needed.
            low = guess
            covered = max(1, segments.work_before[-1 - cost])
            guess = int(guess * (segments.work_before[nodes] / covered))
            middle = low + (high - low) // 2
            guess = min(max(guess, low + low // 128 + 1), middle)
    return high


@numba.njit([types.int64(_SEGMENTS, types.int64, types.int64, _ROW)], cache=True, nogil=True)
def _any_number_of_stages(segments: Segments, cache: int, threshold: int, least: IntArray) -> int:
    """Return the least cost of slicing into any number of stages, if it is below the threshold.

    Otherwise the threshold. `least` has shape (n + 1,) and is overwritten.
    """
    nodes = len(segments.event_start) - 1
    gain_before, event_bound = segments.gain_before, segments.event_bound
    load_before = segments.load_before
    costs = np.empty(nodes, np.int64)
    least[0] = 0
    first = 0
    for end in range(1, nodes + 1):
        costs[end - 1] = -gain_before[end - 1]
        while first < end and _floor(segments, cache, first, end) > threshold:
            first += 1
        events = segments.event_start[end - 1 : end + 1]
        if events[1] - events[0] > _FEW_CORRECTIONS:
            bounds = segments.event_bound[events[0] : events[1]]
            amounts = segments.event_amount[events[0] : events[1]]
            _correct_up_to(bounds, amounts, costs, first, end - 1)
        else:
            for event in range(events[0], events[1]):
                if event_bound[event] >= first:
                    affected = costs[first : event_bound[event] + 1]
                    amount = segments.event_amount[event]
                    for index in range(affected.size):
                        affected[index] -= amount
        row, before, load = costs[first:end], least[first:end], load_before[first:end]
        gain, room = gain_before[end], load_before[end] - cache
        best = threshold
        if load_before[end] - load_before[first] <= cache:
            for index in range(row.size):
                best = min(best, max(before[index], row[index] + gain))
        else:
            for index in range(row.size):
                cost = row[index] + gain + max(0, room - load[index])
                best = min(best, max(before[index], cost))
        least[end] = best
    return int(least[nodes])


@numba.njit(
    [types.int64(_SEGMENTS, types.int64, types.int64, types.int64, _ROW, _ROW, _ROW, _ROW, _ROW)],
    cache=True,
    nogil=True,
)
def _useful_stages(
    segments: Segments,
    cache: int,
    k: int,
    threshold: int,
    fewest: IntArray,
    fewest_after: IntArray,
    useful_start: IntArray,
    useful_end: IntArray,
    useful_cost: IntArray,
) -> int:
    """Collect the stages of cost <= threshold that lie in a slicing into at most k such stages.

    Parameters
    ----------
    segments
        Increments of stages growing at the left.
    fewest
        What `fewest_stages` filled, for this threshold.
    fewest_after
        Filled with the fewest stages for every suffix, shape (n + 1,).
    useful_start
        Filled with offsets; stages that begin at position l are
        ``useful_start[l + 1] .. useful_start[l] - 1``, because the sweep runs from right to left.
    useful_end, useful_cost
        Filled with the position after the stage, and its cost.

    Returns
    -------
    How many there are, or -1 if there are more than fit.
    """
    nodes = len(segments.event_start) - 1
    gain_before, event_bound = segments.gain_before, segments.event_bound
    load_before = segments.load_before
    costs = np.empty(nodes, np.int64)
    found = 0
    fewest_after[nodes] = 0
    useful_start[nodes] = 0
    # Stages first .. e for e in first .. stop - 1; entry e belongs to end e + 1.
    stop = nodes
    for first in range(nodes - 1, -1, -1):
        rest = gain_before[nodes] - gain_before[first]
        costs[first] = gain_before[first + 1] - gain_before[nodes]
        while stop > first and _floor(segments, cache, first, stop) > threshold:
            stop -= 1
        events = segments.event_start[first : first + 2]
        if events[1] - events[0] > _FEW_CORRECTIONS:
            bounds = segments.event_bound[events[0] : events[1]]
            amounts = segments.event_amount[events[0] : events[1]]
            _correct_from(bounds, amounts, costs, first, stop)
        else:
            for event in range(events[0], events[1]):
                if event_bound[event] < stop:
                    affected = costs[event_bound[event] : stop]
                    amount = segments.event_amount[event]
                    for index in range(affected.size):
                        affected[index] -= amount
        best = _UNREACHED
        useful_start[first] = found
        fewest_after[first] = best + 1
        if fewest[first] >= k:
            continue
        limit = threshold - rest
        row, after = costs[first:stop], fewest_after[first + 1 : stop + 1]
        load = load_before[first + 1 : stop + 1]
        room = load_before[first] + cache
        overflows = load_before[stop] - load_before[first] > cache
        if overflows:
            for index in range(row.size):
                cost = row[index] + max(0, load[index] - room)
                best = min(best, after[index] if cost <= limit else _UNREACHED)
        else:
            for index in range(row.size):
                best = min(best, after[index] if row[index] <= limit else _UNREACHED)
        fewest_after[first] = best + 1
        most = k - 1 - fewest[first]
        if best > most:
            continue
        for index in range(row.size):
            cost = row[index] + max(0, load[index] - room)
            if after[index] <= most and cost <= limit:
                if found == useful_end.size:
                    return -1
                useful_end[found] = first + 1 + index
                useful_cost[found] = cost + rest
                found += 1
        useful_start[first] = found
    return found


@numba.njit(
    [_TWO_INTEGERS(types.int64, types.int64, _ROW, _ROW, _ROW, _ROW)],
    cache=True,
    nogil=True,
)
def _fewest_listed_stages(
    k: int,
    threshold: int,
    useful_start: IntArray,
    useful_end: IntArray,
    useful_cost: IntArray,
    fewest: IntArray,
) -> tuple[int, int]:
    """Do what `fewest_stages` does with the listed stages only, ignoring more than k in a row.

    Returns
    -------
    The greatest cost met that is <= threshold, and the least above it.
    """
    nodes = len(fewest) - 1
    below, above = np.int64(0), np.int64(2**62)
    fewest[:] = _UNREACHED
    fewest[0] = 0
    for first in range(nodes):
        stages = fewest[first] + 1
        if stages > k:
            continue
        for index in range(useful_start[first + 1], useful_start[first]):
            cost = useful_cost[index]
            if cost > threshold:
                above = min(above, cost)
            else:
                below = max(below, cost)
                end = useful_end[index]
                fewest[end] = min(fewest[end], stages)
    return int(below), int(above)


@numba.njit(
    [types.int64(types.int64, types.int64, types.int64, _ROW, _ROW, _ROW, _ROW)],
    cache=True,
    nogil=True,
)
def _least_threshold(
    k: int,
    low: int,
    high: int,
    useful_start: IntArray,
    useful_end: IntArray,
    useful_cost: IntArray,
    fewest: IntArray,
) -> int:
    """Return the least threshold in low .. high for which the listed stages suffice.

    Bisection that snaps to the costs listed; `high` must suffice. `fewest` is left as
    `fewest_stages` would fill it, up to prefixes that no slicing at this threshold uses.
    """
    nodes = len(fewest) - 1
    while low < high:
        middle = low + (high - low) // 2
        below, above = _fewest_listed_stages(
            k, middle, useful_start, useful_end, useful_cost, fewest
        )
        if fewest[nodes] <= k:
            high = below
        else:
            low = above
    _fewest_listed_stages(k, high, useful_start, useful_end, useful_cost, fewest)
    return high


@numba.njit([types.int64(_SEGMENTS, types.int64, types.int64, types.int64)], cache=True, nogil=True)
def _least_in_layers(segments: Segments, cache: int, k: int, threshold: int) -> int:
    """Return the least cost of slicing into at most k stages, which must be <= threshold.

    The dynamic program of the paper's Algorithm 1, windowed. Memory O(n k).
    """
    nodes = len(segments.event_start) - 1
    gain_before, event_bound = segments.gain_before, segments.event_bound
    load_before = segments.load_before
    costs = np.empty(nodes, np.int64)
    row_costs = np.empty(nodes, np.int64)
    least = np.full((k + 1, nodes + 1), threshold, np.int64)
    least[:, 0] = 0
    first = 0
    for end in range(1, nodes + 1):
        costs[end - 1] = -gain_before[end - 1]
        while first < end and _floor(segments, cache, first, end) > threshold:
            first += 1
        events = segments.event_start[end - 1 : end + 1]
        if events[1] - events[0] > _FEW_CORRECTIONS:
            bounds = segments.event_bound[events[0] : events[1]]
            amounts = segments.event_amount[events[0] : events[1]]
            _correct_up_to(bounds, amounts, costs, first, end - 1)
        else:
            for event in range(events[0], events[1]):
                if event_bound[event] >= first:
                    affected = costs[first : event_bound[event] + 1]
                    amount = segments.event_amount[event]
                    for index in range(affected.size):
                        affected[index] -= amount
        gain, room = gain_before[end], load_before[end] - cache
        load, row, corrected = load_before[first:end], costs[first:end], row_costs[first:end]
        for index in range(row.size):
            corrected[index] = row[index] + gain + max(0, room - load[index])
        if first == 0:
            least[1, end] = min(threshold, corrected[0])
        # Of the last layer only the whole order is asked for.
        for stage in range(k if end == nodes else 2, k + 1 if end == nodes else k):
            before = least[stage - 1, first:end]
            best = threshold
            for index in range(before.size):
                best = min(best, max(before[index], corrected[index]))
            least[stage, end] = best
    return int(least[k, nodes])


@numba.njit([_ROW(_SEGMENTS, types.int64, types.int64, _ROW)], cache=True, nogil=True)
def _cut(segments: Segments, cache: int, threshold: int, fewest: IntArray) -> IntArray:
    """Return the ends of a slicing, given the increments at the left and `fewest_stages`."""
    nodes = len(segments.event_start) - 1
    stages = fewest[nodes]
    ends = np.empty(stages, np.int64)
    end = nodes
    for stage in range(stages - 1, -1, -1):
        ends[stage] = end
        cost = 0
        for first in range(end - 1, -1, -1):
            cost += segments.gain_before[first + 1] - segments.gain_before[first]
            for event in range(segments.event_start[first], segments.event_start[first + 1]):
                if segments.event_bound[event] < end:
                    cost -= segments.event_amount[event]
            load = segments.load_before[end] - segments.load_before[first]
            if fewest[first] == stage and cost + max(0, load - cache) <= threshold:
                end = first
                break
    return ends


@numba.njit([_COST_AND_ENDS(_SEGMENTS, types.int64)], cache=True, nogil=True)
def _two_stages(segments: Segments, cache: int) -> tuple[int, IntArray]:
    """Return the best slicing into at most two stages, given the increments at the right.

    With one end fixed at 0 or n, the costs are one row each: time O(n + m).
    """
    nodes = len(segments.event_start) - 1
    load_before = segments.load_before
    # costs_after[l]: cost of the stage l .. n - 1, from all corrections at once.
    costs_after = np.zeros(nodes + 1, np.int64)
    for event in range(segments.event_start[nodes]):
        costs_after[segments.event_bound[event]] -= segments.event_amount[event]
    for first in range(nodes - 1, -1, -1):
        costs_after[first] += costs_after[first + 1]
    best, best_end = _floor(segments, cache, 0, nodes), nodes
    cost = 0
    for end in range(1, nodes):
        cost += segments.gain_before[end] - segments.gain_before[end - 1]
        for event in range(segments.event_start[end - 1], segments.event_start[end]):
            cost -= segments.event_amount[event]
        left = cost + max(0, load_before[end] - cache)
        right = costs_after[end] + segments.gain_before[nodes] - segments.gain_before[end]
        right += max(0, load_before[nodes] - load_before[end] - cache)
        if max(left, right) < best:
            best, best_end = max(left, right), end
    if best_end == nodes:
        return best, np.full(1, nodes, np.int64)
    ends = np.full(2, nodes, np.int64)
    ends[0] = best_end
    return best, ends


@numba.njit(
    [_COST_AND_ENDS(*_GRAPH, types.int64, types.int64, types.int64)], cache=True, nogil=True
)
def best_slicing(
    order: IntArray,
    producer_start: IntArray,
    producers: IntArray,
    consumer_start: IntArray,
    work: IntArray,
    transfer: IntArray,
    param_load: IntArray,
    cache: int,
    k: int,
    list_size: int,
) -> tuple[int, IntArray]:
    """Return the least cost of slicing the order into at most k stages, and the stages' ends.

    A good slicing comes first, by bisection over a greedy rule. Two sweeps at its cost then find
    the stages that can be part of a slicing at least as good, usually a few for each position, and
    the optimum among these needs no further sweep. Where they are too many to list, decisions
    lower the threshold first, or, if k is small, the paper's dynamic program runs in windows.

    Parameters
    ----------
    list_size
        How many stages may be listed; the result does not depend on it.
    """
    nodes = len(order)
    graph = (order, producer_start, producers, consumer_start, work, transfer, param_load)
    right = growing_right(*graph)
    if k == 1:
        return _floor(right, cache, 0, nodes), np.full(1, nodes, np.int64)
    if k == 2:
        return _two_stages(right, cache)
    low = (right.work_before[nodes] + k - 1) // k
    for index in range(nodes):
        low = max(low, _floor(right, cache, index, index + 1))
    high = _good_slicing(right, cache, k, low)
    left = growing_left(*graph)
    fewest = np.empty(nodes + 1, np.int64)
    fewest_after = np.empty(nodes + 1, np.int64)
    useful_start = np.empty(nodes + 1, np.int64)
    useful_end = np.empty(list_size, np.int64)
    useful_cost = np.empty(list_size, np.int64)
    is_first_round = True
    step = high // 64 + 1
    while low < high:
        fewest_stages(right, cache, k, high, False, fewest)
        found = _useful_stages(
            left, cache, k, high, fewest, fewest_after, useful_start, useful_end, useful_cost
        )
        if found >= 0:
            high = _least_threshold(k, low, high, useful_start, useful_end, useful_cost, fewest)
            return high, _cut(left, cache, high, fewest)
        if k <= _FEW_BLOCKS:
            high = _least_in_layers(right, cache, k, high)
            break
        if is_first_round and fewest[nodes] < k:
            # With more stages to spend than are needed, this bound is usually the optimum.
            low = max(low, _any_number_of_stages(right, cache, high, fewest))
            if fewest_stages(right, cache, k, low, True, fewest) <= k:
                high = low
                break
            low += 1
        is_first_round = False
        # The list only gets shorter when `high` falls, and the optimum is not far below it.
        is_lower = False
        while low < high and not is_lower:
            middle = max(high - step, low + (high - low) // 2)
            is_lower = fewest_stages(right, cache, k, middle, True, fewest) <= k
            if is_lower:
                high = middle
            else:
                low = middle + 1
    fewest_stages(right, cache, k, high, False, fewest)
    return high, _cut(left, cache, high, fewest)


@numba.njit([types.boolean(*_GRAPH, types.int64, types.int64, types.int64)], cache=True, nogil=True)
def is_sliceable(
    order: IntArray,
    producer_start: IntArray,
    producers: IntArray,
    consumer_start: IntArray,
    work: IntArray,
    transfer: IntArray,
    param_load: IntArray,
    cache: int,
    k: int,
    threshold: int,
) -> bool:
    """Return whether the order can be sliced into at most k stages of cost <= threshold each."""
    nodes = len(order)
    graph = (order, producer_start, producers, consumer_start, work, transfer, param_load)
    right = growing_right(*graph)
    if (right.work_before[nodes] + k - 1) // k > threshold:
        return False
    if k <= 2:
        return bool(
            (_floor(right, cache, 0, nodes) if k == 1 else _two_stages(right, cache)[0])
            <= threshold
        )
    fewest = np.empty(nodes + 1, np.int64)
    return fewest_stages(right, cache, k, threshold, True, fewest) <= k
