"""Device maps of accelerate and transformers: a device for each module.

Devices are ``0``, ``"0"``, ``"cuda:0"``; a module that is not named is with the module around it
that is. As in `check_device_map` in src/accelerate/utils/modeling.py of accelerate 1.15.0, each
tensor of the model has to be in a named module, so that modules are written, too, that are no
layers here, such as norms, positions and what reads images; a chain knows them from its model's
family (`Origin.beside`). When a map is read, they do not count: their memory and time are in no
stage. The key ``""`` stands for the whole model, and is written where one device has it all:
beside others, accelerate would first put the whole model there. Where layers are copied from the
host, the first ones are on ``"cpu"``.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.instance import LayerAssignment, LayersInstance
from boundmark.problems.layers.tools.launch import Launch

# Where a language model stands within others: transformers has moved it between versions.
_AROUND = ("model.language_model.", "language_model.model.", "language_model.", "model.", "")

_OFFLOADED = ("cpu", "disk", "meta")


def write_device_map(launch: Launch) -> str:
    """Return a Python file with the map, and the call that takes it."""
    launch.only_single("a device map")
    launch.on_one_host("accelerate")
    names = launch.instance.chain.names
    first, last = launch.instance.chain.origin.beside
    devices = launch.solution.devices.tolist()
    found: dict[str, Any] = {
        **dict.fromkeys(first, devices[0]),
        **dict(zip(names, devices, strict=True)),
        **dict.fromkeys(last, devices[-1]),
    }
    count = sum(launch.solution.configuration)
    if count and devices[0]:
        raise InvalidInputError(
            f"the first stage is on device {devices[0]}, and accelerate runs what is on the CPU on "
            "device 0; expected that first, as with --device-order given."
        )
    before = launch.outer[0]
    found |= dict.fromkeys(names[before : before + count], "cpu")
    if len(launch.devices) == 1 and not count:
        found = {"": devices[0]}
    ((_, host, _),) = launch.nodes
    numbers = launch.visible(host, host)
    images = any("vision" in name or "visual" in name for name in first)
    kind = "AutoModelForImageTextToText" if images else "AutoModelForCausalLM"
    return (
        f"# {numbers} python THIS_FILE\nfrom transformers import {kind}\n\n"
        f"device_map = {json.dumps(found)}\n"
        f"model = {kind}.from_pretrained({json.dumps(launch.model)}, device_map=device_map)"
    )


def read_device_map(value: Mapping[str, Any], instance: LayersInstance) -> LayerAssignment | None:
    """Read a device map; return None if it is none, or one of another model."""
    known = set(map(_plain, instance.chain.names))
    keys = {_plain(key): key for key in value}
    devices: dict[str, int] = {}
    for key, item in value.items():
        device = _device(item)
        if device is None and item not in _OFFLOADED:
            return None
        devices[key] = -1 if device is None else device
    found = [_covering(name, devices) for name in instance.chain.names]
    if found == [None] * len(found):
        return None
    used = [key for key in found if key is not None]
    count = _first_on_cpu(value, found, instance)
    for key in used:
        if devices[key] < 0 and not count:
            raise InvalidInputError(
                f"{quoted(key)} is on {quoted(value[key])}; expected numbers of devices, or "
                "'cpu' for the first layers and a host among the devices, such as cpu:64GiB."
            )
    missing = [x for x, key in zip(instance.chain.names, found, strict=True) if key is None]
    if missing:
        if all(type(item) is int for item in value.values()):
            # A table of layers and devices, whose reader says what is left out.
            return None
        raise InvalidInputError(
            f"the device map has no device for {len(missing)} of {len(found)} layers, "
            f"{quoted(missing[0])} among them; expected one for each."
        )
    siblings = {name.rpartition(".")[0] for name in known if re.search(r"\.\d+$", name)}
    for plain, key in keys.items():
        stem, _, number = plain.rpartition(".")
        if plain not in known and stem in siblings and number.isdecimal():
            raise InvalidInputError(
                f"the device map has {quoted(key)}, and the model has no such layer; expected "
                f"names such as {quoted(instance.chain.names[-1])}."
            )
    before, split = instance.chain.outer[0], instance.chain.split
    placed = [devices[key] for key in used]
    # They run on the first device, which has what is before them.
    placed[before : before + count] = [placed[before - 1] if before else 0] * count
    return LayerAssignment(frozen(placed), () if split is None else (count,))


def _first_on_cpu(
    value: Mapping[str, Any], found: Sequence[str | None], instance: LayersInstance
) -> int:
    """Return how many of the first layers are on the host, and no others; 0 if that is not so."""
    (before, behind), n = instance.chain.outer, instance.chain.layers
    if instance.chain.split is None:
        return 0
    on_cpu = [key is not None and value[key] == "cpu" for key in found]
    count = sum(on_cpu)
    expected = [before <= at < before + count for at in range(n)]
    return count if on_cpu == expected and count <= n - before - behind else 0


def _device(item: object) -> int | None:
    """Return the number of a device; None if it is none."""
    if type(item) is int and 0 <= item < 10**6:
        return item
    if isinstance(item, str):
        match = re.fullmatch(r"(?:(?:cuda|xpu|npu|hpu|mlu|musa):)?(\d{1,6})", item, re.ASCII)
        if match:
            return int(match[1])
        if item in ("cuda", "mps", "xpu", "npu", "hpu", "mlu", "musa"):
            return 0
    return None


def _plain(name: str) -> str:
    """Return a module's name without that of the language model around it."""
    return next(name.removeprefix(prefix) for prefix in _AROUND if name.startswith(prefix))


def _covering(name: str, devices: Mapping[str, int]) -> str | None:
    """Return the key of a module or the nearest one around it, wherever the language model is."""
    best: tuple[int, int, str] | None = None
    for spelling in (name, *(prefix + _plain(name) for prefix in _AROUND)):
        parts = spelling.split(".")
        for length in range(len(parts), -1, -1):
            key = ".".join(parts[:length])
            if key in devices:
                # The fewest names are left over; of two such keys, the longer one.
                candidate = (len(parts) - length, -len(key), key)
                best = candidate if best is None else min(best, candidate)
                break
    return None if best is None else best[2]
