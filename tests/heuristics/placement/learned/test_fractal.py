"""Fractal dimensions of graphs where they can be worked out."""

import numpy as np
import pytest

from boundmark.heuristics.placement.learned.fractal import fractal_dimensions
from boundmark.problems.dag import Dag


def test_end_of_a_chain() -> None:
    """Within distance r of the end there are r + 1 nodes; the slope by numpy's least squares."""
    length = 30
    found = fractal_dimensions(Dag.from_edges(length, [(v, v + 1) for v in range(length - 1)]))
    radius = np.arange(1, length)
    slope = np.polyfit(np.log(radius), np.log(radius + 1), 1)[0]
    assert found[0] == pytest.approx(slope)
    # Directions make no difference.
    assert found[-1] == pytest.approx(slope)


def test_no_slope_without_two_distances() -> None:
    """A node alone, and one whose others are all next to it."""
    assert fractal_dimensions(Dag.from_edges(1, [])).tolist() == [0.0]
    assert fractal_dimensions(Dag.from_edges(3, [(0, 1), (0, 2)]))[0] == 0.0
