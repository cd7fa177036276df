"""Devices, links and clusters: what cost models need to know about hardware (docs/devices.md)."""

from boundmark.problems.devices.cluster import Cluster
from boundmark.problems.devices.device import Device, Link
from boundmark.problems.devices.registry import default_device, find_device, shipped

__all__ = ["Cluster", "Device", "Link", "default_device", "find_device", "shipped"]
