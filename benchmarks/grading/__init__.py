"""Solutions that people bring: reading them, and how far from optimal they can be."""

from boundmark.benchmarks.grading.given_solution import GivenSolution, instance_and_solution
from boundmark.benchmarks.grading.known_bounds import best_stored_bound

__all__ = ["GivenSolution", "best_stored_bound", "instance_and_solution"]
