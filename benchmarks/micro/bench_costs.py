"""Seconds to compute the costs of a large model's operators, by source of costs."""

from typing import ClassVar

import boundmark
from boundmark.problems.devices import Device, find_device
from boundmark.problems.roofline import operation_seconds


class OperationSeconds:
    """A graph of training with 13,568 operators; calibrated costs put each into a class first."""

    params: ClassVar = ["nvidia-h100", "nvidia-h100+calibrated"]
    param_names: ClassVar = ["device"]

    def setup(self, device: str) -> None:
        """Read the graph."""
        self.graph = boundmark.load("zoo/mt5-1.8b-training").source
        found = find_device(device)
        assert isinstance(found, Device)
        self.device = found

    def time_operation_seconds(self, device: str) -> None:
        """All operators once."""
        operation_seconds(self.graph, self.device)
