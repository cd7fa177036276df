"""Devices of a line such as ``2xA100-80GB,4xA10@12.5``, or of a cluster."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from boundmark.problems.devices import Cluster, Device, Link, find_device
from boundmark.problems.devices.device_file import default_link, link_between
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.chain import MOST_DEVICES

# How many, perhaps groups of how many, and of what: a name, or a file with the name of its part.
# A file whose own name begins like a number of devices is written with ``./`` before it.
_NUMBER = r"(?:(\d{1,18})[xX])?"
_SIZE = r":[\d.]+\s?(?:GiB|MiB|GB|MB)"
_NAME = rf"\w[\w .+()-]*(?:{_SIZE})?"
_ITEM = re.compile(
    rf"{_NUMBER}{_NUMBER}({_NAME}|.+\.(?:toml|json)(?::[^:]+)?(?:{_SIZE})?)", re.IGNORECASE
)
_FILE = re.compile(r"\.(toml|json)\b", re.IGNORECASE)

EXPECTED = (
    "devices such as '2xA100-80GB,4xA10' or '2xmy.toml:my-npu', '3090:9GiB' for what is left of "
    "its memory, '2x4xH100' for two groups of four, and perhaps '@12.5' for 12.5 GB/s between kinds"
)

EXPECTED_HOSTS = (
    "'16xH100' for one host, '2x8xH100@50' for two with eight each and 50 GB/s (400 Gbit/s) a "
    "device between them, or '1x8xH100,2x4xA100@25'"
)

_GB = 1e9


@dataclass(frozen=True)
class Fleet:
    """d devices of T types; devices of one type differ in their names only.

    A device may be a group of equal devices that split each layer among them (tensor parallelism,
    [MEGATRON21], Section 2.3).

    Attributes
    ----------
    kinds
        The device of each type; of groups, that of their members.
    types
        Type of each device, in the order in which they stand.
    names
        Name of each device.
    links
        From a device of one type to another one of another type or the same, by pair of types.
    degrees
        How many devices one of each type consists of.
    inner
        The link between members of a group, by type; None for single devices.
    notes
        What was taken for granted, as sentences.
    """

    kinds: tuple[Device, ...]
    types: tuple[int, ...]
    names: tuple[str, ...]
    links: dict[tuple[int, int], Link]
    degrees: tuple[int, ...]
    inner: tuple[Link | None, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Hosts:
    """Hosts with equal devices each, and the links in them and between them.

    Attributes
    ----------
    kinds
        The devices that there are.
    hosts
        Number of each host's kind, and how many devices it has.
    inside
        The link between two devices of a host, by kind.
    between
        The link between devices of two hosts; None if there is one host.
    notes
        What was taken for granted, as sentences.
    """

    kinds: tuple[Device, ...]
    hosts: tuple[tuple[int, int], ...]
    inside: tuple[Link, ...]
    between: Link | None
    notes: tuple[str, ...] = ()

    @property
    def devices(self) -> int:
        """Number of devices of all hosts."""
        return sum(count for _, count in self.hosts)

    @property
    def links(self) -> tuple[Link, ...]:
        """All kinds of links: those in hosts, by kind of device, and that between hosts."""
        return self.inside if self.between is None else (*self.inside, self.between)

    def words(self) -> str:
        """Return what they are, such as ``"2 hosts of 8 nvidia-h100"``."""
        counted = Counter(self.hosts)
        return " and ".join(
            f"{number} host{'s' * (number > 1)} of {count} {self.kinds[kind].name}"
            for (kind, count), number in counted.items()
        )


class _Item(NamedTuple):
    """The text between two commas; numbers are None where none are written."""

    text: str
    number: int | None
    degree: int | None
    device: Device | Cluster


def read_fleet(text: str, tensor_parallel: int = 1) -> Fleet:
    """Return the devices that a text lists, or those of a cluster, by name or file.

    Devices of one kind are joined by that kind's usual link, devices of two kinds by the slower
    one of theirs, or at the rate behind ``@``. Those without a usual link have a default.

    Parameters
    ----------
    tensor_parallel
        How many devices in a row become one that splits layers among them.

    Raises
    ------
    InvalidInputError
        If the text is none, devices are more than an instance may have, or they do not make
        groups of equal ones.
    UnknownNameError
        If there is no such device.
    """
    if not text:
        raise InvalidInputError(f"devices are not given; expected {EXPECTED}, or a cluster.")
    listed, between = _rate_behind(text)
    items = _items(listed)
    first = items[0]
    if isinstance(first.device, Cluster) and len(items) == 1 and first.number is None:
        if between is not None:
            raise InvalidInputError(f"devices are {quoted(text)}; expected no '@' for a cluster.")
        return of_cluster(first.device, tensor_parallel)
    return _listed([_grouped(item, tensor_parallel) for item in items], between)


def read_hosts(text: str) -> Hosts:
    """Return the hosts that a text lists, such as ``2x8xH100@50``: two, with 50 GB/s between them.

    Raises
    ------
    InvalidInputError
        If the text is none, or several hosts come without the rate between them.
    """
    if not text:
        raise InvalidInputError(f"devices are not given; expected {EXPECTED_HOSTS}.")
    listed, between = _rate_behind(text)
    kinds: list[Device] = []
    hosts: list[tuple[int, int]] = []
    for item in _items(listed):
        if isinstance(item.device, Cluster):
            raise InvalidInputError(
                f"devices have {quoted(item.text)}, a cluster; expected {EXPECTED_HOSTS}."
            )
        device = _single(item, kinds)
        if device.name not in [kind.name for kind in kinds]:
            kinds.append(device)
        number, count = (item.number, item.degree) if item.degree else (1, item.number)
        at = [kind.name for kind in kinds].index(device.name)
        hosts += [(at, count or 1)] * (number or 1)
    if (len(hosts) > 1) != (between is not None):
        found = "one host" if len(hosts) == 1 else f"{len(hosts)} hosts"
        raise InvalidInputError(
            f"devices are {quoted(text)}, {found}; expected the rate between hosts in GB/s for "
            f"each device where there are several, and only there: {EXPECTED_HOSTS}."
        )
    return Hosts(
        tuple(kinds),
        tuple(hosts),
        tuple(link_between(kind, kind) for kind in kinds),
        None if between is None else Link(between, 0.0, "given with the devices"),
        _notes([(kinds[at], kinds[at]) for at, count in dict.fromkeys(hosts) if count > 1]),
    )


def of_cluster(cluster: Cluster, tensor_parallel: int = 1) -> Fleet:
    """Return the devices of a cluster; those with equal links to all others are of one type."""
    count = len(cluster.members)
    _check_number(count)
    if count % tensor_parallel:
        raise InvalidInputError(
            f"cluster {cluster.name!r} has {count} devices, and tensor_parallel is "
            f"{tensor_parallel}; expected a divisor of {count}."
        )
    inner: list[Link | None] = [
        _inner_link(cluster, first, tensor_parallel) for first in range(0, count, tensor_parallel)
    ]
    heads = _heads(cluster, tensor_parallel)
    types: list[int] = []
    first: list[int] = []
    for at in range(len(heads.members)):
        kind = next(
            (
                t for t, other in enumerate(first)
                if inner[at] == inner[other] and _are_twins(heads, at, other)
            ),
            None,
        )  # fmt: skip
        if kind is None:
            kind = len(first)
            first.append(at)
        types.append(kind)
    links = {}
    for at, kind in enumerate(types):
        for other, to in enumerate(types):
            if at != other and (kind, to) not in links:
                links[kind, to] = _link_of(heads, at, other)
    return Fleet(
        tuple(heads.devices[at] for at in first),
        tuple(types),
        heads.members,
        links,
        (tensor_parallel,) * len(first),
        tuple(inner[at] for at in first),
    )


def _rate_behind(text: str) -> tuple[str, float | None]:
    """Return what is listed before ``@``, and the bytes per second behind it."""
    listed, at, rate = text.rpartition("@")
    # Folders may have an ``@`` in their names.
    if not at or _FILE.search(rate):
        return text, None
    try:
        between = float(rate) * _GB
    except ValueError:
        between = -1.0
    # Slower than a kilobyte a second, tensors take longer than times can count.
    if not 1e3 <= between < 1e18:
        raise InvalidInputError(
            f"devices are {quoted(text)}, with {quoted(rate)} behind '@'; expected GB/s from "
            f"0.000001 to 1,000,000,000 there, in {EXPECTED}."
        )
    return listed, between


def _items(listed: str) -> list[_Item]:
    """Return what is between the commas, after a look at how many devices that is."""
    matches = []
    for text in map(str.strip, listed.split(",")):
        match = _ITEM.fullmatch(text)
        if match is None or 0 in (_number(match[1]), _number(match[2])):
            raise InvalidInputError(f"devices have {quoted(text)}; expected {EXPECTED}.")
        matches.append(match)
    _check_number(sum(int(match[1] or 1) * int(match[2] or 1) for match in matches))
    found: dict[str, Device | Cluster] = {}
    for match in matches:
        found.setdefault(match[3], find_device(match[3]))
    return [
        _Item(match[0], _number(match[1]), _number(match[2]), found[match[3]]) for match in matches
    ]


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _check_number(count: int) -> None:
    if count > MOST_DEVICES:
        raise InvalidInputError(f"there are {count} devices; expected at most {MOST_DEVICES}.")


def _grouped(item: _Item, tensor_parallel: int) -> _Item:
    """Return an item with its devices in groups, as the option says."""
    if tensor_parallel == 1:
        return item
    if item.degree is not None:
        raise InvalidInputError(
            f"devices have {quoted(item.text)}, which are groups, and tensor_parallel is "
            f"{tensor_parallel}; expected one of them."
        )
    number = item.number or 1
    if number % tensor_parallel:
        raise InvalidInputError(
            f"devices have {quoted(item.text)}, and tensor_parallel is {tensor_parallel}; expected "
            f"a multiple of {tensor_parallel} devices. Uneven tensor parallelism, over devices "
            "that differ or with unequal parts, is not modelled: cut layers among them instead "
            f"(tensor_parallel 1), or make groups of equal devices, such as '2x{tensor_parallel}x"
            f"{item.device.name}'."
        )
    return item._replace(number=number // tensor_parallel, degree=tensor_parallel)


def _listed(items: list[_Item], between: float | None) -> Fleet:
    """Return the devices of a line, those of one kind and degree as one type."""
    number: dict[tuple[str, int], int] = {}
    kinds: list[Device] = []
    degrees: list[int] = []
    types: list[int] = []
    for item in items:
        device = _single(item, kinds)
        degree = item.degree or 1
        at = number.setdefault((device.name, degree), len(kinds))
        if at == len(kinds):
            kinds.append(device)
            degrees.append(degree)
        types += [at] * (item.number or 1)
    counts = Counter(types)
    pairs = [
        (a, b) for a in range(len(kinds)) for b in range(len(kinds)) if a != b or counts[a] > 1
    ]
    inner = [
        link_between(kind, kind) if degree > 1 else None
        for kind, degree in zip(kinds, degrees, strict=True)
    ]
    usual = [(kinds[a], kinds[b]) for a, b in pairs if between is None or kinds[a] is kinds[b]]
    usual += [(kind, kind) for kind, link in zip(kinds, inner, strict=True) if link]
    return Fleet(
        tuple(kinds),
        tuple(types),
        _names(types, kinds, degrees),
        {(a, b): _link(kinds[a], kinds[b], between) for a, b in pairs},
        tuple(degrees),
        tuple(inner),
        _notes(usual),
    )


def _single(item: _Item, kinds: list[Device]) -> Device:
    """Return an item's device, the same object each time."""
    device = item.device
    if isinstance(device, Cluster):
        raise InvalidInputError(
            f"devices have {quoted(item.text)}, a cluster; expected it alone, or devices."
        )
    for known in kinds:
        if known.name == device.name:
            if vars(known) != vars(device):
                raise InvalidInputError(
                    f"two different devices are called {device.name!r}; expected a name for each."
                )
            return known
    return device


def _names(types: list[int], kinds: list[Device], degrees: list[int]) -> tuple[str, ...]:
    """Return names such as ``nvidia-t4#0``, or ``nvidia-t4*4#0`` for a group of four."""
    seen: Counter[int] = Counter()
    names = []
    for kind in types:
        group = f"*{degrees[kind]}" if degrees[kind] > 1 else ""
        names.append(f"{kinds[kind].name}{group}#{seen[kind]}")
        seen[kind] += 1
    return tuple(names)


def _link(one: Device, other: Device, between: float | None) -> Link:
    if between is not None and one is not other:
        return Link(between, 0.0, "given with the devices")
    return link_between(one, other)


def _notes(pairs: list[tuple[Device, Device]]) -> tuple[str, ...]:
    """Return a sentence for each device and default link that it has."""
    told: dict[str, None] = {}
    for pair in pairs:
        name, link = default_link(*pair)
        for device in pair:
            if device.link is None:
                told[
                    f"device {device.name!r} has no usual link; {name}, "
                    f"{link.bandwidth / _GB:.4g} GB/s, is taken"
                ] = None
    return tuple(told)


def _link_of(cluster: Cluster, at: int, other: int) -> Link:
    bandwidth, latency = float(cluster.bandwidth[at, other]), float(cluster.latency[at, other])
    return Link(bandwidth, latency, cluster.source)


def _heads(cluster: Cluster, size: int) -> Cluster:
    """Return the cluster of the first member of each group, under the name of the group."""
    if size == 1:
        return cluster
    at = np.arange(0, len(cluster.members), size)
    return replace(
        cluster,
        members=tuple(f"{cluster.members[x]}..{cluster.members[x + size - 1]}" for x in at),
        devices=tuple(cluster.devices[x] for x in at),
        bandwidth=cluster.bandwidth[np.ix_(at, at)],
        latency=cluster.latency[np.ix_(at, at)],
    )


def _inner_link(cluster: Cluster, first: int, size: int) -> Link | None:
    """Return the link within a group of members, after a check that these are equal."""
    if size == 1:
        return None
    group = np.arange(first, first + size)
    are_equal = len({id(cluster.devices[at]) for at in group}) == 1
    for table in (cluster.bandwidth, cluster.latency):
        inside = table[np.ix_(group, group)][~np.eye(size, dtype=bool)]
        out_of, into = np.delete(table[group], group, 1), np.delete(table[:, group], group, 0)
        are_equal &= bool(
            (inside == inside[0]).all()
            and (out_of == out_of[0]).all()
            and (into == into[:, :1]).all()
        )
    if not are_equal:
        raise InvalidInputError(
            f"tensor_parallel is {size}, and {cluster.members[first]!r} to "
            f"{cluster.members[first + size - 1]!r} differ, or their links do; expected equal "
            "devices in a row, with equal links to each other and to all others."
        )
    return _link_of(cluster, first, first + 1)


def _are_twins(cluster: Cluster, a: int, b: int) -> bool:
    """Whether two devices are equal, and so are their links to each other and to all others."""
    if cluster.devices[a] is not cluster.devices[b]:
        return False
    others = np.ones(len(cluster.members), dtype=bool)
    others[[a, b]] = False
    return all(
        table[a, b] == table[b, a]
        and (table[a, others] == table[b, others]).all()
        and (table[others, a] == table[others, b]).all()
        for table in (cluster.bandwidth, cluster.latency)
    )
