import itertools
import random
from types import SimpleNamespace

import pytest
from brute_force import instance, optimum
from recording import Recorder

from boundmark.bounds import checker
from boundmark.bounds.pipeline import certify
from boundmark.bounds.pipeline.downsets import two_branch_dp
from boundmark.problems import method
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance


def certified(
    sample: PipelineInstance,
    seconds: float,
    ideals: int,
    known_cost: int = 0,
) -> Recorder:
    """Run the method; every report must be better than the last, and accepted."""
    reports = Recorder()
    certify.run(
        sample,
        Budget(seconds, started=method.time.monotonic()),
        0,
        reports,
        ideals=ideals,
        known_cost=known_cost,
    )
    bounds = [report.bound for report in reports.bounds]
    assert bounds == sorted(set(bounds))
    for report in reports.bounds:
        assert checker.check_certificate(sample.to_json(), report.to_json()) == report.bound
    return reports


def test_narrow_graphs_are_solved() -> None:
    """Where down-sets are few, bound and partition meet before anything slow is begun."""
    sample = instance([5, 3, 4, 6, 2], [(0, 1), (1, 2), (2, 3), (3, 4)], 2)
    reports = certified(sample, 20, ideals=100)
    assert reports.bounds[-1].bound == optimum(sample)
    assert sample.objective(reports.solutions[-1]) == optimum(sample)
    assert "fractional-load/1" not in {report.kind for report in reports.bounds}


def test_parallel_towers_are_solved() -> None:
    """Two chains that one node joins have few down-sets each, and are solved first."""
    chain = [(v, v + 1) for v in range(8)]
    edges = [*chain, *((u + 9, w + 9) for u, w in chain), (8, 18), (17, 18)]
    sample = instance([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8], edges, 4)
    reports = certified(sample, 20, ideals=50)
    assert reports.bounds[-1].kind == "two-branch-dp/1"
    assert reports.bounds[-1].bound == sample.objective(reports.solutions[-1])
    assert "fractional-load/1" not in {report.kind for report in reports.bounds}


def layers(width: int, depth: int, k: int) -> PipelineInstance:
    """Return layers of nodes, each of which needs two of the layer before."""
    dice = random.Random(1)
    nodes = width * depth
    edges = [
        (v - width - v % width + (v + step) % width, v)
        for v in range(width, nodes)
        for step in (0, 1)
    ]
    work, transfer = ([dice.randrange(1, most) for _ in range(nodes)] for most in (20, 4))
    return instance(work, edges, k, transfer=transfer)


@pytest.mark.parametrize(
    ("width", "depth", "k", "names"),
    [
        (10, 4, 2, ["fractional_load", "mip_tree", "cut_tree"]),
        (10, 8, 4, ["fractional_load", "cut_tree", "mip_tree"]),
        (10, 4, 8, ["fractional_load", "packing", "cut_tree", "mip_tree"]),
        (5, 8, 4, ["fractional_load", "packing", "cut_tree", "mip_tree"]),
        (3, 16, 4, ["prefix_bound", "fractional_load", "mip_tree"]),
    ],
)
def test_what_suits_the_graph_comes_first(width: int, depth: int, k: int, names: list[str]) -> None:
    """That depends on the form and k; on long graphs, cuts come after what proves more.

    Random graphs have five nodes and more for each node of a longest path; they are not long.
    """
    steps = certify._steps(layers(width, depth, k), None)
    modules = [getattr(bound, "func", bound).__module__ for bound, _ in steps]
    assert all(map(str.endswith, modules, names))
    assert len(modules) == len(names)


@pytest.mark.parametrize(("width", "depth", "k"), [(10, 4, 2), (10, 4, 8), (3, 16, 4)])
def test_what_bounds_prove_in_turn_is_accepted(
    monkeypatch: pytest.MonkeyPatch, width: int, depth: int, k: int
) -> None:
    """Bounds rise above those of single cuts, whichever method has found them.

    Time passes by a hundredth of a second for each look at the clock, on a busy machine, too.
    """
    looks = itertools.count()
    monkeypatch.setattr(method, "time", SimpleNamespace(monotonic=lambda: next(looks) / 100))
    sample = layers(width, depth, k)
    reports = certified(sample, 8, ideals=100)
    assert reports.bounds[-1].kind not in {"mean-work/1", "fractional-load/1"}
    assert reports.bounds[-1].bound <= min(map(sample.objective, reports.solutions))


def test_nothing_follows_the_proof_of_a_known_cost() -> None:
    """The method ends when its bound meets a known cost, and reports no costlier partition."""
    sample = layers(3, 6, 3)
    alone = certified(sample, 30, ideals=1)
    cost = alone.bounds[-1].bound
    assert min(map(sample.objective, alone.solutions)) == cost
    reports = certified(sample, 30, ideals=1, known_cost=cost)
    assert reports.bounds[-1].bound == cost
    assert not reports.solutions


@pytest.mark.slow
def test_a_tree_follows_weights_that_do_no_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where weights of `packing` end below the optimum, they are not the last word.

    No time passes, so that each method goes on until it ends by itself. For `cut-tree`, which has
    the optimum here, too, and for towers the graph is too large.
    """
    monkeypatch.setattr(certify.cut_tree, "LARGEST_CUT_GRAPH", 1)
    monkeypatch.setattr(two_branch_dp, "LARGEST_TOWER_GRAPH", 1)
    monkeypatch.setattr(method, "time", SimpleNamespace(monotonic=lambda: 0.0))
    dice, nodes = random.Random(9), 14
    edges = [(u, v) for u in range(6) for v in range(6, nodes) if dice.random() < 0.35]
    work = [dice.randrange(1, 9) for _ in range(nodes)]
    sample = instance(work, edges, 4, transfer=[dice.randrange(1, 6) for _ in range(nodes)])
    reports = certified(sample, 20, ideals=1)
    assert [report.kind for report in reports.bounds[-2:]] == ["packing/2", "mip-tree/1"]
    by_ideals = certified(sample, 20, ideals=20_000)
    assert reports.bounds[-1].bound == min(map(sample.objective, by_ideals.solutions))
