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


def test_both_forms_stand_side_by_side() -> None:
    """Whoever found cost and bound; graphs in the zoo's order, forms that did not run are said.

    What an older version of a method found does not count.
    """
    module = load_script("zoo_gaps")
    folded = '{"k": 4, "backward": "folded"}'
    rows = pd.DataFrame(
        [
            ("gpt-2-training", '{"k": 4}', "memetic", 2, 11_000_000, None),
            ("gpt-2-training", '{"k": 4}', "memetic", 1, 10_500_000, None),
            ("gpt-2-training", '{"k": 4}', "certify", 1, None, 10_000_000),
            ("gpt-2-training", folded, "certify", 1, 5_000_000, 5_000_000),
            ("bert-base-training", '{"k": 8}', "memetic", 2, 1_234_567, None),
        ],
        columns=[
            *("instance", "instance_params", "method", "method_version"),
            *("objective", "bound_certified"),
        ],
    ).astype({"objective": "Int64", "bound_certified": "Int64"})
    assert module.training_table(rows).splitlines() == [
        "| graph | k | separate: ms | gap | folded: ms | gap |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| bert-base-training | 8 | 1.235 | none | not measured |  |",
        "| gpt-2-training | 4 | 11.000 | 10.00 % | 5.000 | optimal |",
    ]
