"""Immediate dominators of a graph: where the paths to an operator all begin ([COOPER01])."""

from collections.abc import Iterable, Sequence

# What comes before all operators.
OUTSIDE = -1


def immediate_dominators(order: Sequence[int], producers: Sequence[Sequence[int]]) -> list[int]:
    """Return, for each operator and the end, the last operator that all paths to it pass.

    Parameters
    ----------
    order
        The n operators in topological order.
    producers
        What each operator reads, and at the end what the end waits for: n + 1 entries.

    Returns
    -------
    list
        Entry n belongs to the end; `OUTSIDE` where there is no such operator.
    """
    dominator = [OUTSIDE] * len(producers)
    depth = [0] * len(producers)

    def common(nodes: Iterable[int]) -> int:
        found = None
        for node in nodes:
            a, b = node if found is None else found, node
            while a != b:
                if b == OUTSIDE or (a != OUTSIDE and depth[a] >= depth[b]):
                    a = dominator[a]
                else:
                    b = dominator[b]
            found = a
        return OUTSIDE if found is None else found

    for node in (*order, len(producers) - 1):
        dominator[node] = common(producers[node])
        depth[node] = 1 + (0 if dominator[node] == OUTSIDE else depth[dominator[node]])
    return dominator
