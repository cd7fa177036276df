"""What definitions say of small random instances: solutions' costs, and what certificates prove.

A problem has a module with `drawn`, which returns an instance by its seed, and two functions of an
instance and dice. `solutions` yields solutions in stored form, many of which just break a
constraint, with their cost, or None if they do; `claims` yields kinds of certificates, payloads,
and all that these may prove (`checking.Claims`).
"""

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from certified import PROBLEMS
from checking import Claims, Solutions

from definitions import layers, microbatch, ordering, pipeline, placement, slicing


class Definition(NamedTuple):
    """What a problem's module has."""

    drawn: Callable[[int], Any]
    solutions: Callable[[Any, Random], Solutions]
    claims: Callable[[Any, Random], Claims]
    optimum: Callable[[Any], float]


DEFINITIONS = {
    name: Definition(module.drawn, module.solutions, module.claims, PROBLEMS[name].optimum)
    for name, module in (
        ("pipeline", pipeline), ("microbatch", microbatch), ("placement", placement),
        ("ordering", ordering), ("layers", layers), ("slicing", slicing),
    )
}  # fmt: skip
