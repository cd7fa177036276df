"""Turn what `nvidia-smi` and `rocm-smi` print about a machine into a text of devices."""

import csv
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming, read_bytes

# The word for the devices of this machine.
LOCAL = "local"

NVIDIA = ("nvidia-smi", "--query-gpu=name,memory.free", "--format=csv")
AMD = ("rocm-smi", "--showproductname", "--showmeminfo", "vram", "--json")

EXPECTED = f"what `{' '.join(NVIDIA)}` or `{' '.join(AMD)}` prints"

# Printed for eight devices, it is a few kilobytes.
LARGEST = 2**20

_MIB = 2**20


def listed_devices(text: str) -> str:
    """Return the text of devices that a listing stands for; any other text as it is.

    Devices keep the listing's order, and have the memory that is free on each.

    Parameters
    ----------
    text
        ``"local"``, or the path of a file with what one of the tools has printed.

    Raises
    ------
    InvalidInputError
        If the file is no such listing, or this machine has neither tool, or no devices.
    """
    if text.strip().lower() == LOCAL:
        return _local()
    if not text.lower().endswith((".csv", ".json", ".txt")) or not os.path.isfile(text):
        return text
    content = read_bytes(Path(text), "a listing of devices", LARGEST).decode("utf-8-sig", "replace")
    if text.lower().endswith(".json") and not content.lstrip().startswith('{"card'):
        # Times that `boundmark profile` measured.
        return text
    with naming(Path(text)):
        return devices_of(content)


def devices_of(content: str) -> str:
    r"""Return the text of devices of what a tool has printed.

    Examples
    --------
    >>> devices_of("name, memory.free [MiB]\nNVIDIA L4, 22000 MiB\nTesla T4, 9000 MiB\n")
    '1xNVIDIA L4:22000MiB,1xTesla T4:9000MiB'
    """
    found = _amd(content) if content.lstrip().startswith("{") else _nvidia(content)
    if not found:
        raise InvalidInputError(f"it lists no devices; expected {EXPECTED}.")
    return ",".join(f"1x{name}:{mib}MiB" for name, mib in found)


def _nvidia(content: str) -> list[tuple[str, int]]:
    rows = [row for row in csv.reader(content.splitlines(), skipinitialspace=True) if row]
    head = [cell.strip().partition(" ")[0] for cell in rows[0]] if rows else []
    if "name" not in head or "memory.free" not in head:
        raise InvalidInputError(f"its first line is {quoted(head)}; expected {EXPECTED}.")
    name, free = head.index("name"), head.index("memory.free")
    unit = "MiB" in rows[0][free]
    found = []
    for line, row in enumerate(rows[1:], 2):
        cell = row[free].strip() if len(row) == len(head) else ""
        number, _, behind = cell.partition(" ")
        if not number.isdecimal() or (behind or "MiB" * unit) != "MiB":
            raise InvalidInputError(
                f"line {line} is {quoted(','.join(row))}; expected a name and free memory in MiB."
            )
        found.append((row[name].strip(), int(number)))
    return found


def _amd(content: str) -> list[tuple[str, int]]:
    try:
        cards: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"it is no JSON ({error}); expected {EXPECTED}.") from None
    found = []
    for card, facts in cards.items():
        if not card.startswith("card"):
            continue
        fields = facts if isinstance(facts, dict) else {}
        name = next((fields[key] for key in ("Card Series", "Card series") if key in fields), None)
        total, used = (
            str(fields.get(f"VRAM Total {word}Memory (B)", "")) for word in ("", "Used ")
        )
        if not isinstance(name, str) or not (total.isdecimal() and used.isdecimal()):
            raise InvalidInputError(
                f"{card} has no series, or not its total and used memory; expected {EXPECTED}."
            )
        found.append((name, max(0, int(total) - int(used)) // _MIB))
    return found


def _local() -> str:
    for command in (NVIDIA, AMD):
        if shutil.which(command[0]):
            with naming(f"`{' '.join(command)}`"):
                return devices_of(_printed(command))
    raise InvalidInputError(
        f"devices is {LOCAL!r}, and there is neither {NVIDIA[0]} nor {AMD[0]} here; expected "
        "names, such as '2x3090:20GiB'."
    )


def _printed(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise InvalidInputError(f"it failed ({error}); expected a list of devices.") from None
    return done.stdout
