"""Tiny instances of each problem, with their optimum, for all methods of the problem.

A problem has a module with `LARGER`, an instance on which methods have something to improve, and
`tiny`, which returns pairs of an instance and its optimum. Ours have `random_instances`, too, a
strategy, and `optimum`, which is infinite where nothing is feasible. Two flags are optional:
`ELSEWHERE` if the methods need a process of their own, or the names of those that do, and
`REPEATS_OBJECTIVES` if they may report solutions that are no better than the last one. Other
packages name theirs in the entry-point group ``boundmark.tiny_instances``, by the problem's name.
"""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType

from boundmark.problems.method import Method
from boundmark.problems.problem import Instance

MODULES = {
    "pipeline": "tiny_pipeline",
    "microbatch": "tiny_microbatch",
    "placement": "tiny_placement",
    "slicing": "tiny_slicing",
    "ordering": "tiny_ordering",
    "layers": "tiny_layers",
}


@cache
def samples(problem: str) -> ModuleType:
    """Return the module of a problem."""
    if problem in MODULES:
        return import_module(MODULES[problem])
    (point,) = entry_points(group="boundmark.tiny_instances", name=problem)
    return point.load()


@cache
def tiny(problem: str) -> list[tuple[Instance, int]]:
    """Return instances of a problem and their optimum."""
    return samples(problem).tiny()


def larger(problem: str) -> Instance:
    """Return an instance on which methods have something to improve."""
    return samples(problem).LARGER


def runs_elsewhere(method: Method) -> bool:
    """Whether a method needs a process without the solvers of others."""
    elsewhere: bool | frozenset[str] = getattr(samples(method.problem), "ELSEWHERE", False)
    return elsewhere if isinstance(elsewhere, bool) else method.name in elsewhere


def may_repeat(problem: str) -> bool:
    """Whether methods may report solutions that are no better than the last one."""
    return getattr(samples(problem), "REPEATS_OBJECTIVES", False)
