"""What methods that prove have in common: the best that is known, and CP-SAT."""

import math

import pytest
from brute_force import instance
from other_process import call
from recording import Recorder
from refused_model import refusal

from boundmark.bounds.best import Best
from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.pipeline import Partition

SAMPLE = instance([3, 4], [(0, 1)], 2, transfer=[1, 0])


APART, TOGETHER = Partition(frozen([0, 1])), Partition(frozen([0, 0]))


def certificate(bound: int) -> Certificate:
    """Return a certificate that is not checked here."""
    return Certificate.of(SAMPLE, "max-work/1", bound, {}, "test")


def test_only_better_solutions_pass() -> None:
    """An equal one passes where the objective leaves something out."""
    for passes_equals, passed in ((False, [7, 5]), (True, [7, 5, 5])):
        recorder = Recorder()
        best = Best(SAMPLE, recorder, passes_equals=passes_equals)
        assert best.objective == math.inf
        for solution in (TOGETHER, APART, TOGETHER, APART):
            best.solution(solution)
        assert [SAMPLE.objective(solution) for solution in recorder.solutions] == passed
        assert best.objective == 5


def test_certificates_beat_claims_of_the_same_value() -> None:
    """What was only claimed may be proven later; a claim has to beat whatever is known."""
    recorder = Recorder()
    best = Best(SAMPLE, recorder)
    for bound in (
        Claim("exact", 4.0), certificate(3), Claim("exact", 4.0), certificate(4), certificate(4),
        Claim("exact", 4.0), Claim("exact", 4.5),
    ):  # fmt: skip
        best.bound(bound)
    assert recorder.bounds == [
        Claim("exact", 4.0), certificate(3), certificate(4), Claim("exact", 4.5),
    ]  # fmt: skip
    assert (best.certified, best.claimed, best.lower) == (4, 4.5, 4.5)


def test_claims_may_be_kept_back() -> None:
    """A method that is for certificates hands on nothing else."""
    recorder = Recorder()
    best = Best(SAMPLE, recorder, passes_claims=False)
    best.bound(Claim("exact", 5.0))
    assert (recorder.bounds, best.lower) == ([], -math.inf)


def test_is_proven_when_bound_and_solution_meet() -> None:
    """Neither of the two suffices."""
    best = Best(SAMPLE, Recorder())
    assert not best.is_proven
    best.bound(certificate(5))
    assert not best.is_proven
    best.solution(TOGETHER)
    assert not best.is_proven
    best.solution(APART)
    assert best.is_proven


def test_what_breaks_a_constraint_is_not_kept() -> None:
    """The error of the instance reaches the method."""
    best = Best(SAMPLE, Recorder())
    with pytest.raises(InvalidInputError, match="expected 0 to 1"):
        best.solution(Partition(frozen([0, 2])))
    assert best.objective == math.inf


def test_a_model_that_is_refused_is_no_model_without_solutions() -> None:
    """Sums beyond 64 bits end in an error, and not in bounds or in nothing."""
    with pytest.raises(AssertionError, match="overflow"):
        call(refusal)
