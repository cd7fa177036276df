"""Small instances of `slicing`: any plans, and any potentials."""

from random import Random

import numpy as np
from brute_force_slicing import instance, vectors
from checking import Claims, Solutions
from slow_slicing import simulate

from boundmark.problems.slicing import Edge, SlicingInstance, SlicingPlan
from boundmark.problems.slicing.graph import whole


def large_enough(output: list[int], edges: list[Edge], axes: list[int]) -> list[int]:
    """Return outputs that are no smaller than the tensors that are read from them, unless 0."""
    found = list(output)
    for edge in edges:
        parts = edge.extent if axes[edge.producer] != axes[edge.consumer] else 1
        if found[edge.producer]:
            found[edge.producer] = max(found[edge.producer], edge.unit * parts)
    return found


def drawn(seed: int) -> SlicingInstance:
    """Return an operator that reads one or two others, which compute nothing themselves."""
    dice = Random(seed)
    inputs, devices = dice.choice([1, 1, 1, 2]), dice.choice([2, 2, 3])
    lengths = [dice.randrange(2, 5) for _ in range(inputs + 1)]
    axes = [dice.choice([0, 1, 1]) for _ in range(inputs + 1)]
    edges = []
    for u in range(inputs):
        crosses = axes[u] != axes[-1]
        extent = dice.randrange(1, 5) if crosses else lengths[u]
        unit = dice.randrange(1, 4)
        if dice.random() < 0.25:
            edges.append(whole(u, inputs, unit, extent))
        else:
            window = (
                dice.randrange(1, 3), dice.randrange(-2, 2), dice.randrange(1, 4),
                dice.randrange(1, 3), dice.randrange(1, 3),
            )  # fmt: skip
            edges.append(Edge(u, inputs, unit, extent, *window))
    work = [[0] * devices for _ in range(inputs)]
    speeds = dice.choice([[dice.randrange(1, 9) for _ in range(devices)], [0] * devices])
    return instance(
        lengths,
        [*work, speeds],
        edges,
        axis=axes,
        launch=[dice.randrange(3) for _ in range(devices)],
        weights=[dice.randrange(4) for _ in lengths],
        output=large_enough([dice.randrange(4) for _ in lengths], edges, axes),
        capacity=[dice.choice([28, 36, 999]) for _ in range(devices)],
        point_to_point=dice.choice([(1, 1), (3, 2), (2, 5), (7, 1)]),
        broadcast=dice.choice([(1, 1), (2, 3)]),
        delay=dice.randrange(2),
    )


def solutions(sample: SlicingInstance, dice: Random) -> Solutions:
    """Yield plans, valued by the indices that each part has, needs and lacks."""
    every = [vectors(length, sample.graph.devices) for length in sample.graph.length.tolist()]
    for _ in range(25):
        rows = [dice.choice(row) for row in every]
        latency, fits = simulate(sample, SlicingPlan(np.array(rows)))
        yield {"vectors": [list(row) for row in rows]}, latency if fits else None


def claims(sample: SlicingInstance, dice: Random) -> Claims:
    """Yield potentials: whatever is moved between operators, the best plan takes as long."""
    devices = sample.graph.devices
    classes = []
    for length in sample.graph.length.tolist():
        least = -(-length // devices)
        inner = [width for width in range(least + 1, length) if dice.random() < 0.5]
        classes.append(sorted({least, *inner, length}))
    producers = [sorted({edge.producer for edge in row}) for row in sample.graph.inputs]
    for most in (1, 1, 2, 6, 12):
        potentials = [
            [[dice.randrange(most) for _ in classes[u]] for u in row] for row in producers
        ]
        yield "slice-potentials/1", {"classes": classes, "potentials": potentials}, ...
