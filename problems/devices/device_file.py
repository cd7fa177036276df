"""Devices and clusters in TOML files; docs/devices.md describes the format.

The devices that come with boundmark are in files of this format, too.
"""

import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from boundmark.problems.devices.cluster import Cluster
from boundmark.problems.devices.device import Device
from boundmark.problems.devices.link_tables import LINK_FIELDS, read_link, read_links
from boundmark.problems.devices.quantities import (
    BANDWIDTH,
    DURATION,
    MEMORY,
    RATE,
    find_key,
    number,
    quantity,
    spellings,
)
from boundmark.problems.devices.tables import as_table, check_fields, required, text
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.quoted import quoted
from boundmark.problems.source_file import naming, read_bytes
from boundmark.problems.tensor import ARITHMETIC_DTYPES

DEVICE_FIELDS = [
    *("source", "link"),
    *spellings("peak", RATE),
    *spellings("memory_bandwidth", BANDWIDTH),
    *spellings("memory", MEMORY),
    *spellings("op_overhead", DURATION),
]
CLUSTER_FIELDS = ["source", "devices", "links", *LINK_FIELDS]

SOURCE = "where the numbers come from"


def read_document(path: Path) -> Mapping[str, Any]:
    """Parse a file; decimal fractions stay exact.

    Raises
    ------
    InvalidInputError
        If it is not TOML, or has other tables than ``devices`` and ``clusters``.
    """
    content = read_bytes(path, expected="devices or clusters")
    with naming(path):
        try:
            document = tomllib.loads(content.decode(), parse_float=Decimal)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InvalidInputError(f"expected TOML, found {error}.") from error
        check_fields(document, ["devices", "clusters"])
        return document


def read_devices(document: Mapping[str, Any]) -> dict[str, Device]:
    """Return the devices of a document by name.

    Raises
    ------
    InvalidInputError
        If one has an unknown field, lacks one, or a value is out of range or has no unit.
    """
    with naming("devices"):
        tables = as_table(document.get("devices", {}))
    devices = {}
    for name, table in tables.items():
        with naming(f"devices.{name}"):
            devices[name] = _device(name, as_table(table))
    return devices


def read_clusters(document: Mapping[str, Any], devices: Mapping[str, Device]) -> dict[str, Cluster]:
    """Return the clusters of a document by name.

    Parameters
    ----------
    devices
        All that a cluster may consist of, by name.

    Raises
    ------
    InvalidInputError
        If one has an unknown field, lacks one, names an unknown device, or its links do not
        connect all of its devices both ways.
    """
    with naming("clusters"):
        tables = as_table(document.get("clusters", {}))
    clusters = {}
    for name, table in tables.items():
        with naming(f"clusters.{name}"):
            clusters[name] = _cluster(name, as_table(table), devices)
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
            link = read_link(value, text(value, "source", SOURCE))
    return Device(
        name=name,
        peak_rate=_peak_rates(table),
        memory_bandwidth=float(quantity(table, "memory_bandwidth", BANDWIDTH)),
        memory_bytes=int(memory),
        op_overhead=float(quantity(table, "op_overhead", DURATION, may_be_zero=True)),
        source=text(table, "source", SOURCE),
        link=link,
    )


def _peak_rates(table: Mapping[str, Any]) -> dict[str, float]:
    key = find_key(table, "peak", RATE)
    unit = RATE[key.removeprefix("peak_")]
    with naming(key):
        rates = as_table(table[key])
        check_fields(rates, ARITHMETIC_DTYPES)
        return {dtype: float(number(rate, dtype) * unit) for dtype, rate in rates.items()}


def _cluster(name: str, table: Mapping[str, Any], devices: Mapping[str, Device]) -> Cluster:
    check_fields(table, CLUSTER_FIELDS)
    given = required(table, "devices", "a table of names and kinds of devices")
    with naming("devices"):
        kinds = as_table(given)
        for member, kind in kinds.items():
            if not isinstance(kind, str) or kind not in devices:
                raise InvalidInputError(
                    f"{member} is {quoted(kind)}; expected one of {', '.join(devices)}."
                )
    source = text(table, "source", SOURCE)
    links = read_links(table, list(kinds), source)
    return Cluster.from_links(
        name, {member: devices[kind] for member, kind in kinds.items()}, links, source
    )
