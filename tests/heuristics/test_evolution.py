import sys

import numpy as np
import pytest
from chains import chain
from recording import record

from boundmark.heuristics.evolution import Keys, evolve
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget


def test_a_missing_package_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which names it, as for solvers."""
    monkeypatch.setitem(sys.modules, "brkga_mp_ipr", None)
    with pytest.raises(UnsupportedError, match=r"^module brkga_mp_ipr is not installed"):
        record("brkga-100", chain(6, 2))


@pytest.mark.parametrize("evaluations", [1, 9, 10, 57])
def test_exactly_the_evaluations_are_spent(evaluations: int) -> None:
    """Also where they end amid a generation; none is spent on a vector that was not asked for."""
    costs: list[int] = []

    def cost(keys: Keys) -> int:
        costs.append(int(1000 * np.abs(keys - 0.5).sum()))
        return costs[-1]

    evolve(4, cost, 10, evaluations, 1, Budget(60))
    assert len(costs) == evaluations
