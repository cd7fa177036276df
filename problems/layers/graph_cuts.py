"""The layers of any graph: what lies between the places that a single tensor passes."""

from dataclasses import dataclass

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers.model import (
    AS_GIVEN,
    LayerFacts,
    LayerModel,
    Operation,
    Workload,
)
from boundmark.problems.roofline import FREE_OP_TYPES


@dataclass(frozen=True, eq=False)
class GraphLayers(LayerModel):
    """Operators in topological order, cut wherever one tensor is all that later ones need."""

    graph: ComputationGraph

    @property
    def dtype(self) -> str:  # type: ignore[override]
        """In which the graph computes."""
        return self.graph.dtype

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What was taken for granted when the graph was read."""
        return self.graph.notes

    def layers(self, workload: Workload) -> tuple[LayerFacts, ...]:
        """Return a layer for each run of operators between two such places."""
        if workload.phase != AS_GIVEN or workload.batch or workload.context or workload.measured_on:
            raise InvalidInputError(
                "phase, batch, context or costs are given, and a graph has its own; expected none."
            )
        graph = self.graph
        order = graph.dag.topological_order.tolist()
        place = {node: at for at, node in enumerate(order)}
        last = list(range(len(order)))
        for u, w in graph.dag.edge_pairs().tolist():
            last[place[u]] = max(last[place[u]], place[w])
        found, first = [], 0
        waiting: set[int] = set()
        for at, node in enumerate(order):
            waiting = {p for p in waiting if last[p] > at}
            if last[at] > at:
                waiting.add(at)
            is_end = at == len(order) - 1
            if is_end or len(waiting) == 1:
                through = 0 if is_end else int(graph.output_bytes[order[next(iter(waiting))]])
                found.append(self._layer(order[first : at + 1], through, graph.names[node]))
                first = at + 1
        return tuple(found)

    def _layer(self, nodes: list[int], output: int, name: str) -> LayerFacts:
        graph = self.graph
        operations = tuple(
            Operation(
                float(graph.flops[v]),
                float(graph.read_bytes[v] + graph.param_bytes[v] + graph.output_bytes[v]),
            )
            for v in nodes
            if graph.op_types[v] not in FREE_OP_TYPES
        )
        weights = sum(int(graph.param_bytes[v]) for v in nodes)
        return LayerFacts(name, operations, weights, 0, output, weights)
