"""Measured times of a model's operations, as `boundmark profile` stores them: a kind of device.

The times are a device's; its link and memory are those of a device that is known by name. A device
of a cluster can have such times, too, and has the memory and links that it has in the cluster then.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from boundmark.problems.devices.cluster import Cluster, Device
from boundmark.problems.errors import InvalidInputError, UnknownNameError, quoted
from boundmark.problems.errors import find as find_named
from boundmark.problems.files import naming, read_bytes, refuse_tool_file
from boundmark.problems.json_documents import (
    check_fields,
    check_format,
    json_object,
    refuse_other_fields,
)

FORMAT = "boundmark-times/1"

TIMES_SUFFIX = ".json"

# Fields that say how long operators take where, and those that say how that was measured.
NEEDED = ("base", "operators", "source")
FURTHER = (
    *("format", "model", "rank_correlation", "measurement", "intervals", "untimed", "notes"),
    "graph",
)

# What is expected where a file is none.
TIMES = "times that `boundmark profile --out` has written"

NANOSECOND = 1e-9

# A day, in nanoseconds.
LONGEST = 86_400 * 10**9


def is_times_file(name: str) -> bool:
    """Whether a user means measured times by a name, which then ends in ``.json``."""
    return name.lower().endswith(TIMES_SUFFIX)


class Times(NamedTuple):
    """Measured times of a model's operations.

    Attributes
    ----------
    seconds
        Time of each operation, by name.
    base
        Name of the device whose link and memory go with them where they are a device by themselves.
    """

    name: str
    seconds: Mapping[str, float]
    base: str
    source: str


def load_times(path: Path, find: Callable[[str], Device | Cluster]) -> Device:
    """Read measured times as a device."""
    times = _read(path)
    with naming(path):
        try:
            device = find(times.base)
        except UnknownNameError as error:
            raise InvalidInputError(f"base: {error}") from error
        if isinstance(device, Cluster):
            raise InvalidInputError(f"base is the cluster {times.base!r}; expected a device.")
        source = f"{times.source}; link and memory of {device.name}"
        return replace(device, name=times.name, source=source, measured=times.seconds)


def with_times(cluster: Cluster, member: str, path: Path) -> Cluster:
    """Return the cluster with one device that takes the times in a file, under another name.

    Memory and links stay as they are.
    """
    known = dict(zip(cluster.members, cluster.devices, strict=True))
    own = find_named(f"device (of cluster {cluster.name})", member, known)
    times = _read(path)
    known[member] = replace(own, name=times.name, source=times.source, measured=times.seconds)
    return replace(
        cluster,
        name=f"{cluster.name}+{member}={times.name}",
        devices=tuple(known.values()),
        source=f"{cluster.source} Times of {member}: {times.source}",
    )


def _read(path: Path) -> Times:
    content = read_bytes(path, expected="measured times")
    with naming(path):
        refuse_tool_file(content, TIMES)
        document = json_object(content)
        check_format(document, FORMAT)
        check_fields(document, NEEDED)
        refuse_other_fields(document, (*NEEDED, *FURTHER))
        times, base, source = document["operators"], document["base"], document["source"]
        if not isinstance(times, dict) or not times:
            raise InvalidInputError("operators is no object with times; expected some.")
        for name, time in times.items():
            if type(time) is not int or not 0 <= time <= LONGEST:
                raise InvalidInputError(
                    f"the time of operator {quoted(name)} is {quoted(time)}; "
                    "expected nanoseconds, a whole number from 0 to a day."
                )
        if not isinstance(base, str) or not isinstance(source, str):
            raise InvalidInputError("base or source is no text; expected a device and a sentence.")
        seconds = {name: time * NANOSECOND for name, time in times.items()}
        return Times(f"measured:{path.stem}", seconds, base, source)
