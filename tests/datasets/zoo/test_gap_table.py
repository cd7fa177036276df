"""The generator of the table in docs/how-far-from-optimal.md."""

import pandas as pd
from table_scripts import load_script


def test_gaps_are_those_of_the_best_rows() -> None:
    """Whoever found cost and bound; equal ones are optimal, and what is missing is said to be."""
    module = load_script("zoo_gaps")
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
