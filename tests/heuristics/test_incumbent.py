"""The incumbent of every search."""

from functools import partial

from recording import Recorder

from boundmark.heuristics.incumbent import NO_COST, Incumbent
from boundmark.problems.pipeline import Partition


def test_only_improvements_are_made_kept_and_reported() -> None:
    """A solution that costs as much as the best one is not even made."""
    recorder = Recorder()
    best: Incumbent[Partition] = Incumbent(recorder)
    assert best.cost == NO_COST
    made = []

    def make(number: int) -> Partition:
        made.append(number)
        return Partition([number])

    offers = [best.offer(cost, partial(make, cost)) for cost in (5, 7, 5, 4)]
    assert offers == [True, False, False, True]
    assert made == [5, 4]
    assert best.cost == 4
    assert best.solution.stages.tolist() == [4]
    assert [solution.stages.tolist() for solution in recorder.solutions] == [[5], [4]]
