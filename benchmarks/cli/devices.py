"""`boundmark devices`: what models can run on, and where the numbers come from."""

import itertools
import json
import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from boundmark.benchmarks.cli.listing import as_json, print_rows, wide

if TYPE_CHECKING:
    from boundmark.problems.devices import Cluster, Device, Registry

TERA, GIGA, MICRO, GIB = 1e12, 1e9, 1e-6, 2**30

# All rates of a device are among its details.
LISTED_RATES = ("float32", "float16", "int8")

LABEL_WIDTH = 10


@click.command()
@as_json
@wide
@click.argument("name", metavar="[NAME|FILE]", required=False)
def devices(name: str | None, as_json: bool, wide: bool) -> None:
    """List devices and clusters, or show all properties of one.

    NAME is a device or cluster of the list. FILE is a .toml file with devices of your own;
    docs/devices.md describes the format.
    """
    from boundmark.problems.devices import Cluster, shipped

    found = shipped() if name is None else _found(name)
    if as_json:
        click.echo(json.dumps([_as_json(item) for item in found.all.values()], indent=2))
    elif name is None:
        click.echo("Rates in 10^12 operations/s, bandwidths of memory and link in GB/s.")
        print_rows([_row(device) for device in found.devices.values()], False, wide)
        click.echo()
        clusters = found.clusters.values()
        rows = [{"cluster": x.name, "devices": _counts(x)} for x in clusters]
        print_rows(rows, False, wide)
    else:
        for number, item in enumerate(found.all.values()):
            if number:
                click.echo()
            if isinstance(item, Cluster):
                _print_cluster(item, wide)
            else:
                _print_device(item)


def _found(name: str) -> "Registry":
    from pathlib import Path

    from boundmark.problems.devices import (
        SUFFIX,
        Device,
        Registry,
        find_device,
        load_device_file,
    )

    if name.lower().endswith(SUFFIX):
        return load_device_file(Path(name))
    item = find_device(name)
    if isinstance(item, Device):
        return Registry({item.name: item}, {})
    return Registry({}, {item.name: item})


def _row(device: "Device") -> dict[str, Any]:
    rates = {
        dtype: f"{device.peak_rate[dtype] / TERA:g}" if dtype in device.peak_rate else "-"
        for dtype in LISTED_RATES
    }
    return {
        "device": device.name,
        **rates,
        "GiB": f"{device.memory_bytes / GIB:g}",
        "memory": f"{device.memory_bandwidth / GIGA:g}",
        "link": f"{device.link.bandwidth / GIGA:g}" if device.link else "-",
    }


def _members(cluster: "Cluster") -> str:
    members = zip(cluster.members, cluster.devices, strict=True)
    return ", ".join(f"{member} {device.name}" for member, device in members)


def _counts(cluster: "Cluster") -> str:
    counts = Counter(device.name for device in cluster.devices)
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _print_device(device: "Device") -> None:
    rates = ", ".join(f"{dtype} {rate / TERA:g}" for dtype, rate in device.peak_rate.items())
    facts = {
        "device": device.name,
        **({"aliases": ", ".join(device.aliases)} if device.aliases else {}),
        "rates": _measured(device) or f"{rates} (10^12 operations/s)",
        "memory": f"{device.memory_bytes / GIB:g} GiB, {device.memory_bandwidth / GIGA:g} GB/s",
        "overhead": f"{device.op_overhead / MICRO:g} us per operation",
        **({"fusion": "elementwise operations run with their producers"} if device.fuses else {}),
        **({"costs": costs} if (costs := _costs(device)) else {}),
    }
    for label, value in facts.items():
        _print_fact(label, value)
    _print_source(device.source)
    link = device.link
    if link is None:
        _print_fact("link", "none to others of its kind")
        return
    numbers = f"{link.bandwidth / GIGA:g} GB/s each way, latency {link.latency / MICRO:g} us"
    _print_fact("link", numbers)
    _print_source(link.source)


def _costs(device: "Device") -> str:
    """Return where costs may come from beside the rates; empty if from nowhere else."""
    from boundmark.problems.devices import efficiency_of

    table = efficiency_of(device.name)
    if table is None or device.measured is not None:
        return ""
    where = "it" if table.device == device.name.partition("+")[0] else table.device
    curves = f"curves of {len(table.curves)} classes of operators, measured on {where}"
    if device.efficiency is not None:
        return f"calibrated, by {curves}"
    return f"roofline; --costs calibrated takes {curves}"


def _measured(device: "Device") -> str:
    """Return the lines that stand in place of rates for a device with measured times."""
    if device.measured is None:
        return ""
    return f"none; {len(device.measured)} operations of one model were measured"


def _print_cluster(cluster: "Cluster", is_wide: bool) -> None:
    _print_fact("cluster", cluster.name)
    _print_fact("devices", _members(cluster))
    _print_source(cluster.source)
    for label, matrix, unit in (
        ("GB/s", cluster.bandwidth, GIGA),
        ("latency in us", cluster.latency, MICRO),
    ):
        click.echo(f"{label} from row to column:")
        print_rows(
            [_matrix_row(cluster, matrix / unit, at) for at in range(len(matrix))], False, is_wide
        )


def _matrix_row(cluster: "Cluster", matrix: Any, tail: int) -> dict[str, str]:
    heads = enumerate(cluster.members)
    cells = {head: "-" if at == tail else f"{matrix[tail, at]:.4g}" for at, head in heads}
    return {"": cluster.members[tail], **cells}


def _print_fact(label: str, text: str) -> None:
    from boundmark.problems.errors import printable

    click.echo(f"{label:{LABEL_WIDTH}}{printable(text)}")


def _print_source(text: str) -> None:
    from boundmark.problems.errors import printable

    label = f"{'source':{LABEL_WIDTH}}"
    text = printable(" ".join(text.split()))
    click.echo(textwrap.fill(text, 80, initial_indent=label, subsequent_indent=" " * LABEL_WIDTH))


def _as_json(item: "Device | Cluster") -> dict[str, Any]:
    """Return everything in SI units."""
    from boundmark.problems.devices import Device

    if isinstance(item, Device):
        link = item.link
        return {
            "device": item.name,
            "aliases": list(item.aliases),
            "peak_ops_per_s": dict(item.peak_rate),
            "memory_bandwidth_bytes_per_s": item.memory_bandwidth,
            "memory_bytes": item.memory_bytes,
            "op_overhead_s": item.op_overhead,
            "fuses": item.fuses,
            "efficiencies_of": None if item.efficiency is None else item.efficiency.device,
            "measured_s": None if item.measured is None else dict(item.measured),
            "source": item.source,
            "link": link
            and {
                "bandwidth_bytes_per_s": link.bandwidth,
                "latency_s": link.latency,
                "source": link.source,
            },
        }
    return {
        "cluster": item.name,
        "devices": {
            member: device.name for member, device in zip(item.members, item.devices, strict=True)
        },
        "links": [
            {
                "from": tail,
                "to": head,
                "bandwidth_bytes_per_s": link.bandwidth,
                "latency_s": link.latency,
            }
            for (tail, head), link in zip(
                itertools.permutations(item.members, 2), item.links, strict=True
            )
        ],
        "source": item.source,
    }
