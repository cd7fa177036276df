import numpy as np
import pytest
from brute_force import instance
from scipy.sparse import csr_matrix

from boundmark.bounds.pipeline.reach.weights import scaled
from boundmark.bounds.pipeline.shares.windows import Windows
from boundmark.bounds.pipeline.tree.linear_program import solve
from boundmark.bounds.pipeline.tree.relaxation import FAMILIES, Relaxation, relax, without_rows
from boundmark.bounds.pipeline.tree.superblocks import single_stages

PRICE = 1000.0


def relaxation() -> Relaxation:
    """Return the exact program of a small graph with every cost term, for two stages."""
    sample = instance(
        [30, 60, 50, 10],
        [(0, 1), (0, 3), (1, 3), (2, 3)],
        2,
        transfer=[20, 50, 20, 20],
        param_load=[0, 50, 10, 50],
        cache=40,
    )
    windows = Windows(np.zeros(4, dtype=np.int64), np.ones(4, dtype=np.int64))
    return relax(sample.graph, single_stages(2), scaled(sample.graph.work, 200), windows)


def proven(program: Relaxation, multipliers: np.ndarray) -> float:
    """Return what multipliers prove: the least of the summed rows over the box of the columns."""
    matrix = csr_matrix(
        (program.values, (program.rows, program.columns)),
        shape=(len(program.lower), len(program.upper)),
    )
    cost = np.zeros(len(program.upper))
    cost[-2:] = PRICE, 1.0
    reduced = cost - matrix.T @ multipliers
    reduced[np.abs(reduced) < 1e-6] = 0
    with np.errstate(invalid="ignore"):
        least = np.where(reduced < 0, reduced * program.upper, 0.0)
    return float(multipliers @ program.lower + least.sum())


@pytest.mark.parametrize("unit", [1.0, 0.5, 20.0])
def test_units_change_nothing_but_numbers(unit: float) -> None:
    """Optimum, columns and multipliers are in ticks again, and prove the optimum."""
    program = relaxation()
    expected = solve(program, PRICE, 10, 1)
    point = solve(program, PRICE, 10, 1, unit=unit)
    assert expected is not None
    assert point is not None
    assert point.optimum == pytest.approx(expected.optimum)
    assert point.columns[-1] == pytest.approx(expected.columns[-1])
    assert proven(program, point.multipliers) == pytest.approx(expected.optimum)


def test_rows_that_follow_from_others_can_go() -> None:
    """Nothing enters the first stage, and nothing leaves the last one: the optimum stays."""
    program = relaxation()
    enters, leaves = (program.family == FAMILIES.index(name) for name in ("enters", "leaves"))
    needless = (enters & (program.number % 2 == 0)) | (leaves & (program.number % 2 == 1))
    assert needless.sum() == 8
    fewer = without_rows(program, needless)
    assert len(fewer.lower) == len(program.lower) - 8
    whole, rest = solve(program, PRICE, 10, 1), solve(fewer, PRICE, 10, 1)
    assert whole is not None
    assert rest is not None
    assert rest.optimum == pytest.approx(whole.optimum)
    assert proven(fewer, rest.multipliers) == pytest.approx(whole.optimum)


def test_the_rows_that_stay_count() -> None:
    """Without the rows of costs nothing is left of the optimum."""
    program = relaxation()
    free = without_rows(program, program.family == FAMILIES.index("cost"))
    point = solve(free, PRICE, 10, 1)
    assert point is not None
    assert point.optimum == pytest.approx(0.0)
