"""Links between devices for which no cluster says how they are joined."""

import tomllib
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from boundmark.problems.devices.cluster import Device, Link
from boundmark.problems.devices.device_file import read_link


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
