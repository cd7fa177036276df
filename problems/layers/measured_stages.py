"""Times of stages that an engine's log has, and a chain whose devices are as fast as these say."""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming, read_bytes
from boundmark.problems.json_documents import json_value
from boundmark.problems.layers.chain import LayerChain
from boundmark.problems.ticks import NANOSECONDS

COLUMNS = ("device", "layers", "seconds")

EXPECTED = "a .csv or .json file with columns layers and seconds, and perhaps device"


class StageTime(NamedTuple):
    """Seconds that a device has computed on one micro-batch in a stage of some layers."""

    device: int
    layers: int
    seconds: float


def scaled_to_stages(chain: LayerChain, path: str) -> tuple[LayerChain, str]:
    """Return a chain with each device's times scaled to what its stage has taken, and a note.

    Devices that the file does not name keep their times.
    """
    with naming(path):
        stages = _read(path, chain)
        factors = [1.0] * len(chain.devices)
        first = 0
        for stage in stages:
            kind = chain.devices[stage.device]
            predicted = int(chain.time[kind, first : first + stage.layers].sum())
            if not predicted:
                raise InvalidInputError(
                    f"the {stage.layers} layers on {quoted(chain.device_names[stage.device])} are "
                    "predicted to take nothing; expected layers with a time."
                )
            factors[stage.device] = stage.seconds * NANOSECONDS / predicted
            first += stage.layers
        if first != chain.layers:
            raise InvalidInputError(
                f"its stages have {first} layers together, and the model has {chain.layers}: "
                f"{quoted(chain.names[0])} to {quoted(chain.names[-1])}; expected all of them."
            )
    pairs = list(zip(chain.devices, factors, strict=True))
    kinds = list(dict.fromkeys(pairs))
    old = [kind for kind, _ in kinds]
    scaled = replace(
        chain,
        time=frozen([np.rint(chain.time[kind] * factor).tolist() for kind, factor in kinds]),
        link=frozen(chain.link[np.ix_(old, old)].tolist()),
        capacity=frozen(chain.capacity[old].tolist()),
        devices=tuple(kinds.index(pair) for pair in pairs),
    )
    words = ", ".join(
        f"{chain.device_names[stage.device]} {factors[stage.device]:.2f}" for stage in stages
    )
    return scaled, f"times are scaled to those of {path}, measured over predicted: {words}"


def _read(path: str, chain: LayerChain) -> list[StageTime]:
    """Return the stages of a file, whose rows are in the order in which data flows."""
    content = read_bytes(path, "times of stages")
    rows = list(_json_rows(content) if path.lower().endswith(".json") else _csv_rows(content))
    if not rows:
        raise InvalidInputError("it has no stages; expected a row for each.")
    found = []
    for number, row in enumerate(rows, 1):
        unknown = row.keys() - set(COLUMNS)
        if unknown or not {"layers", "seconds"} <= row.keys():
            raise InvalidInputError(
                f"row {number} has {', '.join(map(quoted, row))}; expected layers and seconds, "
                "and perhaps device."
            )
        layers, seconds = _number(row, "layers", number), _number(row, "seconds", number)
        if not layers.is_integer():
            raise InvalidInputError(f"layers in row {number} is {layers}; expected an integer.")
        device = _device(row.get("device", number - 1), chain.device_names, number)
        found.append(StageTime(device, int(layers), seconds))
    devices = [stage.device for stage in found]
    if len(set(devices)) < len(devices):
        twice = next(one for one in devices if devices.count(one) > 1)
        raise InvalidInputError(
            f"it has two rows for device {quoted(chain.device_names[twice])}; expected one."
        )
    return found


def _csv_rows(content: bytes) -> Iterator[Mapping[str, Any]]:
    try:
        rows = [row for row in csv.reader(io.StringIO(content.decode("utf-8-sig"))) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(f"expected CSV in UTF-8; {error}.") from error
    header = [cell.strip() for cell in rows[0]] if rows else []
    for number, row in enumerate(rows[1:], 1):
        if len(row) != len(header):
            raise InvalidInputError(
                f"row {number} has {len(row)} cells; expected {len(header)}, as the header has."
            )
        yield dict(zip(header, (cell.strip() for cell in row), strict=True))


def _json_rows(content: bytes) -> Iterator[Mapping[str, Any]]:
    found = json_value(content)
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise InvalidInputError("expected a list of objects, one for each stage.")
    yield from found


def _number(row: Mapping[str, Any], name: str, number: int) -> float:
    value = row[name]
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        found = math.nan
    if not 0 < found <= 1e9:
        raise InvalidInputError(
            f"{name} in row {number} is {quoted(value)}; expected a number above 0, up to 10^9."
        )
    return found


def _device(value: object, names: Sequence[str], number: int) -> int:
    """Return a device's number, which is called by its name or that."""
    if value in names:
        return names.index(str(value))
    numbers = {str(at): at for at in range(len(names))}
    if str(value) not in numbers:
        raise InvalidInputError(
            f"device in row {number} is {quoted(value)}; expected one of {', '.join(names[:4])}"
            f"{', ...' if len(names) > 4 else ''}, or a number from 0 to {len(names) - 1}."
        )
    return numbers[str(value)]
