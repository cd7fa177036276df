"""Cost models, which turn a graph without costs into one with costs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boundmark.problems.computation_graph import ComputationGraph

if TYPE_CHECKING:
    # At run time, devices are found by name through the catalog, which knows problems.
    from boundmark.problems.devices import Cluster, Device


@dataclass(frozen=True)
class CostModel:
    """How a problem makes costs of operations, tensors and devices.

    Attributes
    ----------
    costs
        Returns what `Problem.instance` takes, for a graph on a device or cluster. Raises
        `InvalidInputError` if the problem cannot use the device.
    default
        Returns the device or cluster where none is named.
    """

    costs: "Callable[[ComputationGraph, Device | Cluster], Any]"
    default: "Callable[[], Device | Cluster]"
