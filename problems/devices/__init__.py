"""Devices, links and clusters: what cost models need to know about hardware (docs/devices.md)."""

from boundmark.problems.devices.cluster import Cluster, Device, Link
from boundmark.problems.devices.measured_times import FORMAT as TIMES_FORMAT
from boundmark.problems.devices.registry import (
    SUFFIX,
    Registry,
    canonical_device_name,
    cost_model_of,
    default_device,
    find_device,
    fusing,
    is_device_file,
    load_device_file,
    shipped,
)

__all__ = [
    "SUFFIX",
    "TIMES_FORMAT",
    "Cluster",
    "Device",
    "Link",
    "Registry",
    "canonical_device_name",
    "cost_model_of",
    "default_device",
    "find_device",
    "fusing",
    "is_device_file",
    "load_device_file",
    "shipped",
]
