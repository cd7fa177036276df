"""The dictionary of columns."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from documented import append
from drawing import nothing_drawn
from tiny_instances import larger

from boundmark.problems.catalog import problems
from boundmark.reports.dictionary import (
    STORED,
    about,
    column_of,
    columns_of,
    common,
    described,
    of_problems,
)
from boundmark.reports.report import ReportOptions, write_report
from boundmark.reports.stored.store import ResultStore, write_document


def test_problems_have_entries_of_their_own() -> None:
    """Where there are none, the common ones are not taken for them."""
    assert sorted(of_problems()) == ["microbatch", "ordering", "pipeline", "placement", "slicing"]
    assert not {name for own in of_problems().values() for name in own["tables"]} & {"results/*"}


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory, synthetic: Any) -> dict[str, pa.Schema]:
    """Return the schemas of a report's tables by name."""
    directory = tmp_path_factory.mktemp("described")
    store = ResultStore.create_or_open(directory)
    for row, trace in synthetic(members=1):
        append(store, row, trace)
    with nothing_drawn():
        write_report(directory, ["md"], options=ReportOptions(baseline="uniform"))
    folder = directory / "tables"
    return {
        str(path.relative_to(folder).with_suffix("")): pq.read_schema(path)
        for path in folder.rglob("*.parquet")
    }


def test_every_column_says_what_it_is(schemas: dict[str, pa.Schema]) -> None:
    """In the file itself, with the table's purpose and problem."""
    for name, schema in schemas.items():
        assert schema.metadata[b"about"], name
        if "/" in name:
            assert schema.metadata[b"problem"] == b"pipeline"
        for field in schema:
            assert (field.metadata or {}).get(b"meaning"), f"{name}.{field.name}"
    assert schemas["certified"].field("objective").metadata[b"unit"] == b"ticks"


@pytest.mark.usefixtures("undrawn")
def test_every_column_of_every_problem_is_known(tmp_path: Path, make_row: Any) -> None:
    """Tables have the same columns whatever is in them; so two failures and a bound do."""
    store = ResultStore.create_or_open(tmp_path)
    found = {"method": "b", "method_kind": "bound", "bound_certified": 1, "bound_kind": "b/1"}
    for problem in problems():
        instance = larger(problem)
        facts = {
            "problem": problem, "nodes": instance.nodes, "edges": instance.edges,
            "instance_sha256": write_document(store.instances, instance.to_json()),
            "instance_params": json.dumps(instance.parameters),
        }  # fmt: skip
        for task, values in (("a", {"method": "a"}), ("b", found), ("c", {"method": "c"})):
            append(store, make_row(f"{problem}-{task}", **facts, **values), [])
    write_report(tmp_path, ["md"])
    for problem in problems():
        tables = sorted((tmp_path / "tables" / problem).glob("*.parquet"))
        assert len(tables) > 5
        for path in tables:
            name, schema = f"{problem}/{path.stem}", pq.read_schema(path)
            with suppress(KeyError):
                assert schema.names == columns_of(name), name
            assert all((field.metadata or {}).get(b"meaning") for field in schema), name
            assert about(name), name


def test_tables_have_the_columns_that_are_declared(schemas: dict[str, pa.Schema]) -> None:
    """In their order; that of instances has a column for each of their parameters too."""
    declared = {"certified": 1, "failures": 0, "contradicted_claims": 0}
    declared |= dict.fromkeys(
        (
            f"pipeline/{name}"
            for name in (
                "method_gaps",
                "method_statistics",
                "pairs",
                "speedup_means",
                "speedups",
            )
        ),
        0,
    )
    for name, parameters in declared.items():
        columns = schemas[name].names
        assert columns[: len(columns) - parameters] == columns_of(name)
    assert columns_of("microbatch/schedules")[:2] == ["dataset", "instance"]
    with pytest.raises(KeyError):
        columns_of("history")


def test_no_entry_is_about_nothing(schemas: dict[str, pa.Schema]) -> None:
    """What any problem's tables have in common is in one of them, or in a stored file."""
    found = {name for schema in (*schemas.values(), *STORED.values()) for name in schema.names}
    assert [name for name in common()["columns"] if name not in found] == []


def test_types_do_not_depend_on_the_data(schemas: dict[str, pa.Schema]) -> None:
    """Whether values are missing, or there are none at all: the type is the dictionary's."""
    assert schemas["unsupported"].field("value").type == pa.int64()
    assert schemas["certified"].field("optimal").type == pa.bool_()
    assert schemas["pipeline/bounds_by_k"].field("oom").type == pa.int64()
    for schema in schemas.values():
        assert not any(pa.types.is_null(field.type) for field in schema)


def test_a_word_may_mean_something_else_in_a_table() -> None:
    """The table's own meaning comes before the common one; parameters are known by their prefix."""
    usual, own = column_of("pipeline/methods", "bound"), column_of("certified", "optimal")
    assert usual is not None
    assert own is not None
    assert (usual.type, own.type) == ("int64", "bool")
    parameter = column_of("x/y", "param_devices")
    assert parameter is not None
    assert parameter.meaning == "Parameter devices of the instance."
    assert column_of("x/y", "of my own") is None


def test_values_that_do_not_fit_keep_their_type() -> None:
    """A table of somebody else's problem may use a name for something else."""
    frame = pd.DataFrame({"value": ["a"], "objective": [1.5], "mine": [1]})
    assert described("other/table", frame).to_pylist() == frame.to_dict("records")
