"""Features and co-location sets of graphs that are small enough to write them down."""

import re
from dataclasses import replace

import numpy as np
import pytest
from brute_force_placement import instance

from boundmark.heuristics.placement.learned.graphs import (
    OP_TYPES,
    RANK,
    FeatureChoice,
    colocated,
    feature_matrix,
    fractal_dimensions,
    layout_of,
    positional_encoding,
    shared_layout,
)
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.placement import PlacementGraph

# A fork of Conv-Relu and Pool.
GRAPH = replace(
    instance([[1, 1]] * 5, [(0, 1), (1, 2), (0, 3), (2, 4), (3, 4)]).graph,
    op_types=("Conv", "Conv", "Relu", "Pool", "Concat"),
    output_shapes=((1, 8), (1, 4), (1, 6), (1, 7, 3), ()),
)
NOTHING = FeatureChoice(types=False, structure=False, shapes=False, positions=False)


def features(graph: PlacementGraph, raw_shapes: bool = True, **chosen: bool) -> list[list[float]]:
    """Return the features of the sorts that are chosen."""
    sets = colocated(graph.dag)
    layout = layout_of(graph, sets, replace(NOTHING, **chosen), raw_shapes)
    return feature_matrix(layout, graph, sets).tolist()


def test_types_are_means() -> None:
    """Columns are Concat, Conv, Pool, Relu; a set of two types has half of each."""
    assert features(GRAPH, types=True) == [
        [0, 1, 0, 0],
        [0, 0.5, 0, 0.5],
        [0, 0, 1, 0],
        [1, 0, 0, 0],
    ]


def test_shapes_are_padded() -> None:
    """Of what leaves a set, behind it zeros; or logarithms of it."""
    shapes = [[1, 8, 0], [1, 6, 0], [1, 7, 3], [0, 0, 0]]
    assert features(GRAPH, shapes=True) == shapes
    np.testing.assert_allclose(
        features(GRAPH, raw_shapes=False, shapes=True), np.log1p(shapes), rtol=1e-6
    )


def test_degrees_have_a_column_each() -> None:
    """In-degrees 0, 1, 2 and out-degrees 0, 1, 2, then the fractal dimension."""
    found = features(GRAPH, structure=True)
    assert [row[:6] for row in found] == [
        [1, 0, 0, 0, 0, 1],
        [0, 1, 0, 0, 1, 0],
        [0, 1, 0, 0, 1, 0],
        [0, 0, 1, 1, 0, 0],
    ]
    # Of four nodes in a ring, two are next to one and the third is behind: N(1) = 3, N(2) = 4.
    assert found[0][6] == pytest.approx(np.log(4 / 3) / np.log(2), rel=1e-6)


def test_positions_by_hand() -> None:
    """Sine and cosine of the position, then of a hundredth of it."""
    found = positional_encoding(np.array([1, 3]), 4)
    expected = [[np.sin(p), np.cos(p), np.sin(p / 100), np.cos(p / 100)] for p in (1, 3)]
    np.testing.assert_allclose(found, expected)
    assert len(features(GRAPH, positions=True)[0]) == 16


def test_all_sorts_side_by_side() -> None:
    """The layout knows how wide that is."""
    sets = colocated(GRAPH.dag)
    layout = layout_of(GRAPH, sets, FeatureChoice(), raw_shapes=True)
    assert feature_matrix(layout, GRAPH, sets).shape == (4, layout.width)
    assert layout.width == 4 + 3 + 6 + 1 + 16
    assert type(layout).from_json(layout.to_json()) == layout


def test_graphs_without_descriptions() -> None:
    """Unknown types and shapes have no columns, or are 0 where there are some."""
    plain = replace(GRAPH, op_types=(), output_shapes=())
    assert features(plain, types=True, shapes=True) == [[]] * 4
    sets = colocated(GRAPH.dag)
    layout = layout_of(GRAPH, sets, FeatureChoice(), raw_shapes=True)
    assert not feature_matrix(layout, plain, sets)[:, :7].any()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"op_types": ("Conv", "Conv", "Gelu", "Pool", "Concat")}, "operator type 'Gelu'"),
        ({"output_shapes": ((1, 2, 3, 4),) * 5}, "an output with 4 dimensions"),
    ],
)
def test_layouts_of_other_graphs(changed: dict[str, tuple], words: str) -> None:
    """What a layout has no column for is refused."""
    sets = colocated(GRAPH.dag)
    layout = layout_of(GRAPH, sets, FeatureChoice(), raw_shapes=True)
    with pytest.raises(InvalidInputError, match=re.escape(words)):
        feature_matrix(layout, replace(GRAPH, **changed), sets)


def test_degrees_of_other_graphs() -> None:
    """A node with three consumers, where the layout knows up to two."""
    layout = layout_of(GRAPH, colocated(GRAPH.dag), replace(NOTHING, structure=True), True)
    star = instance([[1, 1]] * 4, [(0, 1), (0, 2), (0, 3)]).graph
    with pytest.raises(InvalidInputError, match="out-degree 3"):
        feature_matrix(layout, star, colocated(star.dag))


def test_shared_columns_take_what_has_none() -> None:
    """Types and degrees without a column share the last one; extents beyond the rank are cut."""
    odd = replace(
        GRAPH,
        op_types=("Conv", "Conv", "Odd", "Pool", "Concat"),
        output_shapes=(*GRAPH.output_shapes[:4], tuple(range(1, 9))),
    )
    choice = replace(NOTHING, types=True, shapes=True)
    layout = shared_layout(choice, raw_shapes=True)
    sets = colocated(odd.dag)
    found = feature_matrix(layout, odd, sets)
    assert found.shape == (4, layout.width) == (4, len(OP_TYPES) + 1 + RANK)
    # The second set is a Conv and something odd; Pool is no ONNX type, either.
    assert found[1, OP_TYPES.index("Conv")] == 0.5
    assert found[:3, len(OP_TYPES)].tolist() == [0, 0.5, 1]
    assert found[3, -RANK:].tolist() == [1, 2, 3, 4, 5, 6]


def test_shared_columns_are_as_wide_for_every_graph() -> None:
    """A node with eleven consumers has the last column of out-degrees, and the rest fits, too."""
    layout = shared_layout(FeatureChoice(), raw_shapes=False)
    star = instance([[1, 1]] * 12, [(0, v) for v in range(1, 12)]).graph
    found = feature_matrix(layout, star, colocated(star.dag))
    assert found.shape == (12, layout.width)
    assert feature_matrix(layout, GRAPH, colocated(GRAPH.dag)).shape == (4, layout.width)
    first_out = len(OP_TYPES) + 1 + RANK + 10
    assert found[0, first_out : first_out + 10].tolist() == [0] * 9 + [1]
    assert type(layout).from_json(layout.to_json()) == layout
    assert not shared_layout(NOTHING, raw_shapes=False).width


def test_fractal_dimension_at_the_end_of_a_chain() -> None:
    """Within distance r of the end there are r + 1 nodes; the slope by numpy's least squares."""
    length = 30
    found = fractal_dimensions(Dag.from_edges(length, [(v, v + 1) for v in range(length - 1)]))
    radius = np.arange(1, length)
    slope = np.polyfit(np.log(radius), np.log(radius + 1), 1)[0]
    assert found[0] == pytest.approx(slope)
    # Directions make no difference.
    assert found[-1] == pytest.approx(slope)


def test_no_fractal_dimension_without_two_distances() -> None:
    """A node alone, and one whose others are all next to it."""
    assert fractal_dimensions(Dag.from_edges(1, [])).tolist() == [0.0]
    assert fractal_dimensions(Dag.from_edges(3, [(0, 1), (0, 2)]))[0] == 0.0


@pytest.mark.parametrize(
    ("nodes", "edges", "sets", "between"),
    [
        (1, [], [0], []),
        (3, [(0, 1), (1, 2)], [0, 0, 0], []),
        # A fork and a join: the ends are in no set with the branches.
        (4, [(0, 1), (0, 2), (1, 3), (2, 3)], [0, 1, 2, 3], [(0, 1), (0, 2), (1, 3), (2, 3)]),
        # A branch of two is one set.
        (
            5,
            [(0, 1), (1, 2), (0, 3), (2, 4), (3, 4)],
            [0, 1, 1, 2, 3],
            [(0, 1), (0, 2), (1, 3), (2, 3)],
        ),
        # Numbers are no topological order.
        (3, [(2, 0), (0, 1)], [0, 0, 0], []),
        (2, [], [0, 1], []),
    ],
)
def test_sets_by_hand(
    nodes: int, edges: list[tuple[int, int]], sets: list[int], between: list[tuple[int, int]]
) -> None:
    """An only consumer joins its only producer."""
    found = colocated(Dag.from_edges(nodes, edges))
    assert found.set_of.tolist() == sets
    assert [tuple(pair) for pair in found.dag.edge_pairs().tolist()] == between
    assert found.sizes.sum() == nodes


def test_last_operator_of_a_set() -> None:
    """Its output is what leaves the set."""
    found = colocated(Dag.from_edges(4, [(2, 0), (0, 1), (3, 3 - 2)]))
    assert [found.set_of[v] for v in (2, 0, 1, 3)] == [0, 0, 2, 1]
    assert found.last.tolist() == [0, 3, 1]
