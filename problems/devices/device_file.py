"""Devices and clusters in TOML files; docs/devices.md describes the format.

The devices that come with boundmark are in files of this format, too. Numbers have units: a key
ends in the unit, and values become SI units.
"""

import difflib
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from boundmark.problems.computation_graph import ARITHMETIC_DTYPES
from boundmark.problems.devices.cluster import (
    Cluster,
    Device,
    Link,
    check_non_negative,
    check_positive,
)
from boundmark.problems.devices.names import by_spelling, device_called
from boundmark.problems.errors import InvalidInputError, quoted, shortened
from boundmark.problems.files import naming, read_bytes
from boundmark.problems.json_documents import LARGEST_TOML, toml_table

Units = Mapping[str, Fraction]

# Bytes a second, seconds, bytes, operations a second.
BANDWIDTH: Units = {
    "gb_per_s": Fraction(10**9),
    "mb_per_s": Fraction(10**6),
    "gbit_per_s": Fraction(10**9, 8),
    "mbit_per_s": Fraction(10**6, 8),
}
DURATION: Units = {
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
MEMORY: Units = {
    "gib": Fraction(2**30),
    "mib": Fraction(2**20),
    "gb": Fraction(10**9),
    "mb": Fraction(10**6),
}
RATE: Units = {
    "tera_ops_per_s": Fraction(10**12),
    "giga_ops_per_s": Fraction(10**9),
}


def spellings(field: str, units: Units) -> list[str]:
    """Return the keys of a field: with each unit, and without, to say that one is missing."""
    return [field, *(f"{field}_{unit}" for unit in units)]


def find_key(table: Mapping[str, Any], field: str, units: Units) -> str:
    """Return the one key of a table that gives this field, in whatever unit."""
    without_unit, *possible = spellings(field, units)
    given = [key for key in possible if key in table]
    if len(given) == 1 and without_unit not in table:
        return given[0]
    if given:
        both = " and ".join(key for key in (without_unit, *given) if key in table)
        raise InvalidInputError(f"{both} are both given; expected one of them, with its unit.")
    what = "has no unit" if without_unit in table else "is missing"
    raise InvalidInputError(f"{field} {what}; expected {' or '.join(possible)}.")


# Before or behind the point.
MOST_DIGITS = 300


def number(value: Any, key: str, *, may_be_zero: bool = False) -> Fraction:
    """Return a number of a TOML file without rounding it."""
    if type(value) is not int and not isinstance(value, Decimal):
        raise InvalidInputError(f"{key} is {quoted(value)}; expected a number.")
    # An exact fraction of more would fill the memory.
    if value and abs(Decimal(value).adjusted()) >= MOST_DIGITS:
        raise InvalidInputError(
            f"{key} is {shortened(str(value), 80)}; expected at most {MOST_DIGITS} digits on "
            "either side of the point."
        )
    if may_be_zero:
        check_non_negative(float(value), key)
    else:
        check_positive(float(value), key)
    return Fraction(value)


def quantity(
    table: Mapping[str, Any], field: str, units: Units, *, may_be_zero: bool = False
) -> Fraction:
    """Return a table's value for a field, in SI units.

    The decimal number is multiplied by its unit exactly, so that it is rounded only once when it
    becomes a floating-point number.
    """
    key = find_key(table, field, units)
    value = number(table[key], key, may_be_zero=may_be_zero)
    return value * units[key.removeprefix(f"{field}_")]


LINK_FIELDS = [*spellings("bandwidth", BANDWIDTH), *spellings("latency", DURATION)]

DEVICE_FIELDS = [
    *("source", "link", "aliases", "is_computer"),
    *spellings("peak", RATE),
    *spellings("memory_bandwidth", BANDWIDTH),
    *spellings("memory", MEMORY),
    *spellings("op_overhead", DURATION),
]


CLUSTER_FIELDS = ["source", "devices", "links", *LINK_FIELDS]

SOURCE = "where the numbers come from"

# Another name of a device: hyphens stand for the spaces that people write as well.
ALIAS = re.compile(r"\w[\w.+-]*")


def read_document(path: Path) -> Mapping[str, Any]:
    """Parse a file; decimal fractions stay exact."""
    content = read_bytes(path, "devices or clusters", LARGEST_TOML)
    with naming(path):
        document = toml_table(content, _decimal)
        check_fields(document, ["devices", "clusters"])
        return document


def _decimal(text: str) -> Decimal | str:
    """Return an exact number; the text itself if its exponent is beyond those of decimals."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return text


def read_devices(document: Mapping[str, Any]) -> dict[str, Device]:
    """Return the devices of a document by name."""
    with naming("devices"):
        tables = as_table(document.get("devices", {}))
    devices = {}
    for name, table in tables.items():
        with naming(f"devices.{name}"):
            devices[name] = _device(name, as_table(table))
    return devices


def read_clusters(document: Mapping[str, Any], devices: Mapping[str, Device]) -> dict[str, Cluster]:
    """Return the clusters of a document by name."""
    with naming("clusters"):
        tables = as_table(document.get("clusters", {}))
    called = by_spelling(devices)
    clusters = {}
    for name, table in tables.items():
        with naming(f"clusters.{name}"):
            clusters[name] = _cluster(name, as_table(table), called, [*devices])
    return clusters


def _device(name: str, table: Mapping[str, Any]) -> Device:
    check_fields(table, DEVICE_FIELDS)
    memory = quantity(table, "memory", MEMORY)
    if memory.denominator != 1:
        key = find_key(table, "memory", MEMORY)
        raise InvalidInputError(f"{key} is {float(memory)} bytes; expected a whole number of them.")
    link = None
    if "link" in table:
        with naming("link"):
            value = as_table(table["link"])
            check_fields(value, ["source", *LINK_FIELDS])
            link = read_link(value, required_text(value, "source", SOURCE))
    return Device(
        name=name,
        peak_rate=_peak_rates(table),
        memory_bandwidth=float(quantity(table, "memory_bandwidth", BANDWIDTH)),
        memory_bytes=int(memory),
        op_overhead=float(quantity(table, "op_overhead", DURATION, may_be_zero=True)),
        source=required_text(table, "source", SOURCE),
        link=link,
        aliases=_aliases(table),
        is_computer=optional_flag(table, "is_computer"),
    )


def _aliases(table: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what else a device is called; names are in a table of results, and in lists."""
    given = table.get("aliases", [])
    if not isinstance(given, list) or not all(
        isinstance(alias, str) and ALIAS.fullmatch(alias) for alias in given
    ):
        raise InvalidInputError(
            f"aliases is {quoted(given)}; expected a list of names without spaces."
        )
    return tuple(given)


def _peak_rates(table: Mapping[str, Any]) -> dict[str, float]:
    key = find_key(table, "peak", RATE)
    unit = RATE[key.removeprefix("peak_")]
    with naming(key):
        rates = as_table(table[key])
        check_fields(rates, ARITHMETIC_DTYPES)
        return {dtype: float(number(rate, dtype) * unit) for dtype, rate in rates.items()}


def _cluster(
    name: str, table: Mapping[str, Any], called: Mapping[str, Device], known: Sequence[str]
) -> Cluster:
    check_fields(table, CLUSTER_FIELDS)
    given = required(table, "devices", "a table of names and kinds of devices")
    with naming("devices"):
        members = {}
        for member, kind in as_table(given).items():
            device = device_called(kind, called) if isinstance(kind, str) else None
            if device is None:
                raise InvalidInputError(
                    f"{member} is {quoted(kind)}; expected one of {', '.join(known)}."
                )
            members[member] = device
    source = required_text(table, "source", SOURCE)
    return Cluster.from_links(name, members, read_links(table, list(members), source), source)


def as_table(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a table."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"found {value!r}; expected a table.")
    return value


def check_fields(table: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse unknown fields, which are mostly misspelt ones."""
    for field in table:
        if field not in known:
            near = difflib.get_close_matches(field, known, n=2)
            raise InvalidInputError(
                f"{field} is unknown; expected {' or '.join(near) if near else ', '.join(known)}."
            )


def required(table: Mapping[str, Any], field: str, what: str) -> Any:
    """Return a field's value."""
    if field not in table:
        raise InvalidInputError(f"{field} is missing; expected {what}.")
    return table[field]


def required_text(table: Mapping[str, Any], field: str, what: str) -> str:
    """Return a field's value if it is a text that is not empty."""
    value = required(table, field, what)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInputError(f"{field} is {value!r}; expected {what}.")
    return " ".join(value.split())


def optional_flag(table: Mapping[str, Any], field: str) -> bool:
    """Return a field's value, or false if it is missing."""
    value = table.get(field, False)
    if type(value) is not bool:
        raise InvalidInputError(f"{field} is {value!r}; expected true or false.")
    return value


# In a matrix, where there is no link.
NO_LINK = "-"


def read_link(table: Mapping[str, Any], source: str) -> Link:
    """Return the link with a table's bandwidth and latency."""
    return Link(
        bandwidth=float(quantity(table, "bandwidth", BANDWIDTH)),
        latency=float(quantity(table, "latency", DURATION, may_be_zero=True)),
        source=source,
    )


def read_links(
    cluster: Mapping[str, Any], members: Sequence[str], source: str
) -> dict[tuple[str, str], Link]:
    """Return a cluster's links by sender and receiver."""
    has_matrix = any(key in cluster for key in spellings("bandwidth", BANDWIDTH))
    if has_matrix == ("links" in cluster):
        found = "both are given" if has_matrix else "found neither"
        raise InvalidInputError(f"expected links or a matrix bandwidth_gb_per_s; {found}.")
    return (_from_matrix if has_matrix else _from_list)(cluster, members, source)


def _from_list(
    cluster: Mapping[str, Any], members: Sequence[str], source: str
) -> dict[tuple[str, str], Link]:
    if not isinstance(cluster["links"], list):
        raise InvalidInputError(f"links is {cluster['links']!r}; expected a list of tables.")
    links: dict[tuple[str, str], Link] = {}
    for row, value in enumerate(cluster["links"], 1):
        with naming(f"link {row}"):
            table = as_table(value)
            check_fields(table, ["from", "to", "symmetric", *LINK_FIELDS])
            tail, head = (
                required_text(table, end, "the name of a device") for end in ("from", "to")
            )
            is_symmetric = optional_flag(table, "symmetric")
            for ends in [(tail, head), (head, tail)] if is_symmetric else [(tail, head)]:
                if ends in links:
                    raise InvalidInputError(
                        f"the link from {ends[0]!r} to {ends[1]!r} is given before; "
                        "expected it once."
                    )
                links[ends] = read_link(table, source)
    return links


def _from_matrix(
    cluster: Mapping[str, Any], members: Sequence[str], source: str
) -> dict[tuple[str, str], Link]:
    key = find_key(cluster, "bandwidth", BANDWIDTH)
    unit = BANDWIDTH[key.removeprefix("bandwidth_")]
    latency = float(quantity(cluster, "latency", DURATION, may_be_zero=True))
    rows = cluster[key]
    size = len(members)
    is_square = (
        isinstance(rows, list)
        and [len(row) if isinstance(row, list) else None for row in rows] == [size] * size
    )
    if not is_square:
        raise InvalidInputError(
            f"{key} is not a matrix with a row and a column for each of the {size} devices."
        )
    links: dict[tuple[str, str], Link] = {}
    for tail, row in zip(members, rows, strict=True):
        for head, value in zip(members, row, strict=True):
            if tail == head and value != NO_LINK:
                raise InvalidInputError(
                    f"{key} from {tail!r} to itself is {value!r}; expected {NO_LINK!r}."
                )
            if value != NO_LINK:
                bandwidth = number(value, f"{key} from {tail!r} to {head!r}") * unit
                links[tail, head] = Link(float(bandwidth), latency, source)
    return links


class DefaultLink(NamedTuple):
    """A link that is taken where a device has none, and what it is called."""

    name: str
    link: Link


def link_between(one: Device, other: Device) -> Link:
    """Return the slower one of both devices' usual links, or of the default where one has none."""
    return min(
        one.link or default_link(one, other).link,
        other.link or default_link(one, other).link,
        key=lambda link: link.bandwidth,
    )


def default_link(one: Device, other: Device) -> DefaultLink:
    """Return the link that joins two devices of which one has no usual link.

    They are in one computer, unless both are the processor of a computer.
    """
    are_computers = one.is_computer and other.is_computer
    return _default_links()["two_computers" if are_computers else "same_computer"]


@cache
def _default_links() -> dict[str, DefaultLink]:
    text = files(__package__).joinpath("default_links.toml").read_text()
    return {
        kind: DefaultLink(table["name"], read_link(table, table["source"]))
        for kind, table in tomllib.loads(text, parse_float=Decimal).items()
    }
