"""A CSV table of layers, one row for each, for models that no other reader understands.

docs/files.md describes the columns: ``layer,weights,held,output,joined``, and either ``flops`` and
``bytes`` or measured times, ``seconds:DEVICE``. Those that are left out are 0, but for ``layer``.
"""

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

from boundmark.datasets.file_format import FileFormat
from boundmark.problems.devices import canonical_device_name
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming, read_bytes
from boundmark.problems.layers import LayerFacts, LayerModel, Operation, Workload
from boundmark.problems.layers.chain import MOST_LAYERS
from boundmark.problems.layers.model import AS_GIVEN, TRAINING

NUMBERS = ("weights", "held", "output", "flops", "bytes", "joined")
MEASURED = "seconds:"


@dataclass(frozen=True, eq=False)
class ListedLayers(LayerModel):
    """Layers with costs of their own, whatever the workload."""

    facts: tuple[LayerFacts, ...]
    together: tuple[int, ...]

    def layers(self, workload: Workload) -> tuple[LayerFacts, ...]:
        """Return the layers; in training, the table has to be of both passes."""
        if (
            workload.phase not in (AS_GIVEN, TRAINING)
            or workload.batch
            or workload.context
            or workload.measured_on
        ):
            raise InvalidInputError(
                "phase, batch, context or costs are given, and the table says what layers cost; "
                "expected "
                "none, or training for micro-batches in flight."
            )
        return self.facts

    @property
    def has_times(self) -> bool:
        """Whether the table has columns of seconds."""
        return any(layer.seconds for layer in self.facts)

    def joined(self) -> tuple[int, ...]:
        """Return the layers that have to share a stage with the layer before them."""
        return self.together


def load(path: str | Path) -> ListedLayers:
    """Read a table.

    Raises
    ------
    InvalidInputError
        If a column is unknown, or an entry is no number from 0 up.
    """
    path = Path(path)
    content = read_bytes(path, "a table of layers")
    with naming(path):
        try:
            rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig")), strict=True))
        except (UnicodeDecodeError, csv.Error) as error:
            raise InvalidInputError(f"expected CSV in UTF-8; {error}.") from error
        rows = [row for row in rows if row]
        if len(rows) > MOST_LAYERS + 1:
            raise InvalidInputError(
                f"there are {len(rows) - 1:,} layers; expected at most {MOST_LAYERS:,}."
            )
        header = [_column(cell.strip()) for cell in rows[0]] if rows else []
        separator = next((one for one in ";\t" if one in "".join(header)), None)
        if separator is not None:
            raise InvalidInputError(
                f"columns are separated by {separator!r}; expected commas, and points in numbers."
            )
        for name in header:
            if name not in ("layer", *NUMBERS) and not name.startswith(MEASURED):
                raise InvalidInputError(
                    f"there is a column {quoted(name)}; expected layer, {', '.join(NUMBERS)} or "
                    "seconds:DEVICE."
                )
        if "layer" not in header or len(set(header)) < len(header) or len(rows) < 2:
            raise InvalidInputError(
                "expected a header with layer, each column once, and rows below."
            )
        return _layers([_row(header, row, at) for at, row in enumerate(rows[1:], 2)])


FORMAT = FileFormat("layer table", (".csv",), load)


def _column(name: str) -> str:
    """Return a column's name, with a device called as boundmark does."""
    if not name.startswith(MEASURED):
        return name
    return f"{MEASURED}{canonical_device_name(name.removeprefix(MEASURED))}"


def _row(header: list[str], cells: list[str], line: int) -> dict[str, str | float]:
    if len(cells) != len(header):
        raise InvalidInputError(f"row {line} has {len(cells)} cells; expected {len(header)}.")
    found: dict[str, str | float] = {}
    for name, cell in zip(header, cells, strict=True):
        if name == "layer":
            found[name] = cell.strip()
            continue
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not 0 <= value <= 1e18:
            raise InvalidInputError(
                f"{name} in row {line} is {quoted(cell)}; expected a number from 0 to 10^18."
            )
        found[name] = value
    return found


def _layers(rows: list[dict[str, str | float]]) -> ListedLayers:
    facts = []
    for row in rows:
        number = {name: float(row.get(name, 0.0)) for name in NUMBERS}
        seconds = {
            name.removeprefix(MEASURED): float(value)
            for name, value in row.items()
            if name.startswith(MEASURED)
        }
        facts.append(
            LayerFacts(
                str(row["layer"]),
                (Operation(number["flops"], number["bytes"]),),
                round(number["weights"]),
                round(number["held"]),
                round(number["output"]),
                round(number["weights"]),
                seconds,
            )
        )
    joined = tuple(at for at, row in enumerate(rows) if at and row.get("joined"))
    return ListedLayers(tuple(facts), joined)
