"""Graphs as policies read them: co-location sets, features of nodes, and padded arrays.

Co-location: chains of operators that are placed together ([HSDAG24], Appendix G). Features of nodes
([HSDAG24], Section 2.3); each sort can be left out.

JAX compiles functions anew for each size of their arguments, which takes seconds. Sizes are
multiples of `STEP`, so that small graphs share what is compiled. Padding has no edges, no weight
and no part in any result.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.placement.graph import PlacementGraph


@dataclass(frozen=True, eq=False)
class ColocatedGraph:
    """A graph whose nodes are sets of operators that are placed together."""

    # The set of each of the n operators, shape (n,). Sets are numbered in topological order.
    set_of: IntArray
    # Edges between the N sets.
    dag: Dag

    @property
    def nodes(self) -> int:
        """Number of sets, N."""
        return self.dag.nodes

    @cached_property
    def last(self) -> IntArray:
        """The operator of each set whose output leaves it, shape (N,)."""
        last = np.empty(self.nodes, dtype=np.int64)
        last[self.set_of[self._order]] = self._order
        return frozen(last)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of operators of each set, shape (N,)."""
        return frozen(np.bincount(self.set_of, minlength=self.nodes))

    # The operators in topological order, shape (n,).
    _order: IntArray


def colocated(dag: Dag) -> ColocatedGraph:
    """Return the graph of co-location sets.

    An operator and its consumer are in one set if it has no other consumer and the consumer reads
    nothing else.
    """
    set_of = np.full(dag.nodes, -1, dtype=np.int64)
    sets = 0
    for node in dag.topological_order.tolist():
        producers = dag.producers_of(node)
        if len(producers) == 1 and len(dag.consumers_of(int(producers[0]))) == 1:
            set_of[node] = set_of[producers[0]]
        else:
            set_of[node] = sets
            sets += 1
    ends = np.stack([set_of[dag.sources], set_of[dag.targets]], axis=1)
    between = ends[ends[:, 0] != ends[:, 1]]
    return ColocatedGraph(frozen(set_of), Dag.from_edges(sets, between), dag.topological_order)


FloatTable = npt.NDArray[np.float32]

# Size of the encoding of a node's position, which the paper leaves open.
POSITION_WIDTH = 16


@dataclass(frozen=True)
class FeatureChoice:
    """Switches for features of nodes: one per ablation of [HSDAG24], Table 3, and one more."""

    # Operator types.
    types: bool = True
    # Degrees and fractal dimension: "graph structural features".
    structure: bool = True
    # Output shapes.
    shapes: bool = True
    # Position in topological order: "node ID".
    positions: bool = True


@dataclass(frozen=True)
class FeatureLayout:
    """The meaning of the columns of a feature matrix."""

    # A column each; none if types are left out or not known.
    op_types: tuple[str, ...]
    # A column for each number of producers and of consumers that occurs; none if left out.
    in_degrees: tuple[int, ...]
    out_degrees: tuple[int, ...]
    # Columns for the extents of output shapes; 0 if left out or not known.
    rank: int
    # Whether there is a column for the fractal dimension.
    fractal: bool
    # Columns for the position in topological order; 0 if left out.
    positions: int
    # Whether extents are as they are, or their logarithms.
    raw_shapes: bool
    # Whether types and degrees each have one more column, for all without a column of their own,
    # and extents beyond the rank are left out; otherwise graphs that have such are refused.
    has_others: bool = False

    @property
    def width(self) -> int:
        """Number of columns, d."""
        known = (self.op_types, self.in_degrees, self.out_degrees)
        one_hot = sum(len(columns) + self.has_others for columns in known if columns)
        return one_hot + self.rank + int(self.fractal) + self.positions

    def to_json(self) -> dict[str, Any]:
        """Return the fields."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "FeatureLayout":
        """Read what `to_json` wrote."""
        lists = ("op_types", "in_degrees", "out_degrees")
        return cls(**{**value, **{name: tuple(value[name]) for name in lists}})


def layout_of(
    graph: PlacementGraph, sets: ColocatedGraph, choice: FeatureChoice, raw_shapes: bool
) -> FeatureLayout:
    """Return the layout for one graph, with a column for each value that occurs in it."""
    degrees = _degrees(sets)
    known = [sorted(set(row.tolist())) if choice.structure else [] for row in degrees]
    return FeatureLayout(
        op_types=tuple(sorted(set(graph.op_types))) if choice.types else (),
        in_degrees=tuple(known[0]),
        out_degrees=tuple(known[1]),
        rank=max(map(len, graph.output_shapes), default=0) if choice.shapes else 0,
        fractal=choice.structure,
        positions=POSITION_WIDTH if choice.positions else 0,
        raw_shapes=raw_shapes,
    )


# Operator types of at least two graphs of the zoo or of onnx-light; others share one column.
OP_TYPES = (
    *("Add", "Attention", "AveragePool", "BatchNormalization", "Cast", "Clip", "Concat", "Conv"),
    *("Div", "Dropout", "Einsum", "Expand", "Flatten", "Gather", "GatherGrad", "Gelu", "Gemm"),
    *("GlobalAveragePool", "GroupNormalization", "IsInf", "LRN", "LayerNormalization"),
    *("LayerNormalizationGrad", "LogSoftmax", "LogSoftmaxGrad", "MatMul", "MaxPool", "Mul", "Neg"),
    *("NegativeLogLikelihoodLoss", "NegativeLogLikelihoodLossGrad", "Pad", "Pow", "ReduceL2"),
    *("ReduceMax", "ReduceMean", "ReduceSum", "Relu", "Reshape", "Resize", "Rsqrt", "Sigmoid"),
    *("Slice", "Softmax", "SoftmaxGrad", "Split", "Squeeze", "Sum", "Swish", "Tanh", "TanhGrad"),
    *("Transpose", "Unsqueeze", "Where"),
)

# Numbers of producers and of consumers; more of them share one column.
DEGREES = tuple(range(9))

# Dimensions of outputs; fewer than one in a thousand tensors of these graphs has more.
RANK = 6


def shared_layout(choice: FeatureChoice, raw_shapes: bool) -> FeatureLayout:
    """Return the layout for any graph, so that a policy trained on some can place others."""
    degrees = DEGREES if choice.structure else ()
    return FeatureLayout(
        op_types=OP_TYPES if choice.types else (),
        in_degrees=degrees,
        out_degrees=degrees,
        rank=RANK if choice.shapes else 0,
        fractal=choice.structure,
        positions=POSITION_WIDTH if choice.positions else 0,
        raw_shapes=raw_shapes,
        has_others=True,
    )


def feature_matrix(
    layout: FeatureLayout, graph: PlacementGraph, sets: ColocatedGraph
) -> FloatTable:
    """Return the features of each set, shape (N, d).

    The type of a set is the mean of its operators' (Appendix G), its shape that of its output.
    Features that a graph does not have are 0.
    """
    nodes = sets.nodes
    parts: list[npt.NDArray[Any]] = [np.zeros((nodes, 0))]
    if layout.op_types:
        mean = np.zeros((nodes, len(layout.op_types) + layout.has_others))
        if graph.op_types:
            shown = _one_hot(layout.op_types, graph.op_types, "operator type", layout.has_others)
            np.add.at(mean, sets.set_of, shown)
        parts.append(mean / sets.sizes[:, None])
    parts.append(_shapes(layout, graph, sets))
    for known, degree, name in zip(
        (layout.in_degrees, layout.out_degrees), _degrees(sets), ("in", "out"), strict=True
    ):
        if known:
            given = tuple(degree.tolist())
            parts.append(_one_hot(known, given, f"{name}-degree", layout.has_others))
    if layout.fractal:
        parts.append(fractal_dimensions(sets.dag)[:, None])
    if layout.positions:
        # The paper counts from 1.
        position = np.empty(nodes, dtype=np.int64)
        position[sets.dag.topological_order] = np.arange(1, nodes + 1)
        parts.append(positional_encoding(position, layout.positions))
    return np.concatenate(parts, axis=1).astype(np.float32)


def positional_encoding(positions: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.float64]:
    """Return sines in even columns and cosines in odd ones, shape (n, width) (Equation 5)."""
    wave = np.arange(width) // 2
    angle = positions[:, None] / 10000.0 ** (2 * wave / width)
    return np.where(np.arange(width) % 2 == 0, np.sin(angle), np.cos(angle))


def _degrees(sets: ColocatedGraph) -> npt.NDArray[np.int64]:
    """Return the numbers of producers and of consumers of each set, shape (2, N)."""
    dag = sets.dag
    return np.stack([np.bincount(ends, minlength=dag.nodes) for ends in (dag.targets, dag.sources)])


def _one_hot(
    known: tuple[Any, ...], values: tuple[Any, ...], what: str, has_others: bool
) -> FloatTable:
    column = {value: at for at, value in enumerate(known)}
    for value in values:
        if value not in column and not has_others:
            raise InvalidInputError(
                f"the graph has the {what} {value!r}, for which the policy's features have no "
                f"column; expected one of {', '.join(map(str, known))}."
            )
    others = len(known)
    table = np.eye(others + has_others, dtype=np.float32)
    return table[[column.get(value, others) for value in values]]


def _shapes(
    layout: FeatureLayout, graph: PlacementGraph, sets: ColocatedGraph
) -> npt.NDArray[np.float64]:
    """Return the extents of each set's output, 0 after the last one, shape (N, rank)."""
    table = np.zeros((sets.nodes, layout.rank))
    if not layout.rank or not graph.output_shapes:
        return table
    for row, operator in enumerate(sets.last.tolist()):
        shape = graph.output_shapes[operator]
        if len(shape) > layout.rank and not layout.has_others:
            raise InvalidInputError(
                f"the graph has an output with {len(shape)} dimensions; the policy's features have "
                f"columns for {layout.rank}."
            )
        table[row, : len(shape)] = shape[: layout.rank]
    return table if layout.raw_shapes else np.log1p(table)


# Rows of distances in memory at a time.
ROWS = 512


def fractal_dimensions(dag: Dag) -> npt.NDArray[np.float64]:
    """Return the fractal dimension of each node, shape (n,).

    It is the slope of log N(v, r) over log r, by least squares, for the distances r = 1, 2, ...
    from v to other nodes, where N(v, r) counts the nodes within r, v among them. Distances are
    numbers of edges, in either direction. Nodes with fewer than two distances have no slope; here,
    they get 0. The paper says neither.
    """
    ones = np.ones(dag.edges)
    graph = csr_array((ones, (dag.sources, dag.targets)), shape=(dag.nodes, dag.nodes))
    found = np.zeros(dag.nodes)
    for begin in range(0, dag.nodes, ROWS):
        rows = np.arange(begin, min(begin + ROWS, dag.nodes))
        distance = dijkstra(graph, directed=False, indices=rows, unweighted=True)
        for node, row in zip(rows.tolist(), distance, strict=True):
            reached = row[np.isfinite(row)].astype(np.int64)
            found[node] = _slope(np.cumsum(np.bincount(reached)))
    return found


def _slope(within: npt.NDArray[np.int64]) -> float:
    """Return the slope for the numbers of nodes within distances 0, 1, ..."""
    if len(within) < 3:
        return 0.0
    x = np.log(np.arange(1, len(within)))
    y = np.log(within[1:])
    x -= x.mean()
    return float((x * (y - y.mean())).sum() / (x * x).sum())


STEP = 32


class GraphArrays(NamedTuple):
    """Arrays of a graph with N nodes and m edges, padded to P nodes, Q edges and W features."""

    # Shape (P, W).
    features: FloatTable
    # 1 for nodes, 0 for padding, shape (P,).
    is_node: FloatTable
    # What graph convolution adds up: ``weight * row[read]`` to row `readers`, shape (Q + P,).
    readers: IntArray
    read: IntArray
    weight: FloatTable
    # Rows (source, target), shape (Q, 2).
    edges: IntArray


def padded(length: int) -> int:
    """Return a length rounded up to a multiple of `STEP`."""
    return max(1, -(-length // STEP)) * STEP


def graph_arrays(sets: ColocatedGraph, features: FloatTable) -> GraphArrays:
    """Return the arrays of a graph with features, shape (N, d).

    Convolution is that of Equation 6 as printed: with A + I, whose row v has the consumers of v,
    and the degrees that its rows add up to. So features of a node flow to its producers.
    """
    nodes, count = sets.nodes, sets.dag.edges
    high, wide = padded(nodes), padded(count)
    table = np.zeros((high, padded(features.shape[1])), dtype=np.float32)
    table[:nodes, : features.shape[1]] = features
    edges = np.zeros((wide, 2), dtype=np.int64)
    edges[:count] = sets.dag.edge_pairs()
    degree = 1 + np.bincount(sets.dag.sources, minlength=nodes)
    readers, read = np.zeros((2, wide + high), dtype=np.int64)
    weight = np.zeros(wide + high, dtype=np.float32)
    own = np.arange(nodes)
    readers[: count + nodes] = np.concatenate([sets.dag.sources, own])
    read[: count + nodes] = np.concatenate([sets.dag.targets, own])
    both = degree[readers[: count + nodes]] * degree[read[: count + nodes]]
    weight[: count + nodes] = 1 / np.sqrt(both)
    is_node = (np.arange(high) < nodes).astype(np.float32)
    return GraphArrays(table, is_node, readers, read, weight, edges)
