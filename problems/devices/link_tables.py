"""Links in TOML files: one by one, or as a matrix of bandwidths."""

from collections.abc import Mapping, Sequence
from typing import Any

from boundmark.problems.devices.device import Link
from boundmark.problems.devices.quantities import (
    BANDWIDTH,
    DURATION,
    find_key,
    number,
    quantity,
    spellings,
)
from boundmark.problems.devices.tables import as_table, check_fields, text
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.source_file import naming

LINK_FIELDS = [*spellings("bandwidth", BANDWIDTH), *spellings("latency", DURATION)]

# In a matrix, where there is no link.
NO_LINK = "-"


def read_link(table: Mapping[str, Any], source: str) -> Link:
    """Return the link with a table's bandwidth and latency.

    Raises
    ------
    InvalidInputError
        If one of them is missing, has no unit, or is out of range.
    """
    return Link(
        bandwidth=float(quantity(table, "bandwidth", BANDWIDTH)),
        latency=float(quantity(table, "latency", DURATION, may_be_zero=True)),
        source=source,
    )


def read_links(
    cluster: Mapping[str, Any], members: Sequence[str], source: str
) -> dict[tuple[str, str], Link]:
    """Return a cluster's links by sender and receiver.

    Raises
    ------
    InvalidInputError
        If there are neither links nor a matrix, or both, or one of them is not in the format.
    """
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
            tail, head = (text(table, end, "the name of a device") for end in ("from", "to"))
            is_symmetric = table.get("symmetric", False)
            if type(is_symmetric) is not bool:
                raise InvalidInputError(f"symmetric is {is_symmetric!r}; expected true or false.")
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
