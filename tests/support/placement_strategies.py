"""Random small instances of `placement`."""

from dataclasses import replace

from brute_force_placement import instance
from hypothesis import reject
from hypothesis import strategies as st

from boundmark.problems.errors import NoRoomError
from boundmark.problems.placement import UNSUPPORTED, PlacementInstance


@st.composite
def instances(
    draw: st.DrawFn, most_nodes: int = 8, *, is_scarce: bool = False
) -> PlacementInstance:
    """Return graphs of few operators on up to three devices, some durations and times 0.

    Parameters
    ----------
    is_scarce
        Whether devices may refuse operators, have little memory, also for live tensors, and be
        alike; some instances have no solution then.
    """
    least = most_nodes - 2 if is_scarce else 1
    nodes, devices = draw(st.integers(least, most_nodes)), draw(st.integers(1 + is_scarce, 3))
    few = st.integers(0, 6)
    pairs = [(u, v) for v in range(nodes) for u in range(v)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    kind = [*range(devices)]
    if is_scarce and draw(st.booleans()):
        kind[-1] = kind[0]
    rows = [
        _by_kind(kind, [[draw(few) for _ in kind] for _ in kind])
        for _ in range(draw(st.integers(1, 2)))
    ]
    # All schedules of what is live are tried, so it has to be short.
    is_live = is_scarce and nodes <= 3 and draw(st.booleans())
    some = few
    if is_scarce:
        some = st.sampled_from([UNSUPPORTED, 0, 1, 2, *([] if is_live else [3, 9])])
    durations = []
    for _ in range(nodes):
        row = [draw(some) for _ in kind]
        if {row[k] for k in kind} == {UNSUPPORTED}:
            row = [1] * devices
        durations.append([row[k] for k in kind])
    memory = [draw(st.integers(0, 3)) for _ in range(nodes)] if is_scarce else None
    total = sum(memory or ())
    room = [draw(st.integers(-(-total // devices), total + 2)) for _ in kind] if is_scarce else None
    live = [draw(st.integers(0, 2)) for _ in {u for u, _ in edges}] if is_live else None
    results = [draw(st.integers(0, 1)) for _ in range(nodes)]
    try:
        sample = instance(
            durations,
            edges,
            times=rows,
            memory=memory,
            capacity=room and [room[k] for k in kind],
            transfers=draw(st.sampled_from(["per-tensor", "per-edge"])),
        )
        if live is None:
            return sample
        graph = replace(sample.graph, tensor_memory=live, result_memory=results)  # type: ignore[arg-type]
        return replace(sample, graph=graph)
    except NoRoomError:
        reject()


def _by_kind(kind: list[int], table: list[list[int]]) -> list[int]:
    """Return the times between devices in a row; those between devices of one kind are alike."""
    devices = range(len(kind))
    return [0 if d == e else table[kind[d]][kind[e]] for d in devices for e in devices]
