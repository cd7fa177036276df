"""Solution files as people write them: CSV or JSON, by the names or the numbers of nodes."""

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from boundmark.benchmarks.solving.presentation import presentation_of
from boundmark.problems.arrays import plain_value
from boundmark.problems.catalog import problems
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import LARGEST_FILE, naming, read_bytes
from boundmark.problems.json_documents import json_value, without_repetition
from boundmark.problems.labels import names_of
from boundmark.problems.problem import Instance, Row, SolutionTable

# As it is in the file: what a node is called, and further cells that should be integers.
WrittenRow: TypeAlias = Sequence[object]

# Where further columns hold integers only.
NO_NAMES: Mapping[str, Sequence[str]] = {}

# Names in an error; more would be a page.
MOST_NAMED = 5


def read_solution_file(path: Path, table: SolutionTable | None) -> Any:
    """Return a file's contents: a list of written rows, or a JSON object."""
    content = read_bytes(path, "a solution", LARGEST_FILE)
    with naming(path):
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidInputError("expected text in UTF-8.") from error
        if not text.strip():
            raise InvalidInputError("the file is empty; expected a solution.")
        if path.suffix.lower() == ".csv":
            if table is None:
                raise InvalidInputError("solutions of this problem are JSON; found a CSV file.")
            return _csv_rows(text, table)
        try:
            value = json_value(text.encode(), without_repetition)
        except InvalidInputError as error:
            raise InvalidInputError(f"{error} CSV is read from files that end in .csv.") from error
        return _json_rows(value, table)


def written_solution(value: Any, table: SolutionTable | None) -> Any:
    """Read a solution from an object, as `read_solution_file` does from a file."""
    if is_frame(value):
        if table is None:
            raise InvalidInputError("solutions of this problem are no tables; found a frame.")
        missing = [name for name in table.columns if name not in value]
        if missing:
            raise InvalidInputError(
                f"the frame has no column {' or '.join(map(repr, missing))}; expected "
                f"{', '.join(table.columns)}."
            )
        columns = (map(_as_written, value[name].tolist()) for name in table.columns)
        return [list(cells) for cells in zip(*columns, strict=True)]
    if isinstance(value, Mapping):
        value = {
            name if isinstance(name, str) else str(plain_value(name)): _as_written(cell)
            for name, cell in value.items()
        }
    elif hasattr(value, "tolist"):
        value = value.tolist()
    elif isinstance(value, list | tuple):
        value = [plain_value(cell) for cell in value]
    else:
        raise InvalidInputError(
            f"the solution is {quoted(value)}; expected a pandas.DataFrame, a dict or a list."
        )
    return _json_rows(value, table)


def is_frame(value: object) -> bool:
    """Whether a value is a `pandas.DataFrame`; there is none as long as nobody imported pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def solution_of_rows(instance: Instance, written: Sequence[WrittenRow]) -> Any:
    """Return the solution that the rows of a table describe."""
    problem = problems()[instance.problem]
    assert problem.table is not None
    table = problem.table
    rows = numbered_rows(
        written, names_of(problem.naming, instance), table, table.value_names(instance)
    )
    return presentation_of(problem.name).completed(instance, table.solution(rows, instance))


def _as_written(cell: Any) -> Any:
    """Return a cell as a file would have it: an integer that a missing value made a float, too."""
    cell = plain_value(cell)
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def numbered_rows(
    written: Sequence[WrittenRow],
    names: Sequence[str],
    table: SolutionTable,
    value_names: Mapping[str, Sequence[str]] = NO_NAMES,
) -> list[Row]:
    """Return rows with the numbers of their nodes, each combination once, for all nodes.

    A node is called by its name, or by its number where no node has that for a name, and so is
    what has names in further columns.
    """
    known = _numbers(names)
    rows: dict[Row, Row] = {}
    strangers: list[str] = []
    what = table.columns[0]
    for cells in written:
        node = _node(cells[0], known, len(names))
        if node is None:
            strangers.append(quoted(cells[0]))
            continue
        numbers = [
            _value(cell, column, names[node], table.largest, value_names.get(column, ()))
            for column, cell in zip(table.columns[1:], cells[1:], strict=True)
        ]
        key = (node, *numbers[:-1])
        if key in rows:
            place = " ".join(map(str, numbers[:-1]))
            raise InvalidInputError(
                f"{what} {quoted(names[node])} {place}".rstrip()
                + f" has two rows; expected one {table.columns[-1]}."
            )
        rows[key] = (*key, numbers[-1])
    if strangers:
        no = f"is no {what}" if len(set(strangers)) == 1 else f"are no {what}s"
        raise InvalidInputError(
            f"there {no} {_some(strangers)} in the model; expected names "
            f"such as {quoted(names[0])}, or numbers from 0 to {len(names) - 1}."
        )
    there = {row[0] for row in rows}
    missing = [quoted(name) for number, name in enumerate(names) if number not in there]
    if missing:
        raise InvalidInputError(
            f"{len(missing)} of {len(names)} {what}s are left out: {_some(missing)}; "
            f"expected a {table.columns[-1]} for each."
        )
    return list(rows.values())


def _csv_rows(text: str, table: SolutionTable) -> list[WrittenRow]:
    expected = ",".join(table.columns)
    try:
        lines = [line for line in csv.reader(io.StringIO(text), strict=True) if line]
    except csv.Error as error:
        raise InvalidInputError(f"expected CSV, found {error}.") from error
    header = [cell.strip().lower() for cell in lines[0]]
    if header != list(table.columns):
        raise InvalidInputError(
            f"the first line is {quoted(','.join(lines[0]))}; expected the header {expected!r}."
        )
    for number, line in enumerate(lines[1:], 2):
        if len(line) != len(table.columns):
            raise InvalidInputError(f"row {number} has {len(line)} cells; expected {expected!r}.")
    if len(lines) == 1:
        raise InvalidInputError("there are no rows below the header; expected one per node.")
    return [[line[0], *(cell.strip() for cell in line[1:])] for line in lines[1:]]


def _json_rows(value: Any, table: SolutionTable | None) -> Any:
    """Return rows if a JSON value is a table in some form, else the object itself."""
    if isinstance(value, dict) and isinstance(value.get("solution"), dict):
        # What `boundmark solve --json` prints.
        value = value["solution"]
    if table is not None:
        if isinstance(value, dict) and len(value) == 1:
            # {"stages": {...}} is as good as {...}.
            (inner,) = value.values()
            value = inner if isinstance(inner, dict) else value
        if isinstance(value, list):
            return _rows_of_list(value, table)
        is_mapping = isinstance(value, dict) and "format" not in value
        if is_mapping and len(table.columns) == 2 and not _has_containers(value):
            return [[name, cell] for name, cell in value.items()]
    if not isinstance(value, dict):
        raise InvalidInputError(f"expected a JSON object, found {quoted(value)}.")
    return value


def _rows_of_list(value: list[Any], table: SolutionTable) -> list[WrittenRow]:
    rows: list[WrittenRow] = []
    for number, item in enumerate(value):
        if isinstance(item, dict):
            if set(item) != set(table.columns):
                raise InvalidInputError(
                    f"entry {number} has the fields {', '.join(map(quoted, item)) or 'none'}; "
                    f"expected {', '.join(table.columns)}."
                )
            rows.append([item[column] for column in table.columns])
        elif len(table.columns) == 2 and not isinstance(item, list):
            rows.append([number, item])
        else:
            raise InvalidInputError(
                f"entry {number} is {quoted(item)}; expected an object with the fields "
                f"{', '.join(table.columns)}."
            )
    if not rows:
        raise InvalidInputError("the list is empty; expected an entry per node.")
    return rows


def _has_containers(value: Mapping[str, Any]) -> bool:
    return any(isinstance(item, list | dict) for item in value.values())


def _node(cell: object, known: Mapping[str, int], nodes: int) -> int | None:
    if isinstance(cell, str):
        if cell in known:
            return known[cell]
        if cell.strip() in known:
            return known[cell.strip()]
        if not re.fullmatch(r"\d{1,18}", cell.strip(), re.ASCII):
            return None
        cell = int(cell)
    return cell if type(cell) is int and 0 <= cell < nodes else None


def _numbers(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


def _value(cell: object, column: str, name: str, largest: int, known: Sequence[str]) -> int:
    """Return the number that a cell stands for: by its name, or as an integer."""
    if not known:
        return _integer(cell, column, name, largest)
    number = _node(cell, _numbers(known), len(known))
    if number is None:
        raise InvalidInputError(
            f"{column} of {quoted(name)} is {quoted(cell)}; expected {_some(known)}, "
            f"or a number from 0 to {len(known) - 1}."
        )
    return number


def _integer(cell: object, column: str, name: str, largest: int) -> int:
    value = cell
    if isinstance(cell, str) and re.fullmatch(r"\d{1,30}", cell, re.ASCII):
        value = int(cell)
    if type(value) is not int or not 0 <= value <= largest:
        raise InvalidInputError(
            f"{column} of {quoted(name)} is {quoted(cell)}; "
            f"expected an integer from 0 to {largest}."
        )
    return value


def _some(names: Sequence[str]) -> str:
    shown = list(Counter(names))[:MOST_NAMED]
    more = len(set(names)) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
