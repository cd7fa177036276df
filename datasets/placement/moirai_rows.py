"""The rows of a Moirai sheet: an operator each.

It has its id (`task`), the ids of its consumers (`dir_succ`) and of the transfers to them
(`c_task`), its time on each device (`p0`, `p1`, ...), the time of each transfer from device X to
device Y (`pcXY`) and its memory (`mi`). The first row has the capacity of the devices, too (`m0`,
...). A cell holds a number, or several of them with commas in between.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.placement.graph import MOST_DEVICES
from boundmark.problems.quoted import quoted
from boundmark.problems.source_file import naming

Cell: TypeAlias = str | float
Row: TypeAlias = Mapping[str, Cell]

LARGEST_NUMBER = Decimal(10) ** 15


@dataclass(frozen=True)
class SheetOperator:
    """A row of the sheet.

    Attributes
    ----------
    name
        Its id.
    consumers
        Ids of the operators that read what it writes.
    times
        On each device, shape (D,).
    moves
        For each consumer the times of the transfer to it, from each device to each device, D * D of
        them.
    """

    name: str
    consumers: tuple[str, ...]
    times: tuple[Decimal, ...]
    moves: tuple[tuple[Decimal, ...], ...]
    memory: int


def read_rows(values: Sequence[Sequence[Cell]]) -> tuple[list[SheetOperator], list[int]]:
    """Return the operators and the capacity of each device.

    The columns say how many devices there are. The table ends at the first row whose id is no
    number; of what follows, only comments in the first column are allowed.

    Raises
    ------
    InvalidInputError
        If a column is missing, or a cell is not what it should be.
    """
    header, rows = _table(values)
    devices = _number_of_devices(header)
    operators = []
    for number, row in rows:
        with naming(f"row {number}"):
            operators.append(_operator(row, devices))
    if not operators:
        raise InvalidInputError("the sheet has no operators; expected one in each row.")
    with naming(f"row {rows[0][0]}"):
        return operators, [_integer(rows[0][1], f"m{device}") for device in range(devices)]


def _table(values: Sequence[Sequence[Cell]]) -> tuple[list[str], list[tuple[int, Row]]]:
    """Return the names of the columns, and each operator's row with its number in the sheet."""
    header = [str(cell).strip() for cell in values[0]] if values else []
    for name in ("task", "dir_succ", "mi"):
        if name not in header:
            raise InvalidInputError(f"the sheet has no column {name!r}; expected a Moirai sheet.")
    for name in header:
        if name and header.count(name) > 1:
            raise InvalidInputError(f"the sheet has two columns {name!r}; expected one.")
    rows: list[tuple[int, Row]] = []
    end = 0
    for number, cells in enumerate(values[1:], 2):
        if len(cells) != len(header):
            raise InvalidInputError(
                f"row {number} has {len(cells)} cells; expected {len(header)}, one per column."
            )
        row = dict(zip(header, cells, strict=True))
        if isinstance(row["task"], float):
            if end:
                raise InvalidInputError(
                    f"row {number} has an operator after the table's end in row {end}; "
                    "expected comments only."
                )
            rows.append((number, row))
            continue
        end = end or number
        if any(str(cell).strip() for cell in cells[1:]):
            raise InvalidInputError(
                f"row {number} has the task {quoted(row['task'])}; expected a number."
            )
    return header, rows


def _number_of_devices(header: Sequence[str]) -> int:
    """Return how many devices the columns are about; all columns have to be there."""
    devices = sum(re.fullmatch(r"p\d+", name) is not None for name in header)
    if not 1 <= devices <= MOST_DEVICES:
        raise InvalidInputError(
            f"the sheet has {devices} columns p0, p1, ...; expected 1 to {MOST_DEVICES} devices."
        )
    each = range(devices)
    pairs = [_pair(source, target) for source in each for target in each]
    for name in (*(f"p{d}" for d in each), *pairs, *(f"m{d}" for d in each)):
        if name not in header:
            raise InvalidInputError(
                f"the sheet has no column {name!r}; expected it for {devices} devices."
            )
    if len(set(pairs)) < len(pairs):
        raise InvalidInputError(
            f"the sheet has {devices} devices; expected at most 10, since pc111 may be a column "
            "of devices 1 and 11, or of 11 and 1."
        )
    return devices


def _pair(source: int, target: int) -> str:
    return f"pc{source}{target}"


def _operator(row: Row, devices: int) -> SheetOperator:
    consumers = tuple(_id(text) for text in _texts(row["dir_succ"]))
    moved = _texts(row.get("c_task", ""))
    if len(moved) not in (0, len(consumers)):
        raise InvalidInputError(
            f"c_task names {len(moved)} transfers; expected one for each of the {len(consumers)} "
            "consumers."
        )
    columns = []
    for source in range(devices):
        for target in range(devices):
            name = _pair(source, target)
            values = [_number(text, name) for text in _texts(row[name])]
            if len(values) != len(moved):
                raise InvalidInputError(
                    f"{name} has {len(values)} times; expected one for each of the {len(moved)} "
                    "transfers."
                )
            columns.append(values or [Decimal(0)] * len(consumers))
    return SheetOperator(
        name=_id(str(row["task"])),
        consumers=consumers,
        times=tuple(_single(row, f"p{device}") for device in range(devices)),
        moves=tuple(zip(*columns, strict=True)),
        memory=_integer(row, "mi"),
    )


def _texts(cell: Cell) -> list[str]:
    """Return the parts of a cell with several values; none for a blank one."""
    text = str(cell).strip()
    return [part.strip() for part in text.split(",")] if text else []


def _number(text: str, column: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("nan")
    if not (value.is_finite() and 0 <= value <= LARGEST_NUMBER):
        raise InvalidInputError(f"{column} is {quoted(text)}; expected a number from 0 to 10^15.")
    return value


def _single(row: Row, column: str) -> Decimal:
    return _number(str(row[column]).strip(), column)


def _integer(row: Row, column: str) -> int:
    value = _single(row, column)
    if value != int(value):
        raise InvalidInputError(f"{column} is {value}; expected an integer.")
    return int(value)


def _id(text: str) -> str:
    """Return the id of an operator, which Excel stores as 5.0 and people write as 5."""
    value = _number(text.strip(), "an id")
    if value != int(value):
        raise InvalidInputError(f"an id is {quoted(text)}; expected an integer.")
    return str(int(value))
