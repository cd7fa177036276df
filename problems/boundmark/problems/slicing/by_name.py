"""Instances of `slicing` with the names of operators, which their JSON does not have."""

from collections.abc import Sequence
from dataclasses import replace

from boundmark.problems.labels import Naming
from boundmark.problems.slicing.instance import SlicingInstance


def _renamed(instance: SlicingInstance, names: Sequence[str], tick: str) -> SlicingInstance:
    return SlicingInstance(replace(instance.graph, names=tuple(names), tick=tick))


NAMING = Naming(
    names=lambda instance: instance.graph.names,
    rename=_renamed,
    tick=lambda instance: instance.graph.tick,
)
