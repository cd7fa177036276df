"""Compiled simulated annealing over partition vectors."""

import numpy as np

from boundmark.heuristics.slicing.kernels.compiling import compiled
from boundmark.heuristics.slicing.kernels.evaluation import excess_memory, operator_ticks


@compiled()
def fit_pattern(length, pattern, vector):  # type: ignore[no-untyped-def]
    """Fill in the vector that divides an operator like a pattern, rounded to whole indices."""
    for device in range(len(pattern)):
        vector[device] = int(np.floor(pattern[device] * length + 0.5))
    vector[0], vector[-1] = 0, length


@compiled()
def change(arrays, patterns, vectors):  # type: ignore[no-untyped-def]
    """Change some vectors at random, and return which: operators ``first .. first + count - 1``."""
    length, edges, start = arrays[0], arrays[3], arrays[4]
    operators, devices = len(length), vectors.shape[1] - 1
    operator = np.random.randint(operators)
    kind = np.random.random()
    if kind < 0.35:
        # A run of operators gets one pattern.
        spread = np.random.exponential(4.0) * np.random.exponential(1.0)
        count = min(operators - operator, 1 + int(spread))
        pattern = patterns[np.random.randint(len(patterns))]
        for number in range(count):
            fit_pattern(length[operator + number], pattern, vectors[operator + number])
        return operator, count
    if kind < 0.6 and start[operator] < start[operator + 1]:
        # One is divided like one that it reads.
        row = start[operator] + np.random.randint(start[operator + 1] - start[operator])
        producer = edges[row, 0]
        fit_pattern(length[operator], vectors[producer] / length[producer], vectors[operator])
        return operator, 1
    # A boundary moves in a run of operators, by about the same fraction in all.
    boundary = 1 + np.random.randint(devices - 1)
    count = 1
    if kind > 0.8:
        count = min(operators - operator, 1 + int(np.random.exponential(3.0)))
    step = 1 + int(np.random.exponential(0.04) * length[operator])
    if np.random.random() < 0.5:
        step = -step
    for number in range(operator, operator + count):
        shift = step
        if number > operator:
            shift = int(np.floor(step * length[number] / length[operator] + 0.5))
        place = vectors[number, boundary] + shift
        low, high = vectors[number, boundary - 1], vectors[number, boundary + 1]
        vectors[number, boundary] = min(max(place, low), high)
    return operator, count


@compiled()
def anneal(arrays, patterns, vectors, ticks, best, steps, hot, cold, tight, penalty, seed):  # type: ignore[no-untyped-def]
    """Improve vectors by so many steps; keep the best ones in `best`, and return their cost.

    Parameters
    ----------
    vectors, ticks
        Partition vectors, and the ticks of each operator with these; both are changed.
    hot, cold
        Temperature at the first and the last step, in ticks.
    tight
        Whether memory may be exceeded, so that it has to be looked at.
    penalty
        Ticks for each byte beyond the memory.
    """
    length, work, launch, edges, start = arrays[0], arrays[1], arrays[2], arrays[3], arrays[4]
    readers, reader_start, router, weights = arrays[5], arrays[6], arrays[7], arrays[8]
    output, last_use, capacity, is_shared = arrays[9], arrays[10], arrays[11], arrays[12]
    np.random.seed(seed)
    operators = len(length)
    saved = vectors.copy()
    stamp = np.full(operators, -1, np.int64)
    touched = np.empty(operators, np.int64)
    before = np.empty(operators, np.int64)
    excess = 0
    if tight:
        excess = excess_memory(
            length, edges, start, weights, output, last_use, capacity, is_shared, vectors
        )
    cost = ticks.sum() + penalty * excess
    least = cost
    best[:] = vectors
    for step in range(steps):
        first, count = change(arrays, patterns, vectors)
        touching = 0
        for operator in range(first, first + count):
            same = True
            for device in range(vectors.shape[1]):
                same = same and vectors[operator, device] == saved[operator, device]
            if same:
                continue
            if stamp[operator] != step:
                stamp[operator] = step
                touched[touching] = operator
                touching += 1
            for at in range(reader_start[operator], reader_start[operator + 1]):
                if stamp[readers[at]] != step:
                    stamp[readers[at]] = step
                    touched[touching] = readers[at]
                    touching += 1
        if touching == 0:
            continue
        changed = 0
        for at in range(touching):
            operator = touched[at]
            before[at] = ticks[operator]
            ticks[operator] = operator_ticks(
                length, work, launch, edges, start, router, vectors, operator
            )
            changed += ticks[operator] - before[at]
        temperature = hot * (cold / hot) ** (step / steps)
        allowed = temperature * np.random.exponential(1.0)
        beyond = excess
        if tight and changed <= allowed + penalty * excess:
            beyond = excess_memory(
                length, edges, start, weights, output, last_use, capacity, is_shared, vectors
            )
            changed += penalty * (beyond - excess)
        if changed <= allowed:
            cost += changed
            excess = beyond
            for operator in range(first, first + count):
                saved[operator] = vectors[operator]
            if cost < least:
                least = cost
                best[:] = vectors
        else:
            for at in range(touching):
                ticks[touched[at]] = before[at]
            for operator in range(first, first + count):
                vectors[operator] = saved[operator]
    return least
