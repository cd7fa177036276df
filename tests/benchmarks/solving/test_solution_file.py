"""Solutions in files: every form means the same, and every mistake is a sentence."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.benchmarks.solving.solution_file import numbered_rows, read_solution_file
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.microbatch.schedule import TABLE as SCHEDULES
from boundmark.problems.pipeline.instance import TABLE as PARTITIONS
from boundmark.problems.placement.schedule import TABLE as PLACEMENTS
from boundmark.problems.slicing.plan import TABLE as SLICES

NAMES = ("conv", "relu, 1", "7", "[red]x[/red]")
ROWS = [(0, 0), (1, 0), (2, 1), (3, 2)]


def read(path: Path, names: tuple[str, ...] = NAMES) -> list[tuple[int, ...]]:
    """Return a file's rows, by number."""
    return numbered_rows(read_solution_file(path, PARTITIONS), names, PARTITIONS)


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".csv", 'operator,stage\nconv,0\n"relu, 1",0\n7,1\n[red]x[/red],2\n'),
        (".csv", "\ufeffOperator, Stage\r\n[red]x[/red], 2\r\n\r\n7,1\r\n0,0\r\n1,0\r\n"),
        (".json", json.dumps({"conv": 0, "relu, 1": 0, "7": 1, "[red]x[/red]": 2})),
        (".json", json.dumps({"stages": {"conv": 0, "1": 0, "7": 1, "3": 2}})),
        (".json", "[0, 0, 1, 2]"),
        (
            ".json",
            json.dumps([{"operator": NAMES[v], "stage": stage} for v, stage in reversed(ROWS)]),
        ),
        (".json", json.dumps({"solution": {"conv": 0, "1": 0, "7": 1, "3": 2}, "gap": 0.5})),
    ],
)
def test_forms(tmp_path: Path, suffix: str, text: str) -> None:
    """Names come before numbers; order, blanks and blank lines do not matter."""
    path = tmp_path / f"solution{suffix}"
    path.write_text(text, encoding="utf-8")
    assert sorted(read(path)) == ROWS


BAD = [
    (".csv", "", "is empty; expected a solution"),
    (".csv", " \n\n", "the file is empty; expected a solution"),
    (".csv", "operator,stage\n", "there are no rows below the header"),
    (".csv", "op,stage\nconv,0\n", "the first line is 'op,stage'; expected the header"),
    (".csv", "conv,0\nrelu,1\n", "the first line is 'conv,0'; expected the header"),
    (".csv", "operator,stage\nconv\n", "row 2 has 1 cells"),
    (".csv", "operator,stage\nconv,0,1\n", "row 2 has 3 cells"),
    (".csv", 'operator,stage\n"conv,0\n', "expected CSV, found"),
    (".csv", "operator,stage\nconv,nan\n", "stage of 'conv' is 'nan'; expected an integer"),
    (".csv", "operator,stage\nconv,1.0\n", "stage of 'conv' is '1.0'; expected an integer"),
    (".csv", "operator,stage\nconv,-1\n", "stage of 'conv' is '-1'; expected an integer"),
    (".csv", f"operator,stage\nconv,{10**12}\n", f"is '{10**12}'; expected an integer from 0 to"),
    (".csv", f"operator,stage\nconv,{'9' * 5000}\n", "...; expected an integer from 0 to 1048575"),
    (".csv", "operator,stage\nconv,٣\n", "expected an integer from 0 to 1048575"),
    (".csv", "operator,stage\nconv,0\nconv,1\n", "operator 'conv' has two rows"),
    (".csv", "operator,stage\nconv,0\n0,0\n", "operator 'conv' has two rows"),
    (
        ".csv",
        "operator,stage\nconv,0\nbogus,0\nother,1\n",
        "there are no operators 'bogus', 'other' in the model; expected names such as 'conv'",
    ),
    (".csv", "operator,stage\nbogus\x1b[2J,0\n", r"there is no operator 'bogus\x1b[2J'"),
    (".csv", "operator,stage\n4,0\n", "there is no operator '4' in the model"),
    (
        ".csv",
        "operator,stage\nconv,0\n7,1\n",
        "2 of 4 operators are left out: 'relu, 1', '[red]x[/red]'; expected a stage for each",
    ),
    (".json", "{", "CSV is read from files that end in .csv"),
    (".json", "[" * 100_000, "the JSON is nested too deeply to be read"),
    (".json", "3", "expected a JSON object, found 3"),
    (".json", "[]", "the list is empty"),
    (".json", "[0, 0, 1]", "1 of 4 operators are left out: '[red]x[/red]'"),
    (".json", "[0, 0, 1, NaN]", "is nan; expected an integer from 0"),
    (".json", "[0, 0, 1, true]", "is True; expected an integer from 0"),
    (".json", "[0, 0, 1, [2]]", "entry 3 is [2]; expected an object with the fields operator, st"),
    (".json", '[{"operator": "conv"}]', "entry 0 has the fields 'operator'; expected operator, st"),
    (".json", '{"conv": 0, "7": 1, "conv": 1}', "an object has 'conv' twice; expected it once"),
    (".csv", "operator,stage\n\0,0\n", ""),
    (".csv", f"operator,stage\n{'x' * 200_000},0\n", "expected CSV, found field larger than"),
    (".json", '{"conv": 0.5}', "stage of 'conv' is 0.5; expected an integer"),
    (".json", '{"conv": null}', "stage of 'conv' is None; expected an integer"),
]


@pytest.mark.parametrize(("suffix", "text", "message"), BAD)
def test_mistakes(tmp_path: Path, suffix: str, text: str, message: str) -> None:
    """The message names the file, what is there, and what was expected."""
    path = tmp_path / f"mine{suffix}"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        read(path)
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


def test_no_text(tmp_path: Path) -> None:
    """Binary files are refused."""
    path = tmp_path / "mine.csv"
    path.write_bytes(b"operator,stage\n\xff\xfe,0\n")
    with pytest.raises(InvalidInputError, match="expected text in UTF-8"):
        read(path)


def test_no_files(tmp_path: Path) -> None:
    """What has no end is not read to it."""
    for path in (Path("/dev/zero"), tmp_path, tmp_path / "none.csv"):
        with pytest.raises(InvalidInputError, match=f"^{path}"):
            read(path)


def test_csv_without_a_table(tmp_path: Path) -> None:
    """A problem that declares no table has JSON solutions only."""
    path = tmp_path / "mine.csv"
    path.write_text("operator,stage\nconv,0\n")
    with pytest.raises(InvalidInputError, match="solutions of this problem are JSON"):
        read_solution_file(path, None)


def test_three_columns(tmp_path: Path) -> None:
    """A schedule has one start for each block of each micro-batch."""
    path = tmp_path / "mine.csv"
    path.write_text("block,micro_batch,start\nF0,0,0\nF1,0,3\nF0,1,1\nF1,1,5\n")
    rows = numbered_rows(read_solution_file(path, SCHEDULES), ("F0", "F1"), SCHEDULES)
    assert SCHEDULES.solution(rows, SimpleNamespace(nodes=2)).starts.tolist() == [[0, 3], [1, 5]]
    path.write_text("block,micro_batch,start\nF0,0,0\nF1,0,3\nF0,1,1\n")
    rows = numbered_rows(read_solution_file(path, SCHEDULES), ("F0", "F1"), SCHEDULES)
    with pytest.raises(InvalidInputError, match="block 1 of micro-batch 1 has no start"):
        SCHEDULES.solution(rows, SimpleNamespace(nodes=2))
    path.write_text("block,micro_batch,start\nF0,1,0\nF1,0,3\nF0,1,1\n")
    with pytest.raises(InvalidInputError, match="block 'F0' 1 has two rows"):
        numbered_rows(read_solution_file(path, SCHEDULES), ("F0", "F1"), SCHEDULES)


@given(stages=st.lists(st.integers(0, 50), min_size=1, max_size=12))
def test_stages_used(stages: list[int]) -> None:
    """Without a number of stages, it is the number of those used, in the same order."""
    partition = PARTITIONS.solution(list(enumerate(stages)), SimpleNamespace(nodes=len(stages)))
    meant, implied = PARTITIONS.implied(partition)
    assert implied == {"k": len(set(stages))}
    found = meant.stages.tolist()
    assert sorted(set(found)) == list(range(len(set(stages))))
    for a, stage in enumerate(stages):
        for b, other in enumerate(stages):
            assert (stage < other) == (found[a] < found[b])


def test_rows_are_those_of_the_solution() -> None:
    """What a table says of a solution makes the same solution again."""
    partition = PARTITIONS.solution([(1, 3), (0, 1), (2, 0)], SimpleNamespace(nodes=3))
    assert list(PARTITIONS.rows(partition)) == [(0, 1), (1, 3), (2, 0)]
    schedule = SCHEDULES.solution([(0, 0, 4), (1, 0, 2)], SimpleNamespace(nodes=2))
    assert sorted(SCHEDULES.rows(schedule)) == [(0, 0, 4), (1, 0, 2)]


def test_nan_is_no_stage() -> None:
    """Whatever reader it comes from."""
    rows: list[Any] = [["conv", math.nan]]
    with pytest.raises(InvalidInputError, match="is nan"):
        numbered_rows(rows, ("conv",), PARTITIONS)


def test_values_by_name(tmp_path: Path) -> None:
    """Devices go by their names, and by numbers where no device is called so."""
    path = tmp_path / "mine.csv"
    named = {"device": ("B", "gpu 0", "1")}
    path.write_text("operator,device\na,B\nb, gpu 0\nc,1\nd,0\n")
    rows = numbered_rows(read_solution_file(path, PLACEMENTS), tuple("abcd"), PLACEMENTS, named)
    assert rows == [(0, 0), (1, 1), (2, 2), (3, 0)]
    path.write_text("operator,device\na,B\nb,3\n")
    with pytest.raises(
        InvalidInputError,
        match="device of 'b' is '3'; expected B, gpu 0, 1, or a number from 0 to 2",
    ):
        numbered_rows(read_solution_file(path, PLACEMENTS), ("a", "b"), PLACEMENTS, named)


def test_slices_add_up() -> None:
    """Parts follow each other in the order of the devices, and none may be missing."""
    graph = SimpleNamespace(names=("conv", "fc"), devices=3, length=[8, 5])
    instance = SimpleNamespace(nodes=2, graph=graph)
    plan = SLICES.solution([(1, 2, 1), (0, 1, 8), (1, 0, 4)], instance)
    assert plan.vectors.tolist() == [[0, 0, 8, 8], [0, 4, 4, 5]]
    assert sorted(SLICES.rows(plan)) == [(0, 1, 8), (1, 0, 4), (1, 2, 1)]
    with pytest.raises(InvalidInputError, match="'fc' have 4 indices together; expected 5"):
        SLICES.solution([(0, 1, 8), (1, 0, 4)], instance)
    with pytest.raises(InvalidInputError, match="'conv' is sliced for device 3; expected devices"):
        SLICES.solution([(0, 3, 8), (1, 0, 5)], instance)
