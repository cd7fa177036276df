"""Random small instances of `placement`."""

from brute_force_placement import instance
from hypothesis import strategies as st

from boundmark.problems.placement import PlacementInstance


@st.composite
def instances(draw: st.DrawFn, most_nodes: int = 8) -> PlacementInstance:
    """Return graphs of few operators on up to three devices, some durations and times 0."""
    nodes, devices = draw(st.integers(1, most_nodes)), draw(st.integers(1, 3))
    few = st.integers(0, 6)
    pairs = [(u, v) for v in range(nodes) for u in range(v)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    rows = [
        [0 if d == e else draw(few) for d in range(devices) for e in range(devices)]
        for _ in range(draw(st.integers(1, 2)))
    ]
    return instance(
        [[draw(few) for _ in range(devices)] for _ in range(nodes)],
        edges,
        times=rows,
        transfers=draw(st.sampled_from(["per-tensor", "per-edge"])),
    )
