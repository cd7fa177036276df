from dataclasses import replace
from typing import Any

import pytest

from boundmark.benchmarks.running.execution.task import Task

TASK = Task(
    instance_sha256="a" * 64,
    problem="pipeline",
    method="slicegraph",
    method_version=1,
    params={"restarts": 3, "order": "kahn"},
    seed=0,
    time_limit_seconds=20,
    memory_limit_bytes=2**30,
    threads=1,
)


def test_task_id_is_independent_of_the_form_of_a_number_and_the_order_of_parameters() -> None:
    """20 and 20.0 seconds are the same limit."""
    same = replace(TASK, time_limit_seconds=20.0, params={"order": "kahn", "restarts": 3})
    assert same.task_id == TASK.task_id


@pytest.mark.parametrize(
    "change",
    [
        {"instance_sha256": "b" * 64},
        {"problem": "layout"},
        {"method": "brkga"},
        {"method_version": 2},
        {"params": {"restarts": 4, "order": "kahn"}},
        {"seed": 1},
        {"time_limit_seconds": 21.0},
        {"memory_limit_bytes": 2**31},
        {"threads": 2},
    ],
)
def test_task_id_depends_on_everything_else(change: dict[str, Any]) -> None:
    """No two different runs share an identity."""
    assert replace(TASK, **change).task_id != TASK.task_id


def test_a_task_survives_json() -> None:
    """What the runner sends is what the task's process receives."""
    assert Task.from_json(TASK.to_json()) == TASK
