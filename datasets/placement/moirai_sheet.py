"""Instances of device placement as Moirai's authors write them: a sheet of an Excel file."""

import io
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np

from boundmark.datasets.placement.moirai_rows import Cell, SheetOperator, read_rows
from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.placement import PlacementGraph
from boundmark.problems.source_file import naming, read_bytes

# Digits after the decimal point that times may have; each makes ticks ten times finer.
MOST_DECIMALS = 9


def load(path: str | Path) -> PlacementGraph:
    """Read a sheet; `sheet_graph` says what is made of it.

    Raises
    ------
    InvalidInputError
        If the file is no Excel file (.xls), or the package that reads them is not installed, or the
        sheet is not what it should be.
    """
    path = Path(path)
    content = read_bytes(path, "a sheet")
    with naming(path):
        return sheet_graph(_first_sheet(content))


def _first_sheet(content: bytes) -> list[list[Cell]]:
    try:
        import xlrd
    except ImportError as error:
        raise InvalidInputError(
            "the package xlrd is not installed; expected boundmark[sheets] to read .xls files."
        ) from error

    # What the package has to say would be printed among a program's answers.
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

    Raises
    ------
    InvalidInputError
        If the rows are not what they should be.
    """
    return _graph(*read_rows(values))


def _graph(operators: Sequence[SheetOperator], capacity: list[int]) -> PlacementGraph:
    number = {operator.name: at for at, operator in enumerate(operators)}
    if len(number) < len(operators):
        names = [operator.name for operator in operators]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInputError(f"task {twice} is listed twice; expected unique ids.")
    # Of a producer, the consumers with equal tables of times read one tensor.
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
