"""The order in which bounds are tried, and what becomes of the time."""

from brute_force_placement import instance
from recording import Recorder

from boundmark.bounds.best import Best
from boundmark.bounds.placement import placement_certify
from boundmark.bounds.placement.placement_certify import (
    PlacementCertifySettings,
    Step,
    steps,
)
from boundmark.problems.method import Budget
from boundmark.problems.placement import PlacementInstance

ROWS, EDGES = [[1, 2], [2, 1]], [(0, 1)]


def test_prices_come_first_where_memory_is_short() -> None:
    """No device has room for both operators; with more memory, modules come first."""
    short = instance(ROWS, EDGES, memory=[2, 2], capacity=[3, 3])
    enough = instance(ROWS, EDGES, memory=[2, 2], capacity=[3, 4])
    settings = PlacementCertifySettings()
    assert steps(short.graph, settings)[-2:] == (settings.prices, settings.modules)
    assert steps(enough.graph, settings)[-2:] == (settings.modules, settings.prices)


def test_a_method_that_was_cut_off_gets_what_others_leave() -> None:
    """It runs again when the others are through, with all the time that is left."""
    asked: list[tuple[str, float]] = []

    def quick(sample: PlacementInstance, budget: Budget, seed: int, best: Best) -> None:
        asked.append(("quick", budget.wall_seconds))

    def slow(sample: PlacementInstance, budget: Budget, seed: int, best: Best) -> None:
        is_first = all(name != "slow" for name, _ in asked)
        asked.append(("slow", budget.wall_seconds))
        while is_first and not budget.is_spent():
            pass

    settings = PlacementCertifySettings(
        cheap=(Step(quick, 1.0), Step(slow, 0.001)),
        modules=Step(quick, 1.0),
        prices=Step(quick, 0.4),
    )
    sample = instance(ROWS, EDGES)
    placement_certify.run(sample, Budget(600), 1, Recorder(), known_cost=0, settings=settings)
    assert [name for name, _ in asked] == ["quick", "slow", "quick", "quick", "slow"]
    first, again = (seconds for name, seconds in asked if name == "slow")
    assert first < 1 < again


def test_the_last_steps_have_time_left() -> None:
    """A step that ends a little after its time still ends within the method's."""
    ends: list[float] = []

    def late(sample: PlacementInstance, budget: Budget, seed: int, best: Best) -> None:
        ends.append(budget.started + budget.wall_seconds)

    step = Step(late, 1.0)
    settings = PlacementCertifySettings(cheap=(step,), modules=step, prices=step)
    budget, sample = Budget(600), instance(ROWS, EDGES)
    placement_certify.run(sample, budget, 1, Recorder(), known_cost=0, settings=settings)
    assert len(ends) == 3
    assert max(ends) < budget.started + 0.98 * budget.wall_seconds
