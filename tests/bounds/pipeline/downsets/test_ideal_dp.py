"""The optimum over chains of ideals. tests/conformance compares it with brute force, too."""

import random
from collections.abc import Callable

import numpy as np
import pytest
from brute_force import all_dags, instance, optimum, stage_cost
from chains import chain
from hypothesis import given
from hypothesis import strategies as st
from published_data import published_data
from recording import Recorder

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline import limits
from boundmark.bounds.pipeline.downsets import ideal_dp, ideals
from boundmark.bounds.pipeline.downsets.ideal_dp import pendants, without
from boundmark.bounds.pipeline.downsets.ideals import lattice
from boundmark.datasets.pipeline import pipedream
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


def solved(
    sample: PipelineInstance, seconds: float = 60, ideals: int = 200_000, **settings: int
) -> Recorder:
    """Run the method."""
    reports = Recorder()
    ideal_dp.run(sample, Budget(seconds), 0, reports, ideals=ideals, **settings)
    return reports


@st.composite
def samples(draw: st.DrawFn) -> PipelineInstance:
    """Return an instance of up to seven nodes, many of them free and pendant."""
    n = draw(st.integers(1, 7))
    pairs = [(u, v) for v in range(n) for u in range(v)]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=9)) if pairs else []
    costs = st.lists(st.sampled_from([0, 0, 1, 3, 7]), min_size=n, max_size=n)
    return instance(
        draw(costs),
        edges,
        draw(st.integers(1, 4)),
        transfer=draw(costs),
        param_load=draw(costs),
        cache=draw(st.integers(0, 20)),
    )


@pytest.mark.parametrize("ideals", [4000, 200_000])
@given(sample=samples())
def test_finds_and_certifies_the_optimum(sample: PipelineInstance, ideals: int) -> None:
    """The last solution and the last bound are the optimum, and the checker agrees exactly."""
    best = optimum(sample)
    reports = solved(sample, ideals=ideals)
    assert ideals > PLAIN or len(reports.solutions) == len(reports.bounds) == 1
    assert sample.objective(reports.solutions[-1]) == best
    final = reports.bounds[-1]
    assert isinstance(final, Certificate)
    assert final.bound == best
    assert checker.check_certificate(sample.to_json(), final.to_json()) == best
    higher = {**final.to_json(), "bound": best + 1}
    higher["payload"] = {**final.payload, "threshold": best}
    with pytest.raises(checker.Rejected, match="do not refute"):
        checker.check_certificate(sample.to_json(), higher)


@given(samples(), st.data())
def test_leaving_out_any_nodes_proves_nothing_false(
    sample: PipelineInstance, data: st.DataObject
) -> None:
    """Whatever nodes a certificate ignores, no threshold is refuted that can be met."""
    ignored = data.draw(st.lists(st.integers(0, sample.nodes - 1)))
    best = optimum(sample)
    certificate = Certificate.of(
        sample, ideal_dp.KIND, best + 1, {"threshold": best, "ignored": ignored}, "test"
    )
    with pytest.raises(checker.Rejected, match="do not refute"):
        checker.check_certificate(sample.to_json(), certificate.to_json())


def ladder(length: int, seed: int) -> PipelineInstance:
    """Return two chains with rungs, of more nodes than a word has bits."""
    rng = random.Random(seed)
    edges = [(v, v + 2) for v in range(2 * length - 2)]
    edges += [(2 * i, 2 * i + 1) for i in range(0, length, 7)]
    costs = [[rng.randrange(1, 60) for _ in range(2 * length)] for _ in range(3)]
    return instance(costs[0], edges, 6, transfer=costs[1], param_load=costs[2], cache=350)


@pytest.mark.parametrize("seed", [1, 2])
def test_large_narrow_graphs(seed: int) -> None:
    """Bit sets of several words, many pauses, and the checker's own arithmetic agree."""
    sample = ladder(75, seed)
    reports = solved(sample)
    final = reports.bounds[-1]
    assert isinstance(final, Certificate)
    assert final.bound == sample.objective(reports.solutions[-1])
    assert checker.check_certificate(sample.to_json(), final.to_json()) == final.bound
    assert solved(sample, pairs_at_a_time=50).bounds == reports.bounds


def test_what_the_checker_would_refuse_is_only_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The method counts pairs as the checker does: one less allowed, and both give up."""
    sample = ladder(30, 1)
    final = solved(sample).bounds[-1]
    assert isinstance(final, Certificate)
    graph = sample.graph
    found = lattice(graph, 10_000)
    assert found is not None
    chains = ideals.IdealSearch(graph, found, sample.k, 10_000)
    assert chains.stages(final.bound - 1, Budget(60)) is None
    monkeypatch.setattr(limits, "MOST_IDEAL_PAIRS", chains.pairs)
    assert isinstance(solved(sample).bounds[-1], Certificate)
    assert checker.check_certificate(sample.to_json(), final.to_json()) == final.bound
    monkeypatch.setattr(limits, "MOST_IDEAL_PAIRS", chains.pairs - 1)
    assert solved(sample).bounds[-1] == Claim(ideal_dp.KIND, final.bound)
    with pytest.raises(checker.Rejected, match="too many pairs of down-sets"):
        checker.check_certificate(sample.to_json(), final.to_json())


@pytest.mark.parametrize("limit", ["MOST_IDEAL_STEPS", "MOST_IDEAL_BITS"])
def test_the_checker_bounds_its_memory(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph with too many ideals is rejected, not enumerated."""
    sample = ladder(30, 1)
    final = solved(sample).bounds[-1]
    assert isinstance(final, Certificate)
    monkeypatch.setattr(limits, limit, 500)
    with pytest.raises(checker.Rejected, match="too many down-sets"):
        checker.check_certificate(sample.to_json(), final.to_json())


def test_too_many_ideals_are_refused(random_graph: Callable[..., PipelineGraph]) -> None:
    """A wide graph ends the method at once, with the reason."""
    with pytest.raises(UnsupportedError, match="more than 1,000 down-sets"):
        solved(PipelineInstance(random_graph(200, 1), 4), ideals=1000)


def test_stops_when_its_time_is_up() -> None:
    """Without time left nothing is searched, and nothing is reported."""
    reports = solved(ladder(30, 1), seconds=0)
    assert (reports.solutions, reports.bounds) == ([], [])


@pytest.mark.parametrize("k", [2, 4, 8, 16, 32, 64])
@pytest.mark.parametrize(
    "model", ["alexnet", "vgg16", "squeezenet1_0", "resnet18", "resnet50", "resnext50", "gnmt"]
)
def test_measured_profiles_are_solved(model: str, k: int) -> None:
    """PipeDream's profiles are solved to certified optimality for every number of stages."""
    graph = pipedream.load_profile(published_data() / "pipedream" / f"{model}.txt")
    sample = PipelineInstance(graph, min(k, graph.dag.nodes))
    reports = solved(sample)
    final = reports.bounds[-1]
    assert isinstance(final, Certificate)
    assert final.bound == sample.objective(reports.solutions[-1])
    assert checker.check_certificate(sample.to_json(), final.to_json()) == final.bound


def test_stage_numbers_follow_the_data() -> None:
    """Stages are numbered in the order of the chain of ideals."""
    sample = ladder(20, 3)
    stages = solved(sample).solutions[-1].stages
    assert np.all(stages[sample.graph.dag.sources] <= stages[sample.graph.dag.targets])


def test_pendants_leave_the_optimum() -> None:
    """Free nodes with one neighbour go, one after another, but not the last of a component."""
    sample = instance([0, 0, 5, 0, 0, 0], [(0, 1), (1, 2), (2, 3), (2, 4)], 3)
    removed = pendants(sample.graph)
    assert sorted(v for v, _ in removed) == [0, 1, 3, 4]
    core, kept = without(sample.graph, [v for v, _ in removed])
    assert (kept, core.dag.edges) == ([2, 5], 0)
    assert len(pendants(instance([0, 0], [(0, 1)], 2).graph)) == 1
    assert not pendants(instance([0, 5], [(0, 1)], 2, param_load=[1, 0]).graph)
    assert pendants(instance([0, 5], [(0, 1)], 2, param_load=[1, 0], cache=1).graph)


# Up to so many down-sets, the search is a plain one: nothing is compiled before the first answer.
PLAIN = 4000


@pytest.mark.parametrize("k", [1, 3, 40, 41, 100])
def test_any_number_of_stages(k: int) -> None:
    """More than there are nodes, too."""
    sample = chain(40, k)
    plain, compiled = solved(sample, ideals=PLAIN), solved(sample, ideals=PLAIN + 1)
    assert sample.objective(plain.solutions[-1]) == sample.objective(compiled.solutions[-1])


WIDE = {
    "without edges": instance([1] * 60, [], 3),
    "more nodes than down-sets to try": instance([1] * 17_000, [], 3),
    "stages cost more than they may": instance(
        [1] * 61, [(v, 60) for v in range(60)], 3, transfer=[90] * 61
    ),
}


@pytest.mark.parametrize("sample", WIDE.values(), ids=WIDE)
def test_too_many_down_sets(sample: PipelineInstance) -> None:
    """It says so at once, before it has listed what it could never hold."""
    with pytest.raises(UnsupportedError, match="more than 4,000 down-sets"):
        solved(sample, ideals=PLAIN)


def test_too_many_pairs_are_left_to_what_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where few down-sets make many stages, the plain search ends by itself, however much time."""
    solved(ladder(75, 1), ideals=PLAIN)
    monkeypatch.setattr(ideal_dp, "MOST_PLAIN_PAIRS", 1000)
    with pytest.raises(UnsupportedError, match="more than 1,000 pairs of down-sets"):
        solved(ladder(75, 1), ideals=PLAIN)


def test_no_time_is_no_answer() -> None:
    """Nothing is reported when the time is up before the stages that matter are listed."""
    reports = solved(ladder(75, 1), seconds=0, ideals=PLAIN)
    assert (reports.solutions, reports.bounds) == ([], [])


def test_ideals_of_every_small_graph() -> None:
    """On every DAG of up to four nodes, the ideals and their totals are those of the definition."""
    for nodes in range(1, 5):
        for edges in all_dags(nodes):
            sample = instance([1, 2, 4, 8][:nodes], edges, 2, transfer=[1, 10, 100, 1000][:nodes])
            ideals = {
                bits
                for bits in range(2**nodes)
                if all(bits >> u & 1 or not bits >> v & 1 for u, v in edges)
            }
            found = lattice(sample.graph, 2**nodes)
            assert found is not None
            assert set(found.members.tolist()) == ideals
            assert found.work.tolist() == found.members.tolist()
            for bits, leaving in zip(found.members.tolist(), found.leaving.tolist(), strict=True):
                stage = {v for v in range(nodes) if bits >> v & 1}
                assert stage_cost(sample, stage) == bits + leaving
            assert lattice(sample.graph, len(ideals)) is not None
            assert lattice(sample.graph, len(ideals) - 1) is None
