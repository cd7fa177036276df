"""The optimum over pairs of down-sets. tests/conformance compares it with brute force, too."""

import contextlib
import random
from bisect import bisect_left

import numpy as np
import pytest
from brute_force import instance, optimum
from hypothesis import given
from hypothesis import strategies as st
from recording import Recorder

from boundmark.benchmarks.solving.model import named_instance
from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker import budget as checker_budget
from boundmark.bounds.checker.pipeline import limits
from boundmark.bounds.pipeline.downsets import ideal_dp, two_branch_dp
from boundmark.bounds.pipeline.downsets.two_branch_dp import towers
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.dag import Dag
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance


def solved(sample: PipelineInstance, seconds: float = 60, least_part: float = 0.0) -> Recorder:
    """Run the method."""
    reports = Recorder()
    two_branch_dp.run(sample, Budget(seconds), 0, reports, least_part=least_part)
    return reports


def checked(sample: PipelineInstance, reports: Recorder) -> int:
    """Return the last bound, which the checker accepts, and not a tick more."""
    final = reports.bounds[-1]
    assert isinstance(final, Certificate)
    assert checker.check_certificate(sample.to_json(), final.to_json()) == final.bound
    return final.bound


@st.composite
def two_towers(draw: st.DrawFn) -> PipelineInstance:
    """Return two graphs of up to three nodes, each with one tensor for the last node."""
    sizes = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    edges, start = [], 0
    for size in sizes:
        last = start + size - 1
        # Every node of a tower leads to its last one.
        edges += [(v, last) for v in range(start, last)]
        pairs = [(u, v) for v in range(start, last) for u in range(start, v)]
        edges += draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
        start += size
    edges += [(sizes[0] - 1, start), (start - 1, start)]
    costs = st.lists(st.sampled_from([0, 1, 2, 5, 9]), min_size=start + 1, max_size=start + 1)
    load = draw(costs)
    cache = sum(load) if draw(st.booleans()) else 0
    load = load if cache else [0] * len(load)
    k = draw(st.integers(1, 4))
    return instance(draw(costs), edges, k, transfer=draw(costs), param_load=load, cache=cache)


@given(two_towers())
def test_finds_and_certifies_the_optimum_of_two_towers(sample: PipelineInstance) -> None:
    """Where one tensor of each tower is all that leaves it, bound and partition meet."""
    best = optimum(sample)
    reports = solved(sample)
    assert sample.objective(reports.solutions[-1]) == best
    assert checked(sample, reports) == best
    higher = {"threshold": best, "tower": next(towers(sample.graph.dag))[1]}
    certificate = Certificate.of(sample, two_branch_dp.KIND, best + 1, higher, "test").to_json()
    with pytest.raises(checker.Rejected, match="do not refute"):
        checker.check_certificate(sample.to_json(), certificate)


def encoders(length: int, seed: int, k: int = 5) -> PipelineInstance:
    """Return two chains of diamonds that a last node joins."""
    dice = random.Random(seed)
    edges: list[tuple[int, int]] = []
    ends = []
    for tower in range(2):
        begin = 4 * length * tower
        for block in range(begin, begin + 4 * length, 4):
            edges += [(block, block + 1), (block, block + 2), (block + 1, block + 3)]
            edges += [(block + 2, block + 3)]
            edges += [(block - 1, block)] if block > begin else []
        ends.append(begin + 4 * length - 1)
    nodes = 8 * length + 1
    edges += [(end, nodes - 1) for end in ends]
    work, transfer = ([dice.randrange(1, 60) for _ in range(nodes)] for _ in range(2))
    return instance(work, edges, k, transfer=transfer)


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_the_search_of_all_down_sets(seed: int) -> None:
    """On graphs of more down-sets than a word has bits, `ideal-dp` finds the same optimum."""
    sample = encoders(6, seed)
    reports, others = solved(sample), Recorder()
    ideal_dp.run(sample, Budget(60), 0, others, ideals=100_000)
    best = sample.objective(others.solutions[-1])
    assert others.bounds[-1].bound == best
    assert sample.objective(reports.solutions[-1]) == best
    assert checked(sample, reports) == best


def test_stage_numbers_follow_the_data() -> None:
    """Stages are numbered in the order in which data flows."""
    sample = encoders(5, 1)
    stages = solved(sample).solutions[-1].stages
    assert np.all(stages[sample.graph.dag.sources] <= stages[sample.graph.dag.targets])


@pytest.mark.parametrize("seed", range(4))
def test_steps_are_counted_as_the_checker_takes_them(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the checker has no steps for is only claimed; one more, and it is certified."""
    sample = encoders(5, seed)
    final = solved(sample).bounds[-1]
    assert isinstance(final, Certificate)

    def is_accepted(steps: int) -> bool:
        monkeypatch.setattr(checker_budget, "MOST_STEPS", steps)
        with contextlib.suppress(checker.TooLarge):
            return checker.check_certificate(sample.to_json(), final.to_json()) == final.bound
        return False

    needed = bisect_left(range(2**20), True, key=is_accepted)
    for steps, kind in ((needed - 1, Claim), (needed, Certificate)):
        monkeypatch.setattr(two_branch_dp, "MOST_STEPS", steps)
        reports = Recorder()
        # Told the optimum, it lists stages up to the threshold that is to be refuted.
        best = Best(sample, reports, objective=final.bound, certified=final.bound - 1)
        two_branch_dp.run(sample, Budget(60), 0, best, least_part=0.0)
        assert [type(bound) for bound in reports.bounds] == [kind]
        assert reports.bounds[0].bound == final.bound


def test_towers_and_branches_are_found() -> None:
    """Two inputs that are joined, two outputs that are left alone, and two graphs in one."""
    joined = Dag.from_edges(6, [(0, 1), (1, 2), (3, 4), (2, 5), (4, 5)])
    assert next(towers(joined)) == (2, [0, 1, 2])
    left = Dag.from_edges(6, [(0, 1), (1, 2), (2, 3), (0, 4), (4, 5)])
    # The largest branch is one side, and what it comes from with the other branch is the other.
    assert next(towers(left)) == (2, [0, 4, 5])
    apart = Dag.from_edges(4, [(0, 1), (2, 3)])
    assert (2, [0, 1]) in towers(apart)
    assert not list(towers(Dag.from_edges(3, [(0, 1), (1, 2)])))
    # Branches that begin at one node and end at one are held together from both sides.
    assert not list(towers(Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)])))


def test_every_tower_is_a_down_set() -> None:
    """Whatever the graph, a tower has the producers of its nodes, so that the checker takes it."""
    dice = random.Random(1)
    for _ in range(50):
        nodes = dice.randrange(2, 12)
        pairs = [(u, v) for v in range(nodes) for u in range(v) if dice.random() < 0.2]
        dag = Dag.from_edges(nodes, pairs)
        for size, tower in towers(dag):
            inside = set(tower)
            assert 0 < size <= min(len(inside), nodes - len(inside))
            assert all(u in inside for u, w in pairs if w in inside)


def test_a_graph_without_towers_is_refused() -> None:
    """A chain ends the method at once, with the reason; so do towers too small to matter."""
    with pytest.raises(UnsupportedError, match="no parallel towers"):
        solved(instance([1, 2, 3], [(0, 1), (1, 2)], 2))
    with pytest.raises(UnsupportedError, match="no parallel towers"):
        solved(encoders(3, 1), least_part=0.6)


def test_too_many_down_sets_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sides too large to check end the method, with the reason."""
    monkeypatch.setattr(limits, "MOST_TOWER_IDEALS", 10)
    with pytest.raises(UnsupportedError, match="too many down-sets"):
        solved(encoders(5, 1))


def test_stops_when_its_time_is_up() -> None:
    """Without time left, no more than the mean work is reported, and the graph is not blamed."""
    assert [bound.kind for bound in solved(encoders(3, 1), seconds=0).bounds] == ["mean-work/1"]


def test_graphs_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before towers are looked for, by the checker's limit, which refuses them as well."""
    sample = encoders(3, 1)
    final = solved(sample).bounds[-1]
    assert isinstance(final, Certificate)
    monkeypatch.setattr(two_branch_dp, "LARGEST_TOWER_GRAPH", sample.nodes - 1)
    with pytest.raises(UnsupportedError, match="has 25 nodes; expected at most 24"):
        solved(sample)
    monkeypatch.setattr(limits, "LARGEST_TOWER_GRAPH", sample.nodes - 1)
    with pytest.raises(checker.TooLarge, match="more than 24 nodes"):
        checker.check_certificate(sample.to_json(), final.to_json())


@pytest.mark.slow
@pytest.mark.parametrize(("k", "best"), [(4, 3_891_773), (16, 1_178_005)])
def test_a_model_of_two_towers_is_solved(k: int, best: int) -> None:
    """FLAVA, 1.6 million pairs of down-sets, is solved to certified optimality."""
    sample = named_instance("zoo/flava-base", {"k": str(k)}, "pipeline").instance
    assert isinstance(sample, PipelineInstance)
    reports = solved(sample, least_part=0.05)
    assert sample.objective(reports.solutions[-1]) == best
    assert checked(sample, reports) == best
