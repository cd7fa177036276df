"""Measured times of a model's operations, as `boundmark profile` stores them: a kind of device.

The times are a device's; its link and memory are those of a device that is known by name.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from boundmark.problems.devices.cluster import Cluster
from boundmark.problems.devices.device import Device
from boundmark.problems.errors import InvalidInputError, UnknownNameError
from boundmark.problems.json_object import json_object
from boundmark.problems.quoted import quoted
from boundmark.problems.source_file import naming, read_bytes
from boundmark.problems.stored_fields import check_fields, check_format

FORMAT = "boundmark-times/1"

TIMES_SUFFIX = ".json"

NANOSECOND = 1e-9

# A day; nobody waits for longer.
LONGEST = 86_400 * 10**9


def is_times_file(name: str) -> bool:
    """Whether a user means measured times by a name, which then ends in ``.json``."""
    return name.lower().endswith(TIMES_SUFFIX)


def load_times(path: Path, find: Callable[[str], Device | Cluster]) -> Device:
    """Read measured times as a device.

    Parameters
    ----------
    find
        Returns a device by name.

    Raises
    ------
    InvalidInputError
        If the file does not hold times, or no device whose link and memory to use.
    """
    content = read_bytes(path, expected="measured times")
    with naming(path):
        document = json_object(content)
        check_format(document, FORMAT)
        check_fields(document, ("base", "operators", "source"))
        times, base = document["operators"], document["base"]
        if not isinstance(times, dict) or not times:
            raise InvalidInputError("operators is no object with times; expected some.")
        for name, time in times.items():
            if type(time) is not int or not 0 <= time <= LONGEST:
                raise InvalidInputError(
                    f"the time of operator {quoted(name)} is {quoted(time)}; "
                    "expected nanoseconds, a whole number from 0 to a day."
                )
        if not isinstance(base, str) or not isinstance(document["source"], str):
            raise InvalidInputError("base or source is no text; expected a device and a sentence.")
        try:
            device = find(base)
        except UnknownNameError as error:
            raise InvalidInputError(f"base: {error}") from error
        if isinstance(device, Cluster):
            raise InvalidInputError(f"base is the cluster {base!r}; expected a device.")
        return replace(
            device,
            name=f"measured:{path.stem}",
            source=document["source"],
            measured={name: time * NANOSECOND for name, time in times.items()},
        )
