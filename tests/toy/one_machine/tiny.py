"""Tiny instances and their optimum, by trying all orders."""

import itertools

from one_machine.problem import JobSet, OneMachineInstance, Order

LARGER = OneMachineInstance(
    JobSet((0, 3, 1, 9, 4), (4, 2, 5, 1, 3), (2, 8, 1, 6, 0)), 2, "delivery"
)


def tiny() -> list[tuple[OneMachineInstance, int]]:
    """Return all sets of up to three jobs with small numbers, for both goals."""
    jobs = [(0, 2, 3), (2, 1, 0), (1, 3, 4), (5, 1, 1)]
    found = []
    for count, k, goal in itertools.product((1, 2, 3), (1, 2), ("makespan", "delivery")):
        for chosen in itertools.combinations(jobs, count):
            sample = OneMachineInstance(JobSet(*zip(*chosen, strict=True)), k, goal)
            orders = set(itertools.permutations(list(range(count)) * k))
            found.append((sample, min(sample.objective(Order(order)) for order in orders)))
    return found
