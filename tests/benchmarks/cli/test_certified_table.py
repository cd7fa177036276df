"""What `report` prints."""

import json
from pathlib import Path

import pytest
from documented import append, hash_of

from boundmark.benchmarks.cli.certified_table import print_certified_table
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.tasks import certified_table


def add(
    store: ResultStore,
    problem: str,
    instance: str,
    objective: int,
    device: str = "",
    **params: int,
) -> None:
    """Store a task that found an objective, and proved a bound of 4."""
    name = f"{problem}-{instance}-{device}-{params}"
    append(
        store,
        {
            "task_id": name, "problem": problem, "dataset": "d", "instance": instance,
            "device": device,
            "instance_sha256": hash_of(name), "instance_params": json.dumps(params), "nodes": 7,
            "method": "m", "method_kind": "exact", "params": "{}", "status": "ok",
            "objective": objective, "bound_certified": 4,
            "started_at": "2026-01-02T03:04:05+00:00",
        },
        [],
    )  # fmt: skip


def test_a_table_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a column for every set of parameters, in their order, and means with their n."""
    store = ResultStore.create_or_open(tmp_path)
    add(store, "pipeline", "net", 6, k=2)
    add(store, "microbatch", "v", 5, memory=16)
    add(store, "microbatch", "v", 4, memory=4)
    add(store, "microbatch", "x", 5, memory=4)
    add(store, "other", "thing", 8)
    print_certified_table(certified_table(store.results()))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    heads = [words[0] for words in lines if words[1:3] == ["gap", "in"]]
    assert heads == ["microbatch:", "other:", "pipeline:"]
    assert ["memory", "memory"] in lines
    assert ["instance", "nodes", "4", "16"] in lines
    assert ["d/v", "7", "*", "25.0"] in lines
    assert ["geometric", "mean", "11.8", "25.0"] in lines
    assert ["instances", "2", "1"] in lines
    assert ["instance", "nodes", "gap"] in lines
    assert ["d/net", "7", "50.0"] in lines


def test_instances_of_one_label(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that was changed between two runs is two instances, with a part of their hashes."""
    store = ResultStore.create_or_open(tmp_path)
    for number, objective in enumerate((6, 5)):
        name = f"changed-{number}"
        append(
            store,
            {
                "task_id": name, "problem": "pipeline", "dataset": "file", "instance": "net.onnx",
                "device": "", "instance_sha256": hash_of(name), "instance_params": '{"k": 2}',
                "nodes": 7, "method": "m", "method_kind": "exact", "params": "{}", "status": "ok",
                "objective": objective, "bound_certified": 4,
                "started_at": "2026-01-02T03:04:05+00:00",
            },
            [],
        )  # fmt: skip
    certified = certified_table(store.results())
    assert sorted(certified["instance"]) == sorted(
        f"net.onnx ({hash_of(f'changed-{number}')[:6]})" for number in range(2)
    )
    print_certified_table(certified)
    text = capsys.readouterr().out
    assert "50.0" in text
    assert "25.0" in text


def test_many_columns_are_several_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names stay whole, no line is longer than the terminal, and no column is missing."""
    store = ResultStore.create_or_open(tmp_path)
    for memory in range(1, 20):
        add(store, "microbatch", "a-layout-with-quite-a-long-name", 5, memory=memory)
    print_certified_table(certified_table(store.results()))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line.split()[2:] for line in lines if line.startswith("instance  ")]
    assert [int(memory) for head in heads for memory in head] == list(range(1, 20))
    assert sum(line.startswith("d/a-layout-with-quite-a-long-name ") for line in lines) > 1


def test_devices_have_lines_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a graph has costs on several, they share a column and no line."""
    store = ResultStore.create_or_open(tmp_path)
    add(store, "pipeline", "net", 5, device="fast", k=2)
    add(store, "pipeline", "net", 6, device="slow", k=2)
    print_certified_table(certified_table(store.results()))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["d/net", "on", "fast", "7", "25.0"] in lines
    assert ["d/net", "on", "slow", "7", "50.0"] in lines
