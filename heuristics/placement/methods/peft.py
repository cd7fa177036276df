"""`peft`: each operator where its end and the least that follows from there are first ([PEFT14]).

What follows an operator is the longest way to the end with the best devices for it, as in the
paper's optimistic cost table. Three things are ours: transfers cost what they do between two
devices, not the mean; operators are also taken in topological order; and where memory is short, it
has prices, of which some are tried.
"""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.schedules.incumbent import Incumbent
from boundmark.heuristics.placement.schedules.room import with_all_placed
from boundmark.heuristics.placement.searches.looking_ahead import looking_ahead
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    trials: int,
    **params: Any,
) -> None:
    """Report each placement that is better than those before.

    Raises
    ------
    UnsupportedError
        If no placement is found for which the devices have room.
    """
    best = Incumbent(instance, progress)
    generator = np.random.default_rng(seed)
    left_over = None
    for devices, urgency in looking_ahead(instance, best.network, trials, generator):
        if devices.min() < 0:
            left_over = devices
        else:
            best.offer(devices)
            best.offer(devices, urgency)
        if budget.is_spent():
            break
    if not len(best.devices):
        if left_over is None:
            raise UnsupportedError("the time was too short for a placement.")
        best.offer(with_all_placed(instance, left_over))
