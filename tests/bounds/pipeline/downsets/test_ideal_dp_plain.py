"""The plain search over down-sets: the optimum and its proof, before anything is compiled."""

import brute_force
import pytest
from chains import chain
from hypothesis import given
from hypothesis import strategies as st
from recording import Recorder

from boundmark.bounds import checker
from boundmark.bounds.pipeline.downsets import ideal_dp
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance


def solved(sample: PipelineInstance, seconds: float = 60, ideals: int = 1000) -> Recorder:
    """Run the method as `solve` does first."""
    reports = Recorder()
    ideal_dp.run(sample, Budget(seconds), 0, reports, ideals=ideals)
    return reports


@st.composite
def samples(draw: st.DrawFn) -> PipelineInstance:
    """Return an instance of up to seven nodes with every cost term, many nodes free."""
    n = draw(st.integers(1, 7))
    pairs = [(u, v) for v in range(n) for u in range(v)]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=9, unique=True)) if pairs else []
    costs = st.lists(st.sampled_from([0, 0, 1, 3, 7]), min_size=n, max_size=n)
    return brute_force.instance(
        draw(costs),
        edges,
        draw(st.integers(1, 4)),
        transfer=draw(costs),
        param_load=draw(costs),
        cache=draw(st.integers(0, 20)),
    )


@given(samples())
def test_finds_and_certifies_the_optimum(sample: PipelineInstance) -> None:
    """One solution and one certificate, both the optimum, and the checker agrees exactly."""
    best = brute_force.optimum(sample)
    reports = solved(sample)
    assert [sample.objective(one) for one in reports.solutions] == [best]
    (certificate,) = reports.bounds
    assert isinstance(certificate, Certificate)
    assert certificate.bound == best
    assert checker.check_certificate(sample.to_json(), certificate.to_json()) == best


@pytest.mark.parametrize("k", [1, 3, 40, 41, 100])
def test_any_number_of_stages(k: int) -> None:
    """More than there are nodes, too."""
    sample = chain(40, k)
    plain, compiled = solved(sample), solved(sample, ideals=1001)
    assert sample.objective(plain.solutions[-1]) == sample.objective(compiled.solutions[-1])


WIDE = {
    "without edges": brute_force.instance([1] * 60, [], 3),
    "more nodes than down-sets to try": brute_force.instance([1] * 5000, [], 3),
    "stages cost more than they may": brute_force.instance(
        [1] * 61, [(v, 60) for v in range(60)], 3, transfer=[90] * 61
    ),
}


@pytest.mark.parametrize("sample", WIDE.values(), ids=WIDE)
def test_too_many_down_sets(sample: PipelineInstance) -> None:
    """It says so at once, before it has listed what it could never hold."""
    with pytest.raises(UnsupportedError, match="more than 1,000 down-sets"):
        solved(sample)


def test_no_time_is_no_answer() -> None:
    """Nothing is reported when the time is up before all stages are listed."""
    reports = solved(chain(400, 2), seconds=0)
    assert (reports.solutions, reports.bounds) == ([], [])
