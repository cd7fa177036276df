"""Read the names of devices as people write them: ``rtx4090``, ``H100-SXM``, ``A100-80GB``."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from boundmark.problems.devices.cluster import Device
from boundmark.problems.errors import InvalidInputError

# The first words of a name that may be left out where that leaves no doubt.
OPTIONAL_WORDS = ("nvidia", "amd", "apple", "aws", "google", "host", "intel", "rtx")

_SEPARATORS = re.compile(r"[\s_-]+|\([^)]*\)")

# A size of memory behind a name.
_SIZED = re.compile(r"(.+)[\s_-](\d{1,4})\s?GB", re.IGNORECASE)

# What is left of a device's memory, behind its name and a colon.
_LEFT = re.compile(r"(.+):(\d{1,6}(?:\.\d{1,6})?)\s?(GiB|MiB|GB|MB)", re.IGNORECASE)
_UNITS = {"gib": 2**30, "mib": 2**20, "gb": 10**9, "mb": 10**6}

_GIB = 2**30


def squeezed(text: str) -> str:
    """Return a name in small letters, without what separates its words or is in brackets.

    Examples
    --------
    >>> squeezed("RTX 4090") == squeezed("rtx-4090")
    True
    """
    return _SEPARATORS.sub("", text).lower()


def by_spelling(devices: Mapping[str, Device]) -> dict[str, Device]:
    """Return devices by all that they are called, in the spelling of `squeezed`.

    Names go before aliases, and aliases before names without their first words, such as
    ``nvidia-rtx-``; these have to mean a single device.
    """
    called = {squeezed(name): device for name, device in reversed([*devices.items()])}
    for device in devices.values():
        for alias in device.aliases:
            other = called.setdefault(squeezed(alias), device)
            if other is not device:
                raise InvalidInputError(
                    f"{other.name!r} and {device.name!r} are both called {alias!r}; "
                    "expected an alias of one device."
                )
    claims: dict[str, list[Device]] = {}
    for device in devices.values():
        for short in short_names(device.name):
            claims.setdefault(squeezed(short), []).append(device)
    for short, claimants in claims.items():
        if len(claimants) == 1:
            called.setdefault(short, claimants[0])
    return called


def short_names(name: str) -> Iterator[str]:
    """Yield the name without its first word, its first two, and so on, where these are optional.

    Examples
    --------
    >>> list(short_names("nvidia-rtx-4090"))
    ['rtx-4090', '4090']
    """
    first, _, rest = name.partition("-")
    if rest and first in OPTIONAL_WORDS:
        yield rest
        yield from short_names(rest)


def device_called(text: str, called: Mapping[str, Device]) -> Device | None:
    """Return the device that a text names, perhaps with another size of memory; None if none."""
    key = squeezed(text)
    if key in called:
        return called[key]
    sized = _SIZED.fullmatch(text.strip())
    if sized is None or squeezed(sized[1]) not in called:
        return None
    device, gib = called[squeezed(sized[1])], int(sized[2])
    if gib * _GIB == device.memory_bytes:
        return device
    return replace(device, name=f"{device.name}-{gib}gb", memory_bytes=gib * _GIB, aliases=())


def memory_left(text: str) -> tuple[str, int | None]:
    """Return a device's name, and the bytes of memory that a user says are left on it.

    Examples
    --------
    >>> memory_left("3090:9GiB")
    ('3090', 9663676416)
    >>> memory_left("my.toml:my-npu")
    ('my.toml:my-npu', None)
    """
    match = _LEFT.fullmatch(text.strip())
    if match is None:
        return text, None
    size = int(Fraction(match[2]) * _UNITS[match[3].lower()])
    if size < 1:
        raise InvalidInputError(
            f"{text!r} has no memory left; expected a size such as '9GiB' behind the colon."
        )
    return match[1], size
