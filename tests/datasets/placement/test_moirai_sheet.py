from pathlib import Path
from typing import Any

import pytest

from boundmark.datasets.placement.moirai import load_sheet, sheet_graph
from boundmark.problems.errors import InvalidInputError

HEADER = [
    "task", "c_task", "dir_succ", "dir_succ_add",
    "p0", "p1", "pc00", "pc01", "pc10", "pc11", "mi", "m0", "m1",
]  # fmt: skip

# The first one feeds the others: 3 and 5 by transfers that differ, 7 without any.
ROWS: list[list[Any]] = [
    [1.0, "", "3,5,7", "", 0.5, 2.0, "", "", "", "", 4.0, 8.0, 9.0],
    [3.0, "4,6", "5,7", "", 1.0, 0.25, "0,0", "1,2.5", "3,4", "0,0", 1.0, "", ""],
    [5.0, 8.0, 7.0, "", 1.0, 1.0, 0.0, 7.0, 7.0, 0.0, 1.0, "", ""],
    [7.0, "", "", "", 0.0, 0.0, "", "", "", "", 0.0, "", ""],
    [""] * 13,
    ["a comment", *[""] * 12],
]


def sheet(row: int | None = None, column: str = "", value: Any = None) -> list[list[Any]]:
    """Return a sheet with one cell changed."""
    rows = [list(cells) for cells in ROWS]
    if row is not None:
        rows[row][HEADER.index(column)] = value
    return [list(HEADER), *rows]


def test_a_sheet_by_hand() -> None:
    """Two decimals make ticks of a hundredth; only equal tables are one tensor; comments end it."""
    graph = sheet_graph(sheet())
    assert graph.names == ("1", "3", "5", "7")
    assert graph.duration.tolist() == [[50, 200], [100, 25], [100, 100], [0, 0]]
    assert (graph.memory.tolist(), graph.capacity.tolist()) == ([4, 1, 1, 0], [8, 9])
    tensors = list(zip(graph.producer.tolist(), graph.consumers, strict=True))
    assert tensors == [(0, (1, 2, 3)), (1, (2,)), (1, (3,)), (2, (3,))]
    assert [graph.times[size].tolist() for size in graph.size] == [
        [[0, 0], [0, 0]],
        [[0, 100], [300, 0]],
        [[0, 250], [400, 0]],
        [[0, 700], [700, 0]],
    ]


def without(column: str) -> list[list[Any]]:
    """Return the sheet without a column."""
    at = HEADER.index(column)
    return [cells[:at] + cells[at + 1 :] for cells in sheet()]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], "has no column 'task'; expected a Moirai sheet"),
        ([HEADER], "has no operators; expected one in each row"),
        (without("mi"), "has no column 'mi'"),
        (without("pc10"), "has no column 'pc10'; expected it for 2 devices"),
        (without("p0"), "has no column 'p0'; expected it for 1 devices"),
        (without("m1"), "has no column 'm1'"),
        ([[*cells, cells[4]] for cells in sheet()], "has two columns 'p0'; expected one"),
        ([["task", "dir_succ", "mi"]], "has 0 columns p0, p1"),
        (sheet(1, "task", "three"), "row 3 has the task 'three'; expected a number"),
        (sheet(1, "task", 1.5), "row 3: an id is '1.5'; expected an integer"),
        (sheet(1, "task", 1.0), "task 1 is listed twice; expected unique ids"),
        (sheet(5, "task", 9.0), "row 7 has an operator after the table's end in row 6"),
        (sheet(0, "dir_succ", "3,4"), "task 1 has the consumer 4; expected the id of an operator"),
        (sheet(0, "dir_succ", "3,x"), "row 2: an id is 'x'; expected a number"),
        (sheet(1, "c_task", "4"), "row 3: c_task names 1 transfers; expected .* the 2 consumers"),
        (sheet(1, "pc01", 1.0), "row 3: pc01 has 1 times; expected one for each of the 2 transf"),
        (sheet(2, "pc01", "far"), "row 4: pc01 is 'far'; expected a number from 0 to 10"),
        (sheet(2, "pc00", 1.0), "a tensor takes time from a device to itself; expected 0"),
        (sheet(0, "p1", ""), "row 2: p1 is ''; expected a number from 0 to 10"),
        (sheet(0, "p1", -1.0), "row 2: p1 is '-1.0'; expected a number from 0 to 10"),
        (sheet(0, "p1", "nan"), "row 2: p1 is 'nan'"),
        (sheet(0, "p1", "0.12345678912"), "has 11 digits after the decimal point; expected at mos"),
        (sheet(0, "p1", 1e15), "is more than 2.53 ticks; expected less, so use a coarser tick"),
        (sheet(0, "mi", 0.5), "row 2: mi is 0.5; expected an integer"),
        (sheet(0, "m1", ""), "row 2: m1 is ''"),
        (sheet(0, "mi", 10.0), "operator '1' takes 10 of memory, more than any device"),
        (sheet(3, "dir_succ", "1"), "cycle"),
    ],
)
def test_malformed_sheets(values: list[list[Any]], expected: str) -> None:
    """Errors name row and column, and what was expected."""
    if values and len(values[0]) == len(HEADER) and values[1:] and values[4][2] == "1":
        for pair in ("pc00", "pc01", "pc10", "pc11"):
            values[4][HEADER.index(pair)] = ""
    with pytest.raises(InvalidInputError, match=expected):
        sheet_graph(values)


def test_more_devices_than_column_names_can_tell_apart() -> None:
    """The column pc111 is about devices 1 and 11, or 11 and 1."""
    devices = range(12)
    pairs = dict.fromkeys(f"pc{d}{e}" for d in devices for e in devices)
    header = ["task", "dir_succ", "mi", *(f"{c}{d}" for d in devices for c in "pm"), *pairs]
    with pytest.raises(InvalidInputError, match="has 12 devices; expected at most 10"):
        sheet_graph([header])


def test_a_short_row() -> None:
    """Damaged files may have rows of any length."""
    with pytest.raises(InvalidInputError, match="row 2 has 3 cells; expected 13, one per column"):
        sheet_graph([HEADER, [1.0, "", "3"]])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty; expected a sheet"),
        (b"task,dir_succ\n", "expected an Excel file"),
        (b"PK\x03\x04", "expected an Excel file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "expected an Excel file"),
    ],
)
def test_other_files(content: bytes, expected: str, tmp_path: Path) -> None:
    """What is no Excel file is said to be none, with the file's name."""
    path = tmp_path / "sheet.xls"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=rf"sheet\.xls.*{expected}"):
        load_sheet(path)


def test_a_missing_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    path = tmp_path / "sheet.xls"
    path.write_bytes(b"x")
    monkeypatch.setitem(__import__("sys").modules, "xlrd", None)
    with pytest.raises(InvalidInputError, match=r"xlrd, .* not installed; .* extra 'sheets': pip"):
        load_sheet(path)
