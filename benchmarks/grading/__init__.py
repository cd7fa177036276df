"""Read users' solutions, and grade how far from optimal they can be."""

from boundmark.benchmarks.grading.given_solution import (
    GivenSolution,
    Robustness,
    best_stored_bound,
    bound_plan,
    graded,
    instance_and_solution,
    robustness,
)

__all__ = [
    "GivenSolution",
    "Robustness",
    "best_stored_bound",
    "bound_plan",
    "graded",
    "instance_and_solution",
    "robustness",
]
