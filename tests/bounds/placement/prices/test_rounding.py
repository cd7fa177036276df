import numpy as np
from brute_force_placement import instance, optimum
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_strategies import instances
from recording import Recorder, record

from boundmark.bounds import checker
from boundmark.bounds.placement.prices.arcs import arcs_of
from boundmark.bounds.placement.prices.program import Prices
from boundmark.bounds.placement.prices.rounding import UNITS, rounded
from boundmark.problems.placement import PlacementInstance

FORK_JOIN = [(0, 1), (0, 2), (1, 3), (2, 3)]


def proven(recorder: Recorder) -> list[int]:
    """Return the bounds that were reported."""
    return [int(bound.bound) for bound in recorder.bounds]


@settings(max_examples=100, deadline=None)
@given(instances(), st.data())
def test_any_prices_make_a_certificate(sample: PlacementInstance, data: st.DataObject) -> None:
    """Whatever a solver returns, paths are whole after rounding, and what is left is proven."""
    graph = sample.graph
    arcs = arcs_of(graph, [])
    dice = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    work = dice.uniform(0, 1, graph.devices) * dice.integers(0, 2, graph.devices)
    prices = Prices(
        paths=dice.uniform(0, 1, len(arcs.first)) * dice.integers(0, 2, len(arcs.first)),
        work=work / (1 + work.sum()),
        memory=dice.uniform(0, 1, graph.devices),
        near=dice.normal(size=(len(arcs.first), graph.devices)),
        far=dice.normal(size=(len(arcs.first), graph.devices)),
    )
    payload = {"intervals": [], **rounded(graph, arcs, prices)}
    leaving = sum(row[2] for row in payload["arcs"] if row[0] == -1)
    assert leaving + sum(payload["work"]) == UNITS
    document = {
        "format": "boundmark-certificate/1", "instance_sha256": sample.sha256, "bound": 0,
        "problem": "placement", "kind": "path-prices/1", "payload": payload, "producer": "a test",
    }  # fmt: skip
    assert checker.check_certificate(sample.to_json(), document) >= 0


@settings(max_examples=25, deadline=None)
@given(instances(most_nodes=4))
def test_never_below_paths_and_never_above_the_optimum(sample: PlacementInstance) -> None:
    """A single path is one choice of prices, so the best ones prove at least as much."""
    bounds = proven(record("path-prices", sample))
    paths = proven(record("critical-path", sample))
    assert max(paths) - 1 <= max(bounds) <= optimum(sample)


def test_memory_that_paths_do_not_see() -> None:
    """The fast device has room for two of four operators in a row: two have to be slow."""
    rows, edges = [[1, 9]] * 4, [(0, 1), (1, 2), (2, 3)]
    sample = instance(rows, edges, times=[[0, 0, 0, 0]], memory=[1] * 4, capacity=[2, 4])
    assert max(proven(record("critical-path", sample))) == 4
    assert max(proven(record("path-prices", sample))) == 20 == optimum(sample)


def test_loads_of_intervals_are_used() -> None:
    """Without them, half an operator can be on each device, and its branch with it."""
    sample = instance([[1, 1], [5, 5], [5, 5], [1, 1]], FORK_JOIN, times=[[0, 8, 8, 0]])
    first, last = proven(record("path-prices", sample))
    assert first == 7 < last == 12 == optimum(sample)
