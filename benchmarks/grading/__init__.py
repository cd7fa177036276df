"""Read users' solutions, and grade how far from optimal they can be."""

from boundmark.benchmarks.grading.given_solution import (
    GivenSolution,
    best_stored_bound,
    bound_plan,
    graded,
    instance_and_solution,
)

__all__ = [
    "GivenSolution",
    "best_stored_bound",
    "bound_plan",
    "graded",
    "instance_and_solution",
]
