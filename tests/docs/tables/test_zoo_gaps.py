"""The generator of the tables of models' graphs in docs/how-far-from-optimal.md."""

import pandas as pd
from table_scripts import load_script


def test_gaps_are_those_of_the_best_rows() -> None:
    """Whoever found cost and bound in the newest version; what is missing is said to be."""
    module = load_script("zoo_gaps")
    rows = pd.DataFrame(
        [
            ("nasnet-small-1", 575, '{"k": 4}', "certify", 2, 7, 7),
            ("nasnet-b", 30, '{"k": 4}', "certify", 2, 7, 7),
            ("alexnet", 20, '{"k": 16}', "memetic", 7, 5, None),
            ("resnet-18", 69, '{"k": 4}', "memetic", 7, 12, None),
            ("resnet-18", 69, '{"k": 4}', "fractional-load", 1, 11, 9),
            ("resnet-18", 69, '{"k": 4}', "certify", 2, None, 10),
            ("resnet-18", 69, '{"k": 4}', "certify", 1, 11, 11),
            ("resnet-18", 69, '{"k": 16}', "certify", 1, 5, 5),
        ],
        columns=[
            "instance", "nodes", "instance_params", "method", "method_version",
            "objective", "bound_certified",
        ],
    ).astype({"objective": "Int64", "bound_certified": "Int64"})  # fmt: skip
    assert module.gap_table(rows).splitlines() == [
        "| graph | nodes | k = 4 | k = 16 |",
        "| --- | ---: | ---: | ---: |",
        "| resnet-18 | 69 | 10.00 % | optimal |",
        "| alexnet | 20 | not measured | none |",
        "| nasnet-b | 30 | optimal | not measured |",
        "| nasnet-small-1 | 575 | optimal | not measured |",
    ]
