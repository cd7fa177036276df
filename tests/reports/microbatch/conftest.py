"""Results of `microbatch`, with their stored instances and schedules."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from documented import append
from schedules import one_after_another, v_shape

from boundmark.problems.problem import solution_document
from boundmark.reports.stored.store import ResultStore, write_document

Add = Callable[..., None]


@pytest.fixture
def add(make_row: Any) -> Add:
    """Return the function that stores a task on a V with 4 devices."""

    def add_task(
        store: ResultStore,
        task_id: str,
        found: Any = None,
        memory: int = 8,
        micro_batches: int = 0,
        found_at: Sequence[tuple[float, int]] = (),
        **values: Any,
    ) -> None:
        instance, schedule = (found or v_shape)(memory, micro_batches)
        assert write_document(store.instances, instance.to_json()) == instance.sha256
        if found:
            objective = instance.objective(schedule)
            document = solution_document(instance, schedule, objective)
            values["objective"] = objective
            values["solution_sha256"] = write_document(store.solutions, document)
        row = {
            "problem": "microbatch",
            "dataset": "shapes",
            "instance": "v-4-train",
            "instance_sha256": instance.sha256,
            "instance_params": json.dumps(instance.parameters),
            "nodes": instance.nodes,
            "edges": instance.edges,
            "method": "modulo",
            "method_kind": "exact",
        }
        events = [
            {"task_id": task_id, "seconds": seconds, "kind": "solution", "value": float(value)}
            for seconds, value in found_at
        ]
        append(store, make_row(task_id, **(row | values)), events)

    return add_task


@pytest.fixture
def store(tmp_path: Path, add: Add) -> ResultStore:
    """Return a folder in which every sort of outcome occurs."""
    store = ResultStore.create_or_open(tmp_path)
    naive: Any = {"method": "naive", "method_kind": "heuristic", "wall_seconds": 0.5}
    load: Any = {"method": "device-load", "method_kind": "bound", "bound_kind": "load/1"}
    slow: Any = {"method": "slow", "method_kind": "heuristic"}
    failed: Any = {"status": "timeout", "wall_seconds": 12.0}
    add(store, "a1", v_shape, wall_seconds=0.1)
    add(store, "a2", one_after_another, **naive)
    add(store, "a3", bound_certified=4, **load)
    add(store, "a4", **slow, **failed)
    add(store, "b1", v_shape, memory=4, wall_seconds=0.2, bound_claimed=3.0)
    add(store, "b2", one_after_another, memory=4, **naive)
    add(store, "b3", memory=4, bound_certified=3, **load)
    add(store, "b4", memory=4, status="unsupported", **slow)
    add(store, "c1", v_shape, micro_batches=6, bound_certified=36, bound_kind="head/1")
    add(store, "c2", one_after_another, micro_batches=6, **naive)
    add(store, "d0", memory=1, **failed)
    add(store, "d1", one_after_another, memory=1, **naive)
    return store
