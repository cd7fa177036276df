"""The generator of the tables in docs/how-far-from-optimal.md."""

import pandas as pd
from table_scripts import load_script


def test_ratios_are_to_the_best_partition() -> None:
    """By method over all graphs, and by graph over certified bounds; claims are told apart.

    Of each method, only its newest version counts.
    """
    rows = pd.DataFrame(
        [
            ("regal-style", "a", "1", 70, 2, "memetic", 10, None, None),
            ("regal-style", "a", "1", 70, 2, "certify", None, 10, None),
            ("regal-style", "a", "1", 70, 2, "exact", None, None, 9.0),
            ("regal-style", "b", "2", 90, 2, "memetic", 20, None, None),
            ("regal-style", "b", "2", 90, 2, "certify", 21, 16, None),
            ("regal-style", "b", "2", 90, 2, "exact", 30, None, -5.0),
            ("regal-style", "b", "3", 90, 64, "certify", 100_000, 99_999, None),
            ("regal-style", "c", "4", 90, 64, "fractional-load", None, 99_999, None),
            ("onnx-light", "resnet50", "5", 176, 2, "certify", 4, 4, None),
        ],
        columns=[
            "dataset", "instance", "instance_sha256", "nodes", "k", "method", "objective",
            "bound_certified", "bound_claimed",
        ],
    )  # fmt: skip
    older = rows[rows["method"] == "certify"].assign(method_version=1, bound_certified=15)
    rows = pd.concat([older, rows.assign(method_version=2)], ignore_index=True)
    rows["instance_params"] = rows["k"].map('{{"k": {}}}'.format)
    rows = rows.astype({"objective": "Int64", "bound_certified": "Int64"})
    script = load_script("random_graphs")
    found = script.ratios(rows)
    assert script.method_table(found).splitlines() == [
        "| method | bound | k = 2 | k = 64 |",
        "| --- | --- | ---: | ---: |",
        "| `exact` | claimed | 0.0000 |  |",
        "| `certify` | certified | 0.8944 | 1.0000 |",
        "| graphs |  | 2 | 1 |",
    ]
    assert script.graph_table(found).splitlines() == [
        "| graph | n | k = 2 | k = 64 |",
        "| --- | ---: | ---: | ---: |",
        "| a | 70 | optimal |  |",
        "| b | 90 | 0.8000 | 0.9999 |",
        "| geometric mean |  | 0.8944 | 1.0000 |",
        "| optimal |  | 1 | 0 |",
    ]


def test_held_out_means_are_of_whole_classes() -> None:
    """Geometric means by weighting and size; none where a graph of the class has no bound."""
    found = pd.DataFrame(
        [
            ("a-1", 150, 4, 0.9),
            ("b-1", 120, 4, 0.4),
            ("a-2", 151, 4, 0.7),
            ("a-1-plain", 150, 4, 0.5),
            ("b-1-plain", 120, 4, 0.5),
            ("a-1-plain", 150, 8, 1.0),
        ],
        columns=["graph", "nodes", "k", "ratio"],
    )
    assert load_script("random_graphs").class_table(found).splitlines() == [
        "| weights | nodes | graphs | k = 4 | k = 8 |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| weighted | 120 to 150 | 2 | 0.600 |  |",
        "| weighted | 151 to 151 | 1 | 0.700 |  |",
        "| plain | 120 to 150 | 2 | 0.500 |  |",
    ]
