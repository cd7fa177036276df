"""Devices, links and clusters: what cost models need to know about hardware (docs/devices.md)."""

from boundmark.problems.devices.cluster import Cluster, Device, Link, substitutes
from boundmark.problems.devices.efficiency import EfficiencyTable, efficiency_of
from boundmark.problems.devices.measured_times import FORMAT as TIMES_FORMAT
from boundmark.problems.devices.registry import (
    CALIBRATED,
    SUFFIX,
    Registry,
    calibrated,
    canonical_device_name,
    cost_model_of,
    costed,
    default_device,
    find_device,
    fusing,
    is_device_file,
    load_device_file,
    shipped,
)

__all__ = [
    "CALIBRATED",
    "SUFFIX",
    "TIMES_FORMAT",
    "Cluster",
    "Device",
    "EfficiencyTable",
    "Link",
    "Registry",
    "calibrated",
    "canonical_device_name",
    "cost_model_of",
    "costed",
    "default_device",
    "efficiency_of",
    "find_device",
    "fusing",
    "is_device_file",
    "load_device_file",
    "shipped",
    "substitutes",
]
