"""`moirai`: the sample instances that Moirai's authors published, sheets of Excel files.

The files are sample-data/*.xls of moirai-placement/moirai ([MOIRAI24]). A row is an operator. It
has its id (`task`), the ids of its consumers (`dir_succ`) and of the transfers to them
(`c_task`), its time on each device (`p0`, `p1`, ...), the time of each transfer from device X to
device Y (`pcXY`) and its memory (`mi`). The first row has the capacity of the devices, too (`m0`,
...). A cell holds a number, or several of them with commas in between.
"""

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TypeAlias

import numpy as np

from boundmark.datasets.file_format import FileFormat
from boundmark.datasets.resolve import published_file
from boundmark.problems.arrays import frozen
from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import InvalidInputError, extra_with, find, quoted
from boundmark.problems.files import naming, read_bytes
from boundmark.problems.placement import PlacementGraph
from boundmark.problems.placement.graph import MOST_DEVICES

FILES = {"example-1": "example-1.xls", "googlenet": "GoogLeNet.xls"}


def load(member: str) -> PlacementGraph:
    """Read a sheet from the user's folder of published data.

    Raises
    ------
    UnknownNameError
        If it is none of the two.
    InvalidInputError
        If the file is not there, or not what it should be.
    """
    name = find("graph in moirai", member, FILES)
    return load_sheet(published_file("moirai", name))


DATASET = Dataset(
    name="moirai",
    source=PlacementGraph,
    summary="Two samples published with Moirai, with costs; the files are not included.",
    members=lambda: tuple(FILES),
    load=load,
)


# Digits after the decimal point that times may have; each makes ticks ten times finer.
MOST_DECIMALS = 9


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


def load_sheet(path: str | Path) -> PlacementGraph:
    """Read a sheet as `sheet_graph` does."""
    path = Path(path)
    content = read_bytes(path, "a sheet")
    with naming(path):
        return sheet_graph(_first_sheet(content))


def _first_sheet(content: bytes) -> list[list[Cell]]:
    try:
        import xlrd
    except ImportError as error:
        raise InvalidInputError(
            f"the package xlrd, which reads .xls files, is not installed{extra_with('xlrd')}."
        ) from error

    # The package would print its log among a program's answers.
    silence = io.StringIO()
    try:
        sheet = xlrd.open_workbook(file_contents=content, logfile=silence).sheet_by_index(0)
    except Exception as error:
        # The package raises whatever damaged bytes lead to: struct.error, KeyError, and so on.
        raise InvalidInputError(f"expected an Excel file (.xls), found other bytes: {error}") from (
            error
        )
    return [sheet.row_values(at) for at in range(sheet.nrows)]


def sheet_graph(values: Sequence[Sequence[Cell]]) -> PlacementGraph:
    """Return the graph that rows of cells describe.

    Operators are numbered as they are listed, and called by their ids. A tick is the power of ten
    at which all times are integers. Consumers to which the transfers take the same times read one
    tensor, others tensors of their own. Transfers without times take none.
    """
    return _graph(*read_rows(values))


def _graph(operators: Sequence[SheetOperator], capacity: list[int]) -> PlacementGraph:
    number = {operator.name: at for at, operator in enumerate(operators)}
    if len(number) < len(operators):
        names = [operator.name for operator in operators]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInputError(f"task {twice} is listed twice; expected unique ids.")
    # Consumers of a producer that have equal tables of times read one tensor.
    tensors: dict[tuple[int, tuple[Decimal, ...]], set[int]] = {}
    for at, operator in enumerate(operators):
        for consumer, table in zip(operator.consumers, operator.moves, strict=True):
            if consumer not in number:
                raise InvalidInputError(
                    f"task {operator.name} has the consumer {consumer}; "
                    "expected the id of an operator."
                )
            tensors.setdefault((at, table), set()).add(number[consumer])
    decimals = _decimals(operators)
    tables = {table: at for at, table in enumerate(dict.fromkeys(table for _, table in tensors))}
    span = len(capacity)
    ticks = [[int(time.scaleb(decimals)) for time in table] for table in tables]
    return PlacementGraph(
        duration=frozen(
            [[int(time.scaleb(decimals)) for time in operator.times] for operator in operators]
        ),
        memory=frozen([operator.memory for operator in operators]),
        capacity=frozen(capacity),
        producer=frozen([producer for producer, _ in tensors]),
        consumers=tuple(tuple(sorted(readers)) for readers in tensors.values()),
        size=frozen([tables[table] for _, table in tensors]),
        times=frozen(np.array(ticks, dtype=np.int64).reshape(-1, span, span)),
        names=tuple(number),
        device_names=tuple(map(str, range(span))),
    )


def _decimals(operators: Sequence[SheetOperator]) -> int:
    """Return how many digits after the decimal point all times need."""
    most = 0
    for operator in operators:
        for time in (*operator.times, *(time for table in operator.moves for time in table)):
            exponent = time.normalize().as_tuple().exponent
            assert isinstance(exponent, int)
            most = max(most, -exponent)
    if most > MOST_DECIMALS:
        raise InvalidInputError(
            f"a time has {most} digits after the decimal point; expected at most {MOST_DECIMALS}."
        )
    return most


def read_rows(values: Sequence[Sequence[Cell]]) -> tuple[list[SheetOperator], list[int]]:
    """Return the operators and the capacity of each device.

    The columns say how many devices there are. The table ends at the first row whose id is no
    number; of what follows, only comments in the first column are allowed.
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
    """Return the comma-separated values of a cell."""
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


FORMAT = FileFormat("Moirai sheet", (".xls",), load_sheet)
