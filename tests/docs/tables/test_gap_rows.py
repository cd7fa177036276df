"""The script that makes the CSV files of docs/how-far-from-optimal.md."""

import json

import gap_rows
import pandas as pd
import pytest
from brute_force_placement import instance


@pytest.mark.parametrize(
    ("cost", "bound", "text"),
    [
        (12, 10, "20.00 %"), (7, 7, "optimal"), (10_000_001, 10_000_000, "< 0.01 %"),
        (None, 7, "none"), (7, None, "none"), (7, 0, "none"),
    ],
)  # fmt: skip
def test_gaps_as_texts(cost: float, bound: float, text: str) -> None:
    """Only a cost that equals its bound is optimal."""
    assert gap_rows.gap_text(cost, bound) == text


def test_gaps_of_models_are_those_of_the_best_rows() -> None:
    """Whoever found cost and bound in the newest version; what is missing is said to be."""
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
    found = gap_rows.models(rows)
    assert list(found.columns) == ["graph", "nodes", "k = 4", "k = 16"]
    assert found.to_numpy().tolist() == [
        ["resnet-18", "69", "10.00 %", "optimal"],
        ["alexnet", "20", "not measured", "none"],
        ["nasnet-b", "30", "optimal", "not measured"],
        ["nasnet-small-1", "575", "optimal", "not measured"],
    ]


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
    found = gap_rows.random_graphs(rows)
    assert found["random-methods"].to_numpy().tolist() == [
        ["`exact`", "claimed", "0.0000", ""],
        ["`certify`", "certified", "0.8944", "1.0000"],
        ["graphs", "", "2", "1"],
    ]
    assert found["random-graphs"].to_numpy().tolist() == [
        ["a", "70", "optimal", ""],
        ["b", "90", "0.8000", "0.9999"],
    ]


def test_held_out_means_are_of_whole_classes() -> None:
    """Geometric means by weighting and size; none where a graph of the class has no bound."""
    cells = [
        ("a-1", 150, 4, 90), ("b-1", 120, 4, 40), ("a-2", 151, 4, 70), ("a-1-plain", 150, 4, 50),
        ("b-1-plain", 120, 4, 50), ("a-1-plain", 150, 8, 100),
    ]  # fmt: skip
    rows = pd.DataFrame(cells, columns=["instance", "nodes", "k", "bound_certified"])
    rows = rows.assign(
        dataset="regal-style", instance_sha256=rows.index.map(str), method="certify", objective=100,
        method_version=1, bound_claimed=None, instance_params=rows["k"].map('{{"k": {}}}'.format),
    )  # fmt: skip
    assert gap_rows.held_out(rows)["held-out"].to_numpy().tolist() == [
        ["weighted", "120 to 150", "2", "0.600", ""],
        ["weighted", "151 to 151", "1", "0.700", ""],
        ["plain", "120 to 150", "2", "0.500", ""],
    ]


def test_gaps_of_placements() -> None:
    """The quickest of the best names the schedule."""
    rows = pd.DataFrame(
        [
            ("a", "x", "1", "heft", 12, None, 0.1, 0.1),
            ("a", "x", "1", "slow", 11, None, 9.0, 8.0),
            ("a", "x", "1", "quick", 11, None, 1.0, 1.0),
            ("a", "x", "1", "placement-certify", 13, 10, 60.0, 41.6),
            ("b", "", "2", "heft", 5000, None, 0.1, 0.1),
            ("b", "", "2", "placement-certify", None, 5000, 60.0, 50.0),
            ("c", "x", "3", "placement-certify", None, 7, 60.0, None),
        ],
        columns=[
            "instance", "device", "instance_sha256", "method", "objective", "bound_certified",
            "wall_seconds", "cpu_seconds",
        ],
    ).assign(nodes=1234)  # fmt: skip
    found = gap_rows.placements(rows, {"1": (50, 0), "2": (40, 0), "3": (3, 2)})
    assert [" | ".join(line) for line in found.to_numpy().tolist()] == [
        "b | its own | 1,234 | 40 | 0 | heft | 5,000 | 5,000 | optimal | 50",
        "a | x | 1,234 | 50 | 0 | quick | 11 | 10 | 10.00 % | 42",
        "c | x | 1,234 | 3 | 2 |  |  | 7 | none | ",
    ]


def test_modules_of_a_model() -> None:
    """Two branches are a module between their ends, and with a mask for both a larger one."""
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]
    assert gap_rows.modules_of(instance([[9, 9]] * 5, edges)) == (2, 0)
    masked = instance([[9, 9]] * 5 + [[1, 1]], [*edges, (5, 1), (5, 4)])
    assert gap_rows.modules_of(masked) == (4, 0)


def test_defaults_of_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """By tool and by instance; without a split there is no gap, without a proof it is said."""
    given = [json.dumps({"devices": "2xT4", "phase": phase}) for phase in ("decode", "training")]
    rows = pd.DataFrame(
        [
            ("a", "1", given[0], "vllm-even", 12, None),
            ("a", "1", given[0], "layer-reach", 10, 10),
            ("a", "1", given[0], "llama-cpp-memory", None, None),
            ("a", "2", given[1], "megatron-uniform", 15, None),
            ("a", "2", given[1], "layer-reach", 12, 10),
        ],
        columns=[
            "instance", "instance_sha256", "instance_params", "method", "objective",
            "bound_certified",
        ],
    ).astype({"objective": "Int64", "bound_certified": "Int64"})  # fmt: skip
    found = gap_rows.defaults(rows)
    assert found["defaults-by-tool"].astype(str).to_numpy().tolist() == [
        ["vLLM", "1", "1", "0", "20.0 %", "20.0 %"],
        ["llama.cpp", "1", "0", "0", "", ""],
        ["Megatron", "1", "1", "0", "50.0 %", "50.0 %"],
    ]
    assert found["defaults-serving"].to_numpy().tolist() == [
        ["a", "2xT4", "decode", "20.0 %", "none"]
    ]
    assert found["defaults-training"]["devices"].tolist() == ["2xT4 (bound)"]


def test_partitions_and_schedules_of_tools() -> None:
    """The same partitioner with and without our search; PiPPy only where sizes are known."""
    rows = pd.DataFrame(
        [
            ("pipeline", "measured", "net", "1", {"k": 4}, "metis", {"improve": False}, 12, None),
            (
                "pipeline", "measured", "net", "1", {"k": 4}, "metis",
                {"improve": False, "recut": False}, 15, None,
            ),
            ("pipeline", "measured", "net", "1", {"k": 4}, "metis", {}, 10, 10),
            ("pipeline", "measured", "net", "1", {"k": 4}, "pippy", {}, 13, None),
            ("microbatch", "shapes", "v-4-f1-b2", "2", {"micro_batches": 8}, "1f1b", {}, 33, 30),
        ],
        columns=[
            "problem", "dataset", "instance", "instance_sha256", "instance_params", "method",
            "params", "objective", "bound_certified",
        ],
    )  # fmt: skip
    for column in ("instance_params", "params"):
        rows[column] = rows[column].map(json.dumps)
    found = gap_rows.tools(rows)
    cells = found["tools-partitions"].iloc[0]
    assert cells[["costs", "graph", "k", "bound"]].tolist() == ["measured", "net", 4, "10"]
    assert cells["METIS, repaired only"] == "50.00 %"
    assert cells["METIS, with our cuts"] == "20.00 %"
    assert cells["METIS, with our cuts and moves"] == "optimal"
    assert cells["equal parameters (PiPPy)"] == "none"
    assert found["tools-schedules"].to_numpy().tolist() == [
        ["1F1B", "v", "4", 8, "1 : 2", "33", "30", "10.00 %"]
    ]


def test_layers_on_the_host() -> None:
    """How many layers the optimum splits, tokens a second, and what each rule is above it."""
    params = {"devices": "3090,cpu", "context": 4096, "weight_bits": 5}
    rows = pd.DataFrame(
        [
            ("net", "1", params, "layer-choices", 20_000_000, 20_000_000, "a"),
            ("net", "1", params, "llama-cpp-fit", 20_000_000, None, "b"),
            ("net", "1", params, "llama-cpp-cpu-moe", 25_000_000, None, "c"),
            ("net", "1", params, "llama-cpp-ngl", None, None, None),
        ],
        columns=[
            "instance", "instance_sha256", "instance_params", "method", "objective",
            "bound_certified", "solution_sha256",
        ],
    )  # fmt: skip
    rows["instance_params"] = rows["instance_params"].map(json.dumps)
    assert gap_rows.hosts(rows, {"a": 7, "b": 7, "c": 9}).to_numpy().tolist() == [
        ["net", "3090,cpu", "5", "4,096", "7", "50.0", "optimal", "optimal", "25.0 %", "none"]
    ]
