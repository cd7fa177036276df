"""Proves with given weights that no k stages of a cost hold all nodes."""

from dataclasses import dataclass
from typing import Any

from boundmark.bounds.pipeline.packing.allowance import allowance
from boundmark.bounds.pipeline.packing.pool import Front, Pool, unit_of
from boundmark.bounds.pipeline.packing.search import Task, search
from boundmark.bounds.pipeline.packing.tensors import Tensors
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget

# Of a tick, as a multiple of a stage's weight by a stage's cost, where a search begins to look.
USUAL_PRICE = 1.1


@dataclass(frozen=True, eq=False)
class Attempt:
    """The result of trying a proof.

    Attributes
    ----------
    payload
        The proof, but for threshold and whether parameters are loaded; None if there is none.
    found
        Sets that were not known, and are heavier than the proof allows.
    steps
        Of the search through all sets, as the checker counts them; if it was not ended, about.
    """

    payload: dict[str, Any] | None
    found: list[tuple[int, int]]
    steps: int


def attempt(
    tensors: Tensors,
    pool: Pool,
    weights: IntArray,
    k: int,
    limit: int,
    budget: Budget,
    most_steps: int,
) -> Attempt | None:
    """Try to prove a threshold; return None if sets that are known make that impossible.

    Sets that cost half the limit or less come first: they decide what larger ones may weigh.

    Parameters
    ----------
    pool
        The sets that are known.
    limit
        What a stage costs at most.
    """
    unit = unit_of(limit)
    units = limit // unit
    most = (int(weights.sum()) - 1) // k
    front = allowance(Front.of(pool, weights, unit, units), most)
    if front is None:
        return None
    price = max(1, int(USUAL_PRICE * most / max(1, limit)))
    half = units // 2
    small = Task(tensors, weights, front[: half + 1], unit, (half + 1) * unit - 1)
    whole = Task(tensors, weights, front, unit, limit)
    for task in (small, whole):
        outcome = search(task, price, budget, most_steps)
        if outcome.found or not outcome.has_ended:
            return Attempt(None, outcome.found, outcome.estimate)
    payload = {
        "unit": unit,
        "weights": weights.tolist(),
        "front": front.tolist(),
        "order": outcome.order,
        "flows": outcome.flows,
        "plan": outcome.plan,
    }
    return Attempt(payload, [], outcome.steps)
