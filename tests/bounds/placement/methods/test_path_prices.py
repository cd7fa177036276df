"""Prices over modules that were searched."""

from brute_force_placement import instance, optimum
from recording import Recorder

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.placement.methods import path_prices
from boundmark.bounds.placement.series.certificate import affordable
from boundmark.bounds.placement.series.closing_in import ClosingIn
from boundmark.problems.method import Budget

FORK_JOIN = [(0, 1), (0, 2), (1, 3), (2, 3)]


def closing_in(edges: list[tuple[int, int]], **limits: list[int]) -> ClosingIn:
    """Return a chain of two modules, each a fork of two branches, of which all is proven."""
    rows = [[2, 3], [5, 6], [6, 5], [1, 2], [6, 5], [5, 6], [2, 2]]
    modules = [*FORK_JOIN, *((u + 3, v + 3) for u, v in FORK_JOIN)]
    sample = instance(rows, [*modules, *edges], times=[[0, 3, 2, 0]], **limits)
    closing = ClosingIn.of(sample, Budget(600), Best(sample, Recorder()), "a test")
    closing.run()
    return closing


def test_modules_say_more_than_intervals() -> None:
    """Three equal branches take two devices as long as two; fractions of them take less."""
    edges = [(0, v) for v in (1, 2, 3)] + [(v, 4) for v in (1, 2, 3)]
    sample = instance([[2, 2], [6, 6], [6, 6], [6, 6], [1, 1]], edges)
    closing = ClosingIn.of(sample, Budget(600), Best(sample, Recorder()), "a test")
    closing.run()
    plain, searched = Recorder(), Recorder()
    path_prices.run(sample, Budget(60), 1, Best(sample, plain))
    path_prices.report_with_modules(sample, closing, Budget(60), Best(sample, searched))
    document = searched.bounds[-1].to_json()
    assert checker.check_certificate(sample.to_json(), document) >= document["bound"]
    assert plain.bounds[-1].bound < document["bound"] <= optimum(sample)


def test_what_a_chain_does_not_see() -> None:
    """A tensor past a module, an operator beside it, and memory that is short."""
    assert closing_in([]).sees_all
    assert not closing_in([(0, 4)]).sees_all
    assert not closing_in([], memory=[1] * 7, capacity=[4, 6]).sees_all
    assert closing_in([], memory=[1] * 7, capacity=[4, 7]).sees_all


def test_the_longest_searches_are_left_out() -> None:
    """What is left proves what the searches that are left do."""
    parts = closing_in([]).parts
    steps = sorted(proof.steps for part in parts for proof in part.proofs.values())
    assert steps
    kept = affordable(parts, sum(steps) - 1)
    assert sorted(proof.steps for part in kept for proof in part.proofs.values()) == steps[:-1]
    for part in kept:
        for pair, ticks in part.least.items():
            assert ticks == part.by_paths[pair] or part.proofs[pair].threshold + 1 == ticks
    assert affordable(parts, 0) == []
