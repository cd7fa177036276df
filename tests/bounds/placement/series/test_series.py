"""Chains of operators that all paths pass, and the compiled search of modules."""

import random

import numpy as np
import pytest
from brute_force_placement import instance

from boundmark.bounds import checker
from boundmark.bounds.checker.placement import module_search as written
from boundmark.bounds.checker.placement.modules import module_of, scratch_for, tensors_written
from boundmark.bounds.checker.placement.paths import OUTSIDE, Network
from boundmark.bounds.placement.series import chain, compiled
from boundmark.problems.errors import UnsupportedError

TWO_MODULES = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6)]


def test_operators_that_all_paths_pass_make_the_chain() -> None:
    """Nothing is lost with them, and modules are as small as can be."""
    found = chain.best_chain(instance([[2, 2]] * 7, TWO_MODULES).graph, 40)
    assert found.operators == (0, 3, 6)
    assert found.work_kept == pytest.approx(1)


def test_a_mask_is_left_out() -> None:
    """An operator whose tensor goes to all modules would make one module of them."""
    edges = [*TWO_MODULES, (7, 1), (7, 4)]
    found = chain.best_chain(instance([*[[9, 9]] * 7, [1, 1]], edges).graph, 3)
    assert found.operators == (0, 3, 6)
    assert 0.9 < found.work_kept < 1


def test_the_heavier_branch_is_kept() -> None:
    """Where a module is too large, the chain goes through it, and operators beside it are lost."""
    edges = [(0, v) for v in range(1, 5)] + [(v, 5) for v in range(1, 5)]
    rows = [[1], [2], [2], [50], [2], [1]]
    found = chain.best_chain(instance(rows, edges).graph, 3)
    assert found.operators == (0, 3, 5)


def test_large_modules_lie_between_few_operators() -> None:
    """Nothing small is a module, but two halves are, and what runs beside them is little."""
    half = [(0, v) for v in range(1, 6)] + [(v, 6) for v in range(1, 6)]
    edges = half + [(u + 6, v + 6) for u, v in half] + [(13, 12)]
    rows = [[5, 5]] * 13 + [[1, 1]]
    graph = instance(rows, edges).graph
    found = chain._coarse_chain(graph, *chain.reached(graph))
    assert found.operators == (0, 6, 12)
    assert found.work_kept == pytest.approx(65 / 66, abs=0.01)


def test_a_coarse_chain_is_left_alone_where_work_counts_more_than_paths() -> None:
    """A path through a wide graph says less than all its work on one device."""
    edges = [(v, v + 1) for v in range(3)]
    graph = instance([[5]] * 12, edges).graph
    found = chain._coarse_chain(graph, *chain.reached(graph))
    assert found.operators == ()
    assert found.work_kept == pytest.approx(1)


def test_models_without_small_modules_get_a_coarse_chain() -> None:
    """If no chain leaves small enough modules, the coarse one is taken."""
    half = [(0, v) for v in range(1, 4)] + [(v, 4) for v in range(1, 4)]
    found = chain.best_chain(instance([[5, 5]] * 5, half).graph, -1)
    assert found.operators == (0, 4)
    assert found.work_kept == pytest.approx(1)


def test_without_a_chain_all_is_one_module() -> None:
    """Operators without edges have no chain that leaves any out."""
    assert chain.best_chain(instance([[1]] * 3, []).graph, 40).operators in {(), (0,), (1,), (2,)}
    assert chain.best_chain(instance([[1]] * 3, []).graph, 40).work_kept == pytest.approx(1)


def test_of_too_many_candidates_every_second_one_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the end of the model, so that no module is large."""
    monkeypatch.setattr(chain, "MOST_CANDIDATES", 4)
    edges = [(v, v + 1) for v in range(7)]
    found = chain.best_chain(instance([[1]] * 8, edges).graph, 3)
    assert found.operators == (0, 2, 4, 6)
    assert found.work_kept == pytest.approx(1)


def test_too_many_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of operators take memory that grows with the square."""
    monkeypatch.setattr(chain, "MOST_OPERATORS", 6)
    with pytest.raises(UnsupportedError, match="7 operators; expected at most 6"):
        chain.best_chain(instance([[1]] * 7, TWO_MODULES).graph, 40)


def test_sets_weigh_what_their_operators_do() -> None:
    """The bit planes add up to the work of each set."""
    work = np.random.default_rng(1).integers(0, 2**chain.WORK_BITS, 30).tolist()
    planes = [
        sum(1 << v for v, ticks in enumerate(work) if ticks >> bit & 1)
        for bit in range(chain.WORK_BITS)
    ]
    for chosen in ([], [3], [0, 5, 29], list(range(30))):
        assert chain._weight(sum(1 << v for v in chosen), planes) == sum(work[v] for v in chosen)


def test_the_compiled_search_is_the_checker_s() -> None:
    """It says the same, after as many steps, and finds the same schedule."""
    dice = random.Random(3)
    for _ in range(60):
        nodes, devices = dice.randint(1, 9), dice.randint(1, 3)
        rows = [[dice.randint(0, 9) for _ in range(devices)] for _ in range(nodes)]
        edges = [(u, v) for u in range(nodes) for v in range(u + 1, nodes) if dice.random() < 0.4]
        times = [[int(d != e) * dice.randint(0, 5) for d in range(devices) for e in range(devices)]]
        transfers = dice.choice(["per-edge", "per-tensor"])
        sample = instance(rows, edges, times=times, transfers=transfers)
        read = checker.check_instance(sample.to_json())
        network = Network(read)
        body = network.inside(OUTSIDE, OUTSIDE)
        module = module_of(read, network, tensors_written(read), (OUTSIDE, OUTSIDE), body)
        arrays = compiled.as_arrays(module)
        slow = scratch_for(module, lambda size: [0] * size)
        fast = scratch_for(module, compiled.zeros)
        for threshold in dice.choices(range(40), k=3):
            expected = written.search(module, slow, threshold, 20_000)
            assert compiled.search(arrays, fast, threshold, 20_000) == expected
            assert list(fast.count) == slow.count
            if expected == written.FOUND:
                assert list(fast.device) == slow.device
                assert list(fast.start) == slow.start
