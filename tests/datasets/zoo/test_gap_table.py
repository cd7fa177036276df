"""The generator of the table in docs/zoo-gaps.md."""

import importlib.util
from pathlib import Path

import pandas as pd

SCRIPT = Path(__file__).parents[3] / "docs" / "tables" / "zoo_gaps.py"


def test_gaps_are_those_of_the_best_rows() -> None:
    """Whoever found cost and bound; equal ones are optimal, and what is missing is said to be."""
    spec = importlib.util.spec_from_file_location("zoo_gaps", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = pd.DataFrame(
        [
            ("resnet-18", '{"k": 4}', 12, None),
            ("resnet-18", '{"k": 4}', 11, 9),
            ("resnet-18", '{"k": 4}', None, 10),
            ("resnet-18", '{"k": 16}', 5, 5),
            ("alexnet", '{"k": 16}', 5, None),
        ],
        columns=["instance", "instance_params", "objective", "bound_certified"],
    ).astype({"objective": "Int64", "bound_certified": "Int64"})
    assert module.gap_table(rows).splitlines() == [
        "| graph | nodes | k = 4 | k = 16 |",
        "| --- | ---: | ---: | ---: |",
        "| resnet-18 | 69 | 10.00 % | optimal |",
        "| alexnet | 20 | not measured | none |",
    ]
