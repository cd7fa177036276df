"""Clusters: devices, and a link for each ordered pair of them."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from boundmark.problems.devices.device import Device, Link
from boundmark.problems.devices.full_mesh import FloatArray, close_to_full_mesh
from boundmark.problems.errors import InvalidInputError


@dataclass(frozen=True, eq=False)
class Cluster:
    """Devices that can all send to each other.

    Attributes
    ----------
    members
        What each of the d devices is called in this cluster.
    devices
        Which device it is.
    bandwidth
        Bytes per second from row to column, shape (d, d); infinite on the diagonal.
    latency
        Seconds from row to column, shape (d, d); 0 on the diagonal.
    source
        Where the numbers come from.
    """

    name: str
    members: tuple[str, ...]
    devices: tuple[Device, ...]
    bandwidth: FloatArray
    latency: FloatArray
    source: str

    @classmethod
    def from_links(
        cls,
        name: str,
        devices: Mapping[str, Device],
        links: Mapping[tuple[str, str], Link],
        source: str,
    ) -> "Cluster":
        """Build a cluster from the links that there are, and find paths for the other pairs.

        Parameters
        ----------
        devices
            By what each is called in this cluster.
        links
            By sender and receiver.

        Raises
        ------
        InvalidInputError
            If there is no device, a link's ends are not two of the devices, a link goes one way
            only, or two devices are not connected.
        """
        if not devices:
            raise InvalidInputError("the cluster has no devices; expected at least one.")
        number = {member: at for at, member in enumerate(devices)}
        bandwidth = np.zeros((len(devices), len(devices)))
        latency = np.zeros_like(bandwidth)
        for (tail, head), link in links.items():
            for member in (tail, head):
                if member not in number:
                    raise InvalidInputError(
                        f"a link names {member!r}; expected one of {', '.join(devices)}."
                    )
            if tail == head:
                raise InvalidInputError(
                    f"a link joins {tail!r} to itself; expected two different devices."
                )
            if (head, tail) not in links:
                raise InvalidInputError(
                    f"there is a link from {tail!r} to {head!r} and none back; expected both "
                    "directions, or one that is stated to be symmetric."
                )
            bandwidth[number[tail], number[head]] = link.bandwidth
            latency[number[tail], number[head]] = link.latency
        bandwidth, latency = close_to_full_mesh(bandwidth, latency, tuple(devices))
        for matrix in (bandwidth, latency):
            matrix.flags.writeable = False
        return cls(name, tuple(devices), tuple(devices.values()), bandwidth, latency, source)

    @property
    def links(self) -> list[Link]:
        """One link for each ordered pair of different devices, row by row."""
        return [
            Link(float(self.bandwidth[pair]), float(self.latency[pair]), self.source)
            for pair in itertools.permutations(range(len(self.members)), 2)
        ]
