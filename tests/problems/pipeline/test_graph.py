from typing import Any

import numpy as np
import pytest

from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.pipeline.graph import PipelineGraph


def graph(**changes: Any) -> PipelineGraph:
    """Build two nodes, one edge, and whatever the test gets wrong."""
    fields: dict[str, Any] = {
        "dag": Dag.from_edges(2, [(0, 1)]),
        "work": [1, 2],
        "transfer": [1, 0],
        "param_load": [0, 0],
        "cache": 0,
        "names": ("conv", "relu"),
    }
    return PipelineGraph(**{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"work": [1, -2]}, "work of node 'relu' is -2; expected a non-negative integer"),
        ({"work": [1, 2.5]}, "work of node 'relu' is 2.5; expected a non-negative integer"),
        ({"work": [1, "2"]}, "work of node 'relu' is '2'"),
        ({"work": [True, False]}, "work of node 'conv' is True"),
        ({"work": [1]}, "work has 1 values; expected one for each of the 2 nodes"),
        ({"transfer": np.array([0.5, 1])}, "transfer of node 'conv' is 0.5"),
        ({"work": [2**70, 1]}, "work of node .conv. is .*, beyond 64 bits"),
        ({"work": [2**53, 1]}, r"costs add up to 9.01e\+15 ticks; expected at most 2\^53"),
        ({"cache": -1}, "cache is -1; expected a non-negative integer"),
        ({"cache": 0.5}, "cache is 0.5; expected a non-negative integer"),
        ({"names": ("conv",)}, "names has 1 values"),
        ({"dag": Dag.from_edges(0, [])}, "the graph has no nodes; expected at least one"),
    ],
)
def test_bad_costs_are_named(changes: dict[str, Any], message: str) -> None:
    """The error names the field and the node, and says what was expected."""
    with pytest.raises(InvalidInputError, match=message):
        graph(**changes)


def test_parameters_that_fit_never_overflow() -> None:
    """All parameters in one block are the worst case."""
    assert graph(param_load=[3, 4], cache=7).is_cached
    assert not graph(param_load=[3, 5], cache=7).is_cached


def test_sums_over_edges_stay_within_64_bits() -> None:
    """A tensor near the limit with very many consumers is refused instead of wrapping around."""
    consumers = 1024
    fields = {
        "dag": Dag.from_edges(consumers + 1, [(0, v) for v in range(1, consumers + 1)]),
        "work": [0] * (consumers + 1),
        "transfer": [2**52] + [0] * consumers,
        "param_load": [0] * (consumers + 1),
        "names": tuple(map(str, range(consumers + 1))),
    }
    with pytest.raises(InvalidInputError, match="transfer times the number of consumers"):
        graph(**fields)
