"""Instances of `placement` with the names of operators, which their JSON does not have."""

from collections.abc import Sequence
from dataclasses import replace

from boundmark.problems.labels import Naming
from boundmark.problems.placement.instance import PlacementInstance


def _renamed(instance: PlacementInstance, names: Sequence[str], tick: str) -> PlacementInstance:
    graph = replace(instance.graph, names=tuple(names), tick=tick)
    return PlacementInstance(graph, instance.transfers, features=instance.features)


NAMING = Naming(
    names=lambda instance: instance.graph.names,
    rename=_renamed,
    tick=lambda instance: instance.graph.tick,
)
