"""Cut any graph into layers: between places that a single tensor crosses, or by names."""

import re
from dataclasses import dataclass

from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.model import (
    AS_GIVEN,
    LayerFacts,
    LayerModel,
    Operation,
    Workload,
)
from boundmark.problems.operator_types import FREE_OP_TYPES


@dataclass(frozen=True, eq=False)
class GraphLayers(LayerModel):
    """Operators in topological order, cut wherever one tensor passes, or by their names."""

    graph: ComputationGraph

    @property
    def dtype(self) -> str:  # type: ignore[override]
        """The graph's main element type."""
        return self.graph.dtype

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Assumptions made when the graph was read."""
        return self.graph.notes

    def layers(self, workload: Workload) -> tuple[LayerFacts, ...]:
        """Return a layer for each run of operators between two such places, or for each name."""
        if workload.phase != AS_GIVEN or workload.batch or workload.context or workload.measured_on:
            raise InvalidInputError(
                "phase, batch, context or costs are given, and a graph has its own; expected none."
            )
        if workload.pattern:
            return self._by_pattern(workload.pattern)
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

    def _by_pattern(self, pattern: str) -> tuple[LayerFacts, ...]:
        """Return a layer for each text that the pattern finds in names, in the order of the graph.

        Operators whose names have none are in the last layer that they read something of; before
        the first one and behind the last one, they are a layer each.

        Raises
        ------
        InvalidInputError
            If the pattern is none or finds nothing, or layers do not run one after another.
        """
        graph = self.graph
        try:
            found = [re.search(pattern, name) for name in graph.names]
        except re.error as error:
            raise InvalidInputError(
                f"layers is {quoted(pattern)}; expected a regular expression: {error}."
            ) from error
        order = graph.dag.topological_order.tolist()
        number: dict[str, int] = {}
        for v in order:
            if match := found[v]:
                number.setdefault(match[0], 1 + len(number))
        if not number:
            raise InvalidInputError(
                f"layers is {quoted(pattern)}, which is in no operator's name; expected a pattern "
                f"for names such as {quoted(graph.names[order[-1]])}."
            )
        last = len(number)
        is_before = [match is not None for match in found]
        for v in reversed(order):
            is_before[v] |= any(is_before[w] for w in graph.dag.consumers_of(v).tolist())
        layer = [0] * len(order)
        for v in order:
            read = [layer[u] for u in graph.dag.producers_of(v).tolist()]
            match = found[v]
            layer[v] = number[match[0]] if match else max(read, default=0)
            if not is_before[v] and layer[v] == last:
                layer[v] = last + 1
            if max(read, default=0) > layer[v]:
                raise InvalidInputError(
                    f"operator {quoted(graph.names[v])} reads what a later layer computes; "
                    "expected layers that run one after another."
                )
        crossing = [0] * (last + 2)
        for u in order:
            until = max((layer[w] for w in graph.dag.consumers_of(u).tolist()), default=0)
            for at in range(layer[u], until):
                crossing[at] += int(graph.output_bytes[u])
        names = ["begin", *number, "end"]
        members: list[list[int]] = [[] for _ in names]
        for v in order:
            members[layer[v]].append(v)
        return tuple(
            self._layer(nodes, out, name)
            for nodes, out, name in zip(members, crossing, names, strict=True)
            if nodes
        )

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
        operators = tuple(graph.names[v] for v in nodes)
        return LayerFacts(name, operations, weights, 0, output, weights, operators=operators)
