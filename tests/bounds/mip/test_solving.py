import pytest
from brute_force import instance
from recording import Recorder

from boundmark.bounds.best import Best
from boundmark.bounds.mip.solving import claim


@pytest.mark.parametrize(
    ("ticks", "claimed"),
    [
        (float("-inf"), []),
        (float("inf"), []),
        (float("nan"), []),
        (6.9999999, [6.9999999]),
        (7.0000001, [7.0]),
        (6.5, [6.5]),
        (7.25, [7.25]),
        (2.0**50 + 1, [2.0**50 + 1]),
    ],
)
def test_claims_are_never_rounded_up(ticks: float, claimed: list[float]) -> None:
    """A hair above an integer is that integer; a hair below stays, and infinities say nothing."""
    recorder = Recorder()
    claim("exact", ticks, recorder)
    assert [bound.bound for bound in recorder.bounds] == claimed


def test_only_better_claims_pass() -> None:
    """Before a keeper of the best, a solver may forget what it knew."""
    recorder = Recorder()
    best = Best(instance([1], [], 1), recorder)
    for ticks in (3.0, 2.0, 3.0000001, 4.5, float("nan"), 4.0):
        claim("exact", ticks, best)
    assert [bound.bound for bound in recorder.bounds] == [3.0, 4.5]
