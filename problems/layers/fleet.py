"""Devices that a user lists in a line, such as ``2xA100-80GB,4xA10@12.5``."""

import re
from dataclasses import dataclass, replace

from boundmark.problems.devices import Cluster, Device, Link, find_device, shipped
from boundmark.problems.errors import InvalidInputError, UnknownNameError, find, quoted

_ITEM = re.compile(r"(?:(\d{1,4})x)?([A-Za-z][\w.+-]*?)(?:-(\d{1,4})GB)?")
EXPECTED = "devices such as '2xA100-80GB,4xA10', perhaps with '@12.5' for 12.5 GB/s between kinds"

_GIB = 2**30
_GB = 1e9


@dataclass(frozen=True)
class Fleet:
    """d devices of T types; devices of one type differ in their names only.

    Attributes
    ----------
    kinds
        The device of each type.
    types
        Of each device, in the order in which they stand.
    names
        Of each device.
    links
        From a device of one type to another one of another type or the same, by pair of types.
    """

    kinds: tuple[Device, ...]
    types: tuple[int, ...]
    names: tuple[str, ...]
    links: dict[tuple[int, int], Link]


def read_fleet(text: str) -> Fleet:
    """Return the devices that a text lists, or those of a cluster, by name or file.

    Devices of one kind are joined by that kind's usual link, devices of two kinds by the slower
    one of theirs, or at the rate behind ``@``.

    Raises
    ------
    InvalidInputError
        If the text is none, or a kind has no usual link.
    UnknownNameError
        If there is no such device.
    """
    if not text:
        raise InvalidInputError(f"devices are not given; expected {EXPECTED}, or a cluster.")
    if text in shipped().clusters or text.endswith((".toml", ".json")):
        found = find_device(text)
        if isinstance(found, Cluster):
            return of_cluster(found)
        return of_cluster(Cluster.from_links(found.name, {found.name: found}, {}, found.source))
    listed, _, rate = text.partition("@")
    try:
        between = float(rate) * _GB if rate else None
    except ValueError:
        between = -1.0
    if between is not None and not 0 < between < 1e18:
        raise InvalidInputError(f"devices are {quoted(text)}; expected {EXPECTED}.")
    kinds: dict[str, Device] = {}
    types: list[int] = []
    names: list[str] = []
    for item in listed.split(","):
        match = _ITEM.fullmatch(item.strip())
        if match is None or match[1] == "0":
            raise InvalidInputError(f"devices have {quoted(item)}; expected {EXPECTED}.")
        device = _device(match[2], match[3])
        kinds.setdefault(device.name, device)
        number = list(kinds).index(device.name)
        for _ in range(int(match[1] or 1)):
            names.append(f"{device.name}#{types.count(number)}")
            types.append(number)
    links = {
        (a, b): _link(one, other, between)
        for a, one in enumerate(kinds.values())
        for b, other in enumerate(kinds.values())
        if a != b or types.count(a) > 1
    }
    return Fleet(tuple(kinds.values()), tuple(types), tuple(names), links)


def of_cluster(cluster: Cluster) -> Fleet:
    """Return the devices of a cluster; those with equal links to all others are of one type."""
    count = len(cluster.members)
    types: list[int] = []
    first: list[int] = []
    for at in range(count):
        kind = next((t for t, other in enumerate(first) if _are_twins(cluster, at, other)), None)
        if kind is None:
            kind = len(first)
            first.append(at)
        types.append(kind)
    links = {}
    for at in range(count):
        for other in range(count):
            if at != other:
                links[types[at], types[other]] = Link(
                    float(cluster.bandwidth[at, other]),
                    float(cluster.latency[at, other]),
                    cluster.source,
                )
    return Fleet(tuple(cluster.devices[at] for at in first), tuple(types), cluster.members, links)


def _are_twins(cluster: Cluster, a: int, b: int) -> bool:
    """Whether two devices are equal, and so are their links to each other and to all others."""
    if cluster.devices[a] is not cluster.devices[b] and cluster.devices[a] != cluster.devices[b]:
        return False
    for table in (cluster.bandwidth, cluster.latency):
        if table[a, b] != table[b, a]:
            return False
        for c in range(len(cluster.members)):
            if c not in (a, b) and (table[a, c] != table[b, c] or table[c, a] != table[c, b]):
                return False
    return True


def _device(name: str, memory: str | None) -> Device:
    """Return a shipped device, with as much memory as its name says."""
    devices = shipped().devices
    lower = name.lower()
    sized = f"{lower}-{memory}gb"
    for known in (sized, f"nvidia-{sized}", lower, f"nvidia-{lower}"):
        if known in devices and (memory is None or known.endswith("gb")):
            return devices[known]
    try:
        device = find("device", lower, devices)
    except UnknownNameError:
        if f"nvidia-{lower}" not in devices:
            raise
        device = devices[f"nvidia-{lower}"]
    if memory is None or int(memory) * _GIB == device.memory_bytes:
        return device
    return replace(device, name=f"{device.name}-{memory}gb", memory_bytes=int(memory) * _GIB)


def _link(one: Device, other: Device, between: float | None) -> Link:
    if between is not None and one is not other:
        return Link(between, 0.0, "given with the devices")
    if one.link is None or other.link is None:
        bare = one if one.link is None else other
        raise InvalidInputError(
            f"device {bare.name!r} has no usual link; expected '@' and GB/s behind the devices, "
            "or a "
            "cluster."
        )
    return min(one.link, other.link, key=lambda link: link.bandwidth)
