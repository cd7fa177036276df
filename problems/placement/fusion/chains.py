"""Where fusion rules apply in a graph: GCOF ([MOIRAI24], Algorithm 1)."""

from collections.abc import Callable, Sequence

from boundmark.problems.dag import Dag
from boundmark.problems.placement.fusion.rules import FusionRules

# Operators that feed each other, in order.
Chain = tuple[int, ...]


def always(chain: Chain) -> bool:
    """Allow every chain."""
    return True


class _Vertex:
    """A vertex of the graph while it is coarsened.

    Attributes
    ----------
    parts
        Chains, one after another. A vertex that is fused, or was not touched, has one; one that is
        bound until a whole rule is found has several.
    """

    def __init__(self, parts: list[Chain], types: tuple[str, ...]) -> None:
        self.parts = parts
        self.types = types

    @property
    def first(self) -> int:
        return self.parts[0][0]

    @property
    def last(self) -> int:
        return self.parts[-1][-1]

    @property
    def chain(self) -> Chain:
        return tuple(operator for part in self.parts for operator in part)


def fused_chains(
    dag: Dag,
    types: Sequence[str],
    rules: FusionRules,
    may_fuse: Callable[[Chain], bool] = always,
) -> list[Chain]:
    """Return the operators in chains that run as one, ordered by the chains' first operators.

    The graph is traversed in depth-first order. An operator fuses with its consumer if that is its
    only one (a direct or a multi-inputs connection; not a multi-outputs one) and if the types of
    both together are a rule. If they are part of a rule, they are bound: treated as one, and
    released in the end unless the rest of the rule was found. Either may consist of several
    operators by then; an edge connects two of them only if it leads from the last operator of one
    to the first operator of the other, since a rule says in which order its operators feed each
    other.

    Nothing but the last operator of a chain has consumers outside, so what results is acyclic.

    Parameters
    ----------
    types
        Of each operator, shape (n,).
    may_fuse
        Whether a chain may be one operator, e.g. because there is a device for it.
    """
    vertex_of = [_Vertex([(v,)], (types[v],)) for v in range(dag.nodes)]
    is_visited = [False] * dag.nodes
    roots = [v for v in range(dag.nodes) if not len(dag.producers_of(v))]
    stack = roots[::-1]
    while stack:
        start = stack.pop()
        if is_visited[start]:
            continue
        vertex = vertex_of[start]
        while True:
            consumers = dag.consumers_of(vertex.last).tolist()
            joined = None
            if len(consumers) == 1:
                joined = _joined(vertex, vertex_of[consumers[0]], consumers[0], rules, may_fuse)
            if joined is None:
                break
            vertex = joined
            for operator in vertex.chain:
                vertex_of[operator] = vertex
        for operator in vertex.chain:
            is_visited[operator] = True
        stack.extend(reversed(consumers))
    parts = {part for vertex in vertex_of for part in vertex.parts}
    return sorted(parts)


def _joined(
    before: _Vertex,
    after: _Vertex,
    consumer: int,
    rules: FusionRules,
    may_fuse: Callable[[Chain], bool],
) -> _Vertex | None:
    """Return both as one vertex, fused or bound; None if they stay apart."""
    if after.first != consumer:
        return None
    types = before.types + after.types
    chain = before.chain + after.chain
    if rules.is_rule(types) and may_fuse(chain):
        return _Vertex([chain], types)
    if rules.is_part(types):
        return _Vertex(before.parts + after.parts, types)
    return None
