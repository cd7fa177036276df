"""Rows made by hand, two instances for tables, and synthetic runs with all sorts of outcome."""

import datetime as dt
import hashlib
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from documented import hash_of, made_up_documents_accepted
from one_row import BOUND

from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.parameters import with_parameter_columns
from boundmark.reports.tables.tasks import certified_table, with_names

Row = dict[str, Any]
MakeRow = Callable[..., Row]
Known = Callable[[list[Row]], tuple[pd.DataFrame, pd.DataFrame]]

START = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)

HEURISTICS = ("uniform", "slicegraph", "random-100", "brkga-100")
BOUNDS = ("max-work", "mean-work", "node-cut", "fractional-load")


@pytest.fixture(autouse=True, scope="module")
def _stand_ins_are_accepted() -> Iterator[None]:
    """Let made-up documents pass, and remember none of them; `stored` has tests of the checks."""
    with made_up_documents_accepted():
        yield


def _row(task_id: str, **values: Any) -> Row:
    """Return a complete row; the instance hash follows from data set, instance and k."""
    row: Row = {
        "task_id": task_id,
        "suite": "demo",
        "problem": "pipeline",
        "dataset": "zoo",
        "instance": "a",
        "k": 2,
        "nodes": 10,
        "edges": 12,
        "method": "uniform",
        "method_kind": "heuristic",
        "method_version": 1,
        "params": "{}",
        "seed": 1,
        "status": "ok",
        "exit_code": 0,
        "wall_seconds": 1.0,
        "cpu_seconds": 0.9,
        "time_limit_seconds": 10.0,
        "memory_limit_bytes": 2**31,
        "threads": 1,
        "started_at": START,
        "host": "here",
        "environment_sha256": "e" * 64,
    } | values
    k = row.pop("k")
    row.setdefault("instance_params", json.dumps({"k": k}))
    name = f"{row['dataset']}/{row['instance']}/{k}"
    row.setdefault("instance_sha256", hash_of(name))
    return row


@pytest.fixture
def make_row() -> MakeRow:
    """Return the function that makes a row: defaults, overridden by keyword."""
    return _row


@pytest.fixture
def frame(tmp_path: Path) -> Callable[[list[Row]], pd.DataFrame]:
    """Return the function that turns rows into results as the store returns them."""

    def stored(rows: list[Row]) -> pd.DataFrame:
        store = ResultStore.create_or_open(tmp_path / "frame")
        for row in rows:
            store.append(row, [])
        return store.results()

    return stored


@pytest.fixture
def rows(make_row: Any) -> list[Row]:
    """Return two instances a (UB 20, LB 10, simple bound 5) and b (UB 8 = LB, simple bound 4)."""
    return [
        make_row("a1", instance="a", method="uniform", objective=20),
        make_row("a2", instance="a", method="brkga", seed=1, objective=20),
        make_row("a3", instance="a", method="brkga", seed=2, objective=30),
        make_row("a4", instance="a", method="max-work", bound_certified=3, **BOUND),
        make_row("a5", instance="a", method="mean-work", bound_certified=5, **BOUND),
        make_row(
            "a6",
            instance="a",
            method="fractional-load",
            bound_certified=10,
            bound_kind="fractional-load/1",
            **BOUND,
        ),
        make_row("b1", instance="b", method="uniform", status="oom", wall_seconds=0.5),
        make_row("b2", instance="b", method="brkga", seed=1, objective=8),
        make_row("b3", instance="b", method="max-work", bound_certified=4, **BOUND),
        make_row("b4", instance="b", method="mean-work", bound_certified=2, **BOUND),
        make_row(
            "b5",
            instance="b",
            method="fractional-load",
            status="timeout",
            wall_seconds=10.5,
            bound_certified=8,
            **BOUND,
        ),
        make_row(
            "b6",
            instance="b",
            method="mip",
            method_kind="exact",
            bound_claimed=6.0,
            objective=16,
        ),
    ]


@pytest.fixture
def known(frame: Any) -> Known:
    """Return the function that makes tasks and certified table of rows, with parameter columns."""

    def tables(rows: list[Row]) -> tuple[pd.DataFrame, pd.DataFrame]:
        results = frame(rows)
        return with_parameter_columns(with_names(results)), certified_table(results)

    return tables


@pytest.fixture
def tasks(rows: Any, known: Known) -> pd.DataFrame:
    """Return the two instances' tasks."""
    return known(rows)[0]


@pytest.fixture
def certified(rows: Any, known: Known) -> pd.DataFrame:
    """Return what is known of the two instances."""
    return known(rows)[1]


@pytest.fixture(scope="session")
def synthetic() -> Callable[..., list[tuple[Row, list[Row]]]]:
    """Return the function that makes a whole run with traces."""
    return synthetic_run


def synthetic_run(
    members: int = 6,
    ks: tuple[int, ...] = (2, 8, 64),
    datasets: tuple[str, ...] = ("onnx-light", "regal-style"),
    seeds: tuple[int, ...] = (1, 2),
    failing: float = 0.1,
) -> list[tuple[Row, list[Row]]]:
    """Return rows and traces: bounds below, solutions above a known optimum, some tasks failed."""
    rng = random.Random(1)
    run: list[tuple[Row, list[Row]]] = []
    for dataset in datasets:
        for member in range(members):
            nodes = int(60 * 1.25**member)
            for k in ks:
                optimum = rng.randint(10**6, 10**7) // k
                common = {
                    "dataset": dataset,
                    "instance": f"graph-{member}",
                    "k": k,
                    "nodes": nodes,
                    "edges": 2 * nodes,
                }
                for at, method in enumerate(BOUNDS):
                    value = int(optimum * rng.uniform(0.3 + 0.15 * at, 0.65 + 0.1166 * at))
                    values = {"bound_certified": value, "bound_kind": f"{method}/1"}
                    run.append(
                        _task(rng, common, method, "bound", 1, values, 1e-6 * nodes**1.5, failing)
                    )
                run.append(
                    _task(
                        rng,
                        common,
                        "exact",
                        "exact",
                        1,
                        {
                            "bound_claimed": optimum * rng.uniform(0.9, 1.0) - 0.001,
                            "objective": int(optimum * rng.uniform(1.0, 1.1)),
                        },
                        1e-2 * nodes,
                        4 * failing,
                    )
                )
                for at, method in enumerate(HEURISTICS):
                    for seed in seeds if "-" in method else seeds[:1]:
                        value = max(optimum, int(optimum * rng.uniform(1.0, 1.5 - 0.12 * at)))
                        run.append(
                            _task(
                                rng,
                                common,
                                method,
                                "heuristic",
                                seed,
                                {"objective": value},
                                1e-5 * nodes * 4**at,
                                failing,
                            )
                        )
    return run


def _task(
    rng: random.Random,
    common: Row,
    method: str,
    kind: str,
    seed: int,
    values: Row,
    seconds: float,
    failing: float,
) -> tuple[Row, list[Row]]:
    name = f"{common['dataset']}/{common['instance']}/{common['k']}/{method}/{seed}"
    seconds *= rng.uniform(0.5, 2.0)
    outcome: Row = {"status": "ok", "wall_seconds": seconds}
    if rng.random() < failing:
        status = rng.choice(("timeout", "oom", "crashed", "error", "unsupported"))
        outcome = {"status": status, "wall_seconds": 10.1 if status == "timeout" else seconds}
        if status == "crashed":
            outcome |= {"exit_code": None, "exit_signal": 11}
        if status == "error":
            outcome |= {"exit_code": 1, "stderr_tail": "Traceback\nValueError: <no> | luck\n"}
        if status == "unsupported":
            outcome |= {"status_detail": "needs a licence of the solver"}
        if status != "timeout":
            values = {}
    row = _row(
        hashlib.sha256(name.encode()).hexdigest(),
        **common,
        method=method,
        method_kind=kind,
        seed=seed,
        **values,
        **outcome,
    )
    trace = []
    for column, event in (
        ("objective", "solution"),
        ("bound_certified", "bound_certified"),
        ("bound_claimed", "bound_claimed"),
    ):
        if column in values:
            first = values[column] * (1.3 if event == "solution" else 0.7)
            trace += [
                {"seconds": 0.3 * row["wall_seconds"], "kind": event, "value": first},
                {"seconds": 0.8 * row["wall_seconds"], "kind": event, "value": values[column]},
            ]
    return row, trace
