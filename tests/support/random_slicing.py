"""Random tiny instances of `slicing`, and plans for them, for properties."""

import numpy as np
from brute_force_slicing import instance
from hypothesis import reject
from hypothesis import strategies as st

from boundmark.problems.errors import NoRoomError
from boundmark.problems.slicing import Edge, SlicingInstance, SlicingPlan
from boundmark.problems.slicing.graph import whole

small = st.integers(0, 9)


@st.composite
def instances(
    draw: st.DrawFn, devices: int = 3, length: int = 4, capacity: tuple[int, ...] = (100, 130, 1000)
) -> SlicingInstance:
    """Draw up to three operators with any edges between them, on up to so many devices."""
    nodes, count = draw(st.integers(1, 3)), draw(st.integers(1, devices))
    lengths = [draw(st.integers(1, length)) for _ in range(nodes)]
    axes = [draw(st.integers(0, 1)) for _ in range(nodes)]
    output = [draw(small) for _ in range(nodes)]
    work = draw(st.sampled_from([st.integers(0, 20), st.just(9), st.sampled_from([0, 6])]))
    edges = [
        draw(_edge(producer, consumer, (lengths, axes, output)))
        for consumer in range(nodes)
        for producer in range(consumer)
        if draw(st.booleans())
    ]
    costs = {
        "launch": [draw(st.integers(0, 2)) for _ in range(count)],
        "weights": [draw(small) for _ in range(nodes)],
        "capacity": [draw(st.sampled_from(capacity)) for _ in range(count)],
        "point_to_point": draw(st.sampled_from([(1, 1), (3, 2), (0, 1), (1, 5)])),
        "broadcast": draw(st.sampled_from([(1, 1), (2, 3)])),
        "delay": draw(st.integers(0, 2)),
    }
    times = [[draw(work) for _ in range(count)] for _ in range(nodes)]
    try:
        return instance(lengths, times, edges, axis=axes, output=output, **costs)
    except NoRoomError:
        reject()


@st.composite
def _edge(
    draw: st.DrawFn, producer: int, consumer: int, tensors: tuple[list[int], list[int], list[int]]
) -> Edge:
    lengths, axes, output = tensors
    crosses = axes[producer] != axes[consumer]
    extent = draw(st.integers(1, 4)) if crosses else lengths[producer]
    # A tensor is no larger than the output that it is read from; 0 is not counted.
    largest = output[producer] // (extent if crosses else 1) or (0 if output[producer] else 3)
    unit = draw(st.integers(0, min(3, largest)))
    if draw(st.booleans()):
        return whole(producer, consumer, unit, extent)
    return Edge(
        producer, consumer, unit, extent, draw(st.integers(1, 3)), draw(st.integers(-3, 2)),
        draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 2)),
    )  # fmt: skip


@st.composite
def plans(draw: st.DrawFn, sample: SlicingInstance) -> SlicingPlan:
    """Draw a plan; it may take more memory than there is."""
    rows = []
    for length in sample.graph.length.tolist():
        cuts = [draw(st.integers(0, length)) for _ in range(sample.graph.devices - 1)]
        rows.append([0, *sorted(cuts), length])
    return SlicingPlan(np.array(rows))
