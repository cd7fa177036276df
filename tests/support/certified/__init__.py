"""Tiny instances and certificates of every kind, for tests of the checker.

A problem adds a module beside this one and a line to `PROBLEMS`; a new kind of a problem adds an
instance to the problem's module on which a method's certificate of that kind proves the optimum,
so that nothing better can be proved.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import brute_force
import brute_force_layers
import brute_force_ordering
import brute_force_placement
import brute_force_slicing
from other_process import call
from recording import record

from boundmark.problems.certificate import Certificate
from boundmark.problems.problem import Instance, Solution
from certified import layers, microbatch, ordering, pipeline, placement, slicing

Document = dict[str, Any]


@dataclass(frozen=True)
class CertifiedProblem:
    """What tests know of a problem.

    Attributes
    ----------
    tight
        Name of a method and an instance on which its bound is the optimum.
    optimum
        The optimum of any tiny instance, by exhaustion.
    is_tiny
        Whether exhaustion takes milliseconds.
    solution
        Some solution in the right form; it may break constraints.
    """

    tight: Mapping[str, tuple[str, Any]]
    optimum: Callable[[Any], float]
    is_tiny: Callable[[Any], bool]
    solution: Callable[[Any], Solution]


PROBLEMS = {
    "pipeline": CertifiedProblem(
        pipeline.TIGHT, brute_force.optimum, pipeline.is_tiny, pipeline.solution
    ),
    "microbatch": CertifiedProblem(
        microbatch.TIGHT, microbatch.optimum, microbatch.is_tiny, microbatch.solution
    ),
    "placement": CertifiedProblem(
        placement.TIGHT, brute_force_placement.optimum, placement.is_tiny, placement.solution
    ),
    "ordering": CertifiedProblem(
        ordering.TIGHT, brute_force_ordering.optimum, ordering.is_tiny, ordering.solution
    ),
    "layers": CertifiedProblem(
        layers.TIGHT, brute_force_layers.optimum, layers.is_tiny, layers.solution
    ),
    "slicing": CertifiedProblem(
        slicing.TIGHT, brute_force_slicing.optimum, slicing.is_tiny, slicing.solution
    ),
}

NAMES = tuple((problem, name) for problem, known in PROBLEMS.items() for name in known.tight)


@dataclass(frozen=True)
class Certified:
    """An instance and a certificate of its optimum, both also in stored form."""

    instance: Instance
    document: Document
    certificate: Document
    optimum: float


@cache
def certified(problem: str, name: str) -> Certified:
    """Return a sample with what the method reports last, as a JSON reader returns it."""
    method, instance = PROBLEMS[problem].tight[name]
    optimum = PROBLEMS[problem].optimum(instance)
    # CP-SAT and HiGHS cannot be loaded by one process.
    recorder = (
        call(record, method, instance) if problem == "microbatch" else record(method, instance)
    )
    certificates = [bound for bound in recorder.bounds if isinstance(bound, Certificate)]
    document = json.loads(json.dumps(certificates[-1].to_json()))
    return Certified(instance, instance.to_json(), document, optimum)
