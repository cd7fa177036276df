"""Single searches of `modulo`, to be called where ortools can be loaded."""

from boundmark.bounds.microbatch.steady_state import Outcome, SteadyStateModel
from boundmark.problems.microbatch import MicrobatchInstance


def decided(instance: MicrobatchInstance, period: int, *, memory: bool = False) -> Outcome:
    """Return what the search finds for one period."""
    model = SteadyStateModel(instance, period, period)
    if memory:
        model.minimise_memory()
    return model.solve(60, 1)


def least_period(instance: MicrobatchInstance, longest: int) -> Outcome:
    """Return what the model with a variable period finds."""
    model = SteadyStateModel(instance, 1, longest)
    model.minimise_period()
    return model.solve(60, 1)
