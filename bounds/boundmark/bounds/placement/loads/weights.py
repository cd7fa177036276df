"""Weights of devices: the dual of the fractional assignment of operators to devices.

Minimise z such that each operator is assigned once, in fractions, and each device has work of at
most z less what it cannot use. The dual multipliers of the devices' rows are the weights. Any
weights prove a bound, so they are rounded to integers, and what they prove is computed anew.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundmark.problems.arrays import IntArray

BoolArray = npt.NDArray[np.bool_]

# Weights add up to about this.
UNITS = 2**20


@dataclass(frozen=True)
class Assignment:
    """The fractional assignment's dual, rounded.

    Attributes
    ----------
    weights, memory_weights
        Integers of each device, shape (D,).
    """

    weights: list[int]
    memory_weights: list[int]


def assignment_weights(
    duration: IntArray,
    allowed: BoolArray,
    lost: IntArray,
    memory: IntArray | None = None,
    capacity: IntArray | None = None,
) -> Assignment | None:
    """Return the weights that show most, None if the linear program is not solved.

    Parameters
    ----------
    duration, allowed
        Ticks of each operator on each device, and whether it can be there, shape (n, D).
    lost
        Ticks that each device cannot use, shape (D,).
    memory, capacity
        Of operators, shape (n,), and devices, shape (D,); None if it does not matter.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, csr_array, vstack

    nodes, devices = duration.shape
    operator, device = np.nonzero(allowed)
    columns = np.arange(len(operator))
    used = np.unique(device)
    row_of = np.full(devices, -1)
    row_of[used] = np.arange(len(used))
    scale = max(1, int(duration[operator, device].max()), int(lost[used].max()))
    work = duration[operator, device] / scale
    loads = coo_array(
        (
            np.concatenate([work, -np.ones(len(used))]),
            (
                np.concatenate([row_of[device], np.arange(len(used))]),
                np.concatenate([columns, np.full(len(used), len(columns))]),
            ),
        ),
        shape=(len(used), len(columns) + 1),
    ).tocsr()
    limits = -lost[used] / scale
    memory_scale = 1
    if memory is not None and capacity is not None:
        memory_scale = max(1, int(memory.max()))
        held = csr_array(
            (memory[operator] / memory_scale, (row_of[device], columns)),
            shape=(len(used), len(columns) + 1),
        )
        loads = vstack([loads, held], format="csr")
        limits = np.concatenate([limits, capacity[used] / memory_scale])
    once = csr_array((np.ones(len(columns)), (operator, columns)), shape=(nodes, len(columns) + 1))
    solved = linprog(
        np.concatenate([np.zeros(len(columns)), [1.0]]),
        A_ub=loads, b_ub=limits, A_eq=once, b_eq=np.ones(nodes),
        bounds=(0, None), method="highs",
    )  # fmt: skip
    if solved.status != 0:
        return None
    dual = np.maximum(0.0, -solved.ineqlin.marginals)
    weights, memory_weights = [0] * devices, [0] * devices
    for at, d in enumerate(used.tolist()):
        weights[d] = round(float(dual[at]) * UNITS)
        if memory is not None:
            # Per tick instead of per scaled tick, and per unit of memory.
            exact = float(dual[len(used) + at]) * scale / memory_scale
            memory_weights[d] = round(exact * UNITS)
    return Assignment(weights, memory_weights) if any(weights) else None
