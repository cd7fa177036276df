"""Optimal segmentation of a topological order without an n x n table.

Positions count from 0; f(l, r) is the cost of the stage of positions l .. r. Three facts carry
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

*Blocks.* A correction applies to a prefix of the window. Costs are kept in blocks of consecutive l,
each with a common reduction and the least cost in it, so that a correction changes one number per
block and the costs of one block, and most blocks are skipped when the best l is looked for.

A decision "at most k stages of cost <= t each?" is a sweep over r. The optimum follows from two:
one at the cost of some good segmentation, which tells how few stages each prefix needs, and a
dynamic program over the reversed order, in which a suffix may have as many stages as are left.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from boundmark.heuristics.pipeline.kernel_graph import GRAPH, Graph
from boundmark.problems.arrays import IntArray
from boundmark.problems.compiling import INTEGERS, compiled, inlined, internal

_UNREACHED = 2**40
# More than any cost.
_FAR = 2**62
# Positions in a block: 2 to the power of this.
_BLOCK = 6


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


class Window(NamedTuple):
    """The costs of the stages that end before one position, during a sweep.

    Attributes
    ----------
    costs
        The stage l .. r costs ``costs[l] - shift[l >> _BLOCK]``, plus ``gain_before[r + 1]`` and
        overflow; shape (n + 1,).
    shift
        What all costs of a block are less.
    least
        At most the least of the block's `costs`.
    """

    costs: IntArray
    shift: IntArray
    least: IntArray


_INT = types.int64
_ROW = types.int64[::1]
_SEGMENTS = types.NamedTuple([_ROW] * 6 + [_INT], Segments)  # type: ignore[no-untyped-call]
_WINDOW = types.NamedUniTuple(_ROW, 3, Window)  # type: ignore[no-untyped-call]
_TABLE = types.int64[:, ::1]
_COST_AND_ENDS = types.Tuple((_INT, _ROW))  # type: ignore[no-untyped-call]


@compiled([_SEGMENTS(INTEGERS, GRAPH)])
def segments_of(order: IntArray, graph: Graph) -> Segments:
    """Return the costs of the stages of an order, or of a reversed order, in time O(n + m)."""
    nodes, edges = len(order), len(graph.producers)
    # For each tensor, how many members are to come, and where the first and the latest one are.
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


@internal([_WINDOW(_INT)])
def _new_window(nodes: int) -> Window:
    """Return the window of a sweep that is about to begin."""
    blocks = (nodes >> _BLOCK) + 1
    return Window(
        np.empty(blocks << _BLOCK, np.int64), np.empty(blocks, np.int64), np.empty(blocks, np.int64)
    )


@inlined([_INT(_SEGMENTS, _INT, _INT, _INT, _WINDOW)])
def _sweep(segments: Segments, threshold: int, first: int, end: int, window: Window) -> int:
    """Advance the sweep over right ends from end - 1 to `end`; return where its window begins.

    From then on, `window` has the costs of the stages l .. end - 1 for every l in
    ``first .. end - 1``.
    """
    costs, shift, least = window.costs, window.shift, window.least
    last = (end - 1) >> _BLOCK
    begin = last << _BLOCK
    if begin == end - 1:
        shift[last], least[last] = 0, _FAR
    costs[end - 1] = shift[last] - segments.gain_before[end - 1]
    least[last] = min(least[last], costs[end - 1])
    while first < end and _floor(segments, first, end) > threshold:
        first += 1
    for event in range(segments.event_start[end - 1], segments.event_start[end]):
        bound = segments.event_bound[event]
        if bound < first:
            continue
        amount = segments.event_amount[event]
        block = bound >> _BLOCK
        whole = shift[first >> _BLOCK : block]
        for index in range(whole.size):
            whole[index] += amount
        begin = block << _BLOCK
        lower = costs[begin : bound + 1]
        lowest = least[block]
        for index in range(lower.size):
            lower[index] -= amount
            lowest = min(lowest, lower[index])
        least[block] = lowest
    return first


@inlined([_INT(_SEGMENTS, _WINDOW, _INT, _INT)])
def _least_in_block(segments: Segments, window: Window, block: int, end: int) -> int:
    """Return at most the least cost of the stages up to end - 1 that begin in a block."""
    last = min(end, (block + 1) << _BLOCK) - 1
    cost = window.least[block] - window.shift[block] + segments.gain_before[end]
    return int(cost + _overflow(segments, last, end))


@inlined([_INT(_SEGMENTS, _INT, _INT, _INT, _WINDOW, _ROW, _ROW)])
def _fewest_before(
    segments: Segments,
    threshold: int,
    first: int,
    end: int,
    window: Window,
    fewest: IntArray,
    block_fewest: IntArray,
) -> int:
    """Return the least ``fewest[l]`` of the stages l .. end - 1 of cost <= threshold.

    `block_fewest` has the least of `fewest` in each block.
    """
    best = _UNREACHED
    for block in range(first >> _BLOCK, ((end - 1) >> _BLOCK) + 1):
        if block_fewest[block] >= best:
            continue
        if _least_in_block(segments, window, block, end) > threshold:
            continue
        start, stop = max(first, block << _BLOCK), min(end, (block + 1) << _BLOCK)
        limit = threshold - segments.gain_before[end] + window.shift[block]
        row, before = window.costs[start:stop], fewest[start:stop]
        if _overflow(segments, start, end) == 0:
            for index in range(row.size):
                best = min(best, before[index] if row[index] <= limit else _UNREACHED)
        else:
            load, room = (
                segments.load_before[start:stop],
                segments.load_before[end] - segments.cache,
            )
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
    window = _new_window(nodes)
    block_fewest = np.full((nodes >> _BLOCK) + 1, _FAR, np.int64)
    fewest[0] = block_fewest[0] = 0
    first = 0
    for end in range(1, nodes + 1):
        first = _sweep(segments, threshold, first, end, window)
        before = _fewest_before(segments, threshold, first, end, window, fewest, block_fewest)
        fewest[end] = before + 1
        block_fewest[end >> _BLOCK] = min(block_fewest[end >> _BLOCK], before + 1)
        if until_refuted and (end & 31) == 0:
            # Every segmentation has a cut in this window, or ends a stage at its right.
            rest = segments.work_before[nodes] - segments.work_before[end]
            row, least = fewest[first : end + 1], fewest[end]
            for index in range(row.size):
                least = min(least, row[index])
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


@inlined([_INT(_SEGMENTS, _INT, _INT, _INT, _WINDOW, _ROW, _ROW)])
def _least_before(
    segments: Segments,
    threshold: int,
    first: int,
    end: int,
    window: Window,
    before: IntArray,
    block_before: IntArray,
) -> int:
    """Return the least cost of a segmentation up to end - 1, or the threshold if that is less.

    Its last stage begins in the window, and ``before[l]`` is the least cost up to l - 1;
    `block_before` has the least of these in each block.
    """
    first_block, last_block = first >> _BLOCK, (end - 1) >> _BLOCK
    promising, best = -1, threshold
    for block in range(first_block, last_block + 1):
        promise = max(block_before[block], _least_in_block(segments, window, block, end))
        if promise < best:
            promising, best = block, promise
    if promising < 0:
        return threshold
    best = threshold
    room = segments.load_before[end] - segments.cache
    # The most promising block comes first, so that most others need not be looked at.
    for at in range(first_block - 1, last_block + 1):
        block = promising if at < first_block else at
        if at == promising or block_before[block] >= best:
            continue
        if _least_in_block(segments, window, block, end) >= best:
            continue
        start, stop = max(first, block << _BLOCK), min(end, (block + 1) << _BLOCK)
        gain = segments.gain_before[end] - window.shift[block]
        row, rest = window.costs[start:stop], before[start:stop]
        load = segments.load_before[start:stop]
        for index in range(row.size):
            cost = row[index] + gain + max(0, room - load[index])
            best = min(best, max(rest[index], cost))
    return best


@internal([_INT(_SEGMENTS, _INT, _INT, _ROW)])
def _least_cost(segments: Segments, k: int, threshold: int, fewest: IntArray) -> int:
    """Return the least cost with at most k stages, or the threshold if that is less.

    The dynamic program of the paper's Algorithm 1 on the reversed order, whose segments these are.
    `fewest` is what `fewest_stages` filled in for the order itself: with so many stages in front of
    it, a suffix may have the rest of the k.
    """
    nodes = len(fewest) - 1
    window = _new_window(nodes)
    # A row for each number of stages that a suffix may have.
    least = np.full((k, nodes + 1), threshold, np.int64)
    block_least = np.full((k, (nodes >> _BLOCK) + 1), threshold, np.int64)
    least[:, 0] = block_least[:, 0] = 0
    # The fewest stages with which a suffix that ends in each block costs less than the threshold.
    reached = np.full((nodes >> _BLOCK) + 1, k, np.int64)
    reached[0] = 0
    first = 0
    for end in range(1, nodes):
        first = _sweep(segments, threshold, first, end, window)
        block = end >> _BLOCK
        fewest_after = k
        for before in range(first >> _BLOCK, ((end - 1) >> _BLOCK) + 1):
            fewest_after = min(fewest_after, 1 + reached[before])
        for stages in range(fewest_after, min(k - 1, k - fewest[nodes - end]) + 1):
            cost = _least_before(
                *(segments, threshold, first, end, window),
                *(least[stages - 1], block_least[stages - 1]),
            )
            if cost < threshold:
                least[stages, end] = cost
                block_least[stages, block] = min(block_least[stages, block], cost)
                reached[block] = min(reached[block], stages)
    first = _sweep(segments, threshold, first, nodes, window)
    return _least_before(
        segments, threshold, first, nodes, window, least[k - 1], block_least[k - 1]
    )


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


@internal([_INT(_SEGMENTS, _INT, _INT, _INT)])
def _least_threshold(segments: Segments, k: int, low: int, high: int) -> int:
    """Return the least threshold in low .. high for which k stages suffice; `high` must do."""
    fewest = np.empty(len(segments.event_start), np.int64)
    while low < high:
        middle = low + (high - low) // 2
        if fewest_stages(segments, k, middle, True, fewest) <= k:
            high = middle
        else:
            low = middle + 1
    return high


@compiled([_COST_AND_ENDS(INTEGERS, GRAPH, _INT, _INT)])
def best_segmentation(
    order: IntArray, graph: Graph, k: int, largest_table: int
) -> tuple[int, IntArray]:
    """Return the least cost of cutting the order into at most k stages, and the stages' ends.

    Instead of a table of more than `largest_table` entries, thresholds are bisected.
    """
    nodes = len(order)
    right = segments_of(order, graph)
    if k <= 2:
        return _at_most_two_stages(right, k)
    low = (right.work_before[nodes] + k - 1) // k
    for index in range(nodes):
        low = max(low, _floor(right, index, index + 1))
    cost = high = _good_segmentation(right, k, low)
    left = segments_of(order[::-1].copy(), graph)
    fewest = np.empty(nodes + 1, np.int64)
    fewest_stages(right, k, high, False, fewest)
    if low < high and k * (nodes + 1) <= largest_table:
        cost = _least_cost(left, k, high, fewest)
    elif low < high:
        cost = _least_threshold(right, k, low, high)
    if cost < high:
        fewest_stages(right, k, cost, False, fewest)
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
