"""Finds a steady state of the same period that needs less memory."""

import time

from boundmark.bounds.microbatch.modulo.steady_state import SteadyState, SteadyStateModel
from boundmark.bounds.microbatch.one_device.memory import least_capacity
from boundmark.problems.microbatch import MicrobatchInstance
from boundmark.problems.microbatch.measures import peak_memory

# A search that gets stuck leaves time for those that follow.
SHARE = 0.25


def with_less_memory(
    instance: MicrobatchInstance, state: SteadyState, seconds: float, threads: int
) -> SteadyState:
    """Return a steady state of the same period with the least memory found on the fullest device.

    Then it has the least sum over all devices, and then the fewest stages, that were found. Whether
    a capacity suffices is decided much faster than a least one is found.
    """

    def model(capacity: int) -> SteadyStateModel:
        capped = tuple(min(capacity, most) for most in instance.capacity)
        return SteadyStateModel(
            MicrobatchInstance(instance.layout, capped), state.period, state.period
        )

    until = time.monotonic() + seconds

    def left() -> float:
        return SHARE * max(0.0, until - time.monotonic())

    low = max(
        least_capacity(instance, state.period),
        *(block.memory for block in instance.layout.blocks),
    )
    high = _fullest(instance, state)
    while low < high:
        middle = (low + high) // 2
        found = model(middle).solve(left(), threads, is_linear=True).state
        if found is None:
            low = middle + 1
        else:
            state, high = found, _fullest(instance, found)
    last = model(high)
    last.minimise_memory()
    last.hint(state)
    return last.solve(left() / SHARE, threads, is_linear=True).state or state


def _fullest(instance: MicrobatchInstance, state: SteadyState) -> int:
    return max(peak_memory(instance.layout, state.expanded(2 * max(state.stages) + 2).starts))
