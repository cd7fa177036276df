import itertools
import random
from types import SimpleNamespace

import pytest
from brute_force import instance, optimum
from recording import Recorder

from boundmark.bounds import checker
from boundmark.bounds.pipeline import certify
from boundmark.bounds.pipeline.certify import CertifySettings
from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.problems import method
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance

SETTINGS = CertifySettings()


def certified(
    sample: PipelineInstance,
    seconds: float,
    ideals: int,
    known_cost: int = 0,
    settings: CertifySettings = SETTINGS,
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
        settings=settings,
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
    assert "share/1" not in {report.kind for report in reports.bounds}


def test_parallel_towers_are_solved() -> None:
    """Two chains that one node joins have few down-sets each, and are solved before turns begin."""
    chain = [(v, v + 1) for v in range(8)]
    edges = [*chain, *((u + 9, w + 9) for u, w in chain), (8, 18), (17, 18)]
    sample = instance([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8], edges, 4)
    reports = certified(sample, 20, ideals=50)
    assert reports.bounds[-1].kind == "tower-dp/1"
    assert reports.bounds[-1].bound == sample.objective(reports.solutions[-1])
    assert "share/1" not in {report.kind for report in reports.bounds}


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
    ("width", "depth", "k", "name"),
    [
        (10, 4, 2, "mip-tree"),
        (10, 4, 8, "packing"),
        (3, 16, 4, "prefix-bound"),
        (5, 8, 4, "packing"),
    ],
)
def test_what_suits_the_graph_has_the_first_turn(
    monkeypatch: pytest.MonkeyPatch, width: int, depth: int, k: int, name: str
) -> None:
    """That depends on the form and k; on long graphs, cuts come after what proves more.

    Random graphs have five nodes and more for each node of a longest path; they are not long.
    """
    names: list[str] = []
    monkeypatch.setattr(certify, "run_by_turns", lambda methods, *others: names.extend(methods))
    kinds = [report.kind for report in certified(layers(width, depth, k), 5, ideals=100).bounds]
    assert names[0] == name
    assert ("share/1" in kinds) == (name != "prefix-bound")


@pytest.mark.parametrize(
    ("k", "times_share", "most_edges", "first", "second"),
    [
        (4, 1.2, 90.0, "packing", "mip-tree"),
        (4, 1.5, 90.0, "cut-tree", "packing"),
        (8, 1.5, 90.0, "packing", "mip-tree"),
        (4, 1.2, 14.0, "packing", "cut-tree"),
        (5, 1.2, 11.0, "cut-tree", "packing"),
    ],
)
def test_cut_tree_takes_part_where_stages_have_many_edges(
    monkeypatch: pytest.MonkeyPatch,
    k: int,
    times_share: float,
    most_edges: float,
    first: str,
    second: str,
) -> None:
    """It begins where transfers outweigh work: costs are far from the bound of `fractional-load`.

    There are 60 edges: 15 or 7 for each stage.
    """
    sample = layers(10, 4, k)
    share = share_table(sample.graph).certificate(sample, "test").bound
    names: list[str] = []
    monkeypatch.setattr(certify, "run_by_turns", lambda methods, *others: names.extend(methods))
    settings = CertifySettings(most_edges=most_edges, most_edges_far=10.0, dense=1.0)
    certified(sample, 5, 1, int(times_share * share), settings)
    assert names[:2] == [first, second]


@pytest.mark.parametrize(("times_share", "is_by_cuts"), [(1.2, False), (1.5, True)])
def test_where_cut_tree_begins_it_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, times_share: float, is_by_cuts: bool
) -> None:
    """One of its trees may take half of its time, so that others get little until three quarters.

    Graphs on which another method begins keep their patience.
    """
    sample = layers(10, 4, 4)
    share = share_table(sample.graph).certificate(sample, "test").bound
    turns: list[object] = []
    monkeypatch.setattr(certify, "run_by_turns", lambda *given: turns.append(given[-1]))
    settings = CertifySettings(most_edges=90.0, most_edges_far=10.0)
    certified(sample, 5, 1, int(times_share * share), settings)
    assert turns == [certify.TURNS_BY_CUTS if is_by_cuts else certify.TURNS]
    assert certify.TURNS_BY_CUTS.patience > certify.TURNS.patience


@pytest.mark.parametrize(("dense", "first"), [(0.07, "cut-tree"), (0.08, "packing")])
def test_cut_tree_begins_on_dense_graphs(
    monkeypatch: pytest.MonkeyPatch, dense: float, first: str
) -> None:
    """In four stages, too, where work outweighs transfers; 60 of 780 pairs of nodes are joined."""
    sample = layers(10, 4, 4)
    names: list[str] = []
    monkeypatch.setattr(certify, "run_by_turns", lambda methods, *others: names.extend(methods))
    share = share_table(sample.graph).certificate(sample, "test").bound
    settings = CertifySettings(most_edges=14.0, dense=dense)
    certified(sample, 5, 1, int(1.2 * share), settings)
    assert names[0] == first


def test_cut_tree_does_not_begin_with_few_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two stages, trees prove most even where transfers outweigh work."""
    names: list[str] = []
    monkeypatch.setattr(certify, "run_by_turns", lambda methods, *others: names.extend(methods))
    sample = layers(10, 4, 2)
    certified(sample, 5, ideals=1, known_cost=3 * int(sample.graph.work.sum()))
    assert names.index("mip-tree") == 0 < names.index("cut-tree")


@pytest.mark.parametrize(("width", "depth", "k"), [(10, 4, 2), (10, 4, 8), (3, 16, 4)])
def test_what_methods_prove_by_turns_is_accepted(
    monkeypatch: pytest.MonkeyPatch, width: int, depth: int, k: int
) -> None:
    """Bounds rise above those of single cuts, whichever method has found them.

    Time passes by a hundredth of a second for each look at the clock, on a busy machine, too.
    """
    looks = itertools.count()
    monkeypatch.setattr(method, "time", SimpleNamespace(monotonic=lambda: next(looks) / 100))
    sample = layers(width, depth, k)
    reports = certified(sample, 8, ideals=100)
    assert reports.bounds[-1].kind not in {"mean-work/1", "share/1"}
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
    """Where packing ends below the optimum, it is not the last word.

    No time passes, so that each method goes on until it ends by itself. `prefix-bound` never would.
    """
    monkeypatch.setattr(certify, "_names", lambda *others: ("packing", "mip-tree"))
    monkeypatch.setattr(certify.two_branch_dp, "towers", lambda dag: iter(()))
    monkeypatch.setattr(method, "time", SimpleNamespace(monotonic=lambda: 0.0))
    dice, nodes = random.Random(9), 14
    edges = [(u, v) for u in range(6) for v in range(6, nodes) if dice.random() < 0.35]
    work = [dice.randrange(1, 9) for _ in range(nodes)]
    sample = instance(work, edges, 4, transfer=[dice.randrange(1, 6) for _ in range(nodes)])
    reports = certified(sample, 20, ideals=1)
    assert [report.kind for report in reports.bounds[-2:]] == ["packing/2", "mip-tree/1"]
    by_ideals = certified(sample, 20, ideals=20_000)
    assert reports.bounds[-1].bound == min(map(sample.objective, by_ideals.solutions))
