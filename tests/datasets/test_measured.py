"""Measured operator times: every file is checked, and ours against what was recorded."""

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import small_graph

from boundmark.benchmarks.measuring.operator_times import Profile
from boundmark.benchmarks.solving.model import named_instance
from boundmark.datasets.measured import (
    DATASET,
    DEVICES,
    about,
    load,
    measured_model,
    measured_models,
    read_model,
)
from boundmark.problems.catalog import problems
from boundmark.problems.devices import Device, find_device
from boundmark.problems.errors import InvalidInputError, UnknownNameError
from boundmark.problems.json_documents import canonical_json, sha256_hex

DATA = Path(__file__).parents[2] / "datasets" / "measured" / "data"

# Of the H100: operators, edges, nanoseconds of all operators but views together, and the hash of
# the nanoseconds of all transfers, as the program that measured the times wrote them down.
RECORDED = {
    "resnet-50-b32": (175, 190, 4_055_121, "897a5d6d3370"),
    "resnet-50-b1": (175, 190, 1_183_594, "b04f1e3e6fef"),
    "inception-v3-b8": (313, 347, 3_563_346, "95715c783088"),
    "nasnet-large-b8": (1261, 1476, 18_312_335, "b145b25e0181"),
    "efficientnet-b0-b32": (239, 263, 3_524_146, "b87b271d2367"),
    "densenet-121-b8": (431, 965, 3_557_335, "cc81eb05b1b8"),
    "vit-b-16-b16": (188, 211, 1_835_773, "d1023834c4c4"),
    "swin-b-b8": (796, 891, 3_459_043, "339d431599d7"),
    "bert-base-b8-s128": (244, 291, 1_940_240, "e52a37c7eb41"),
    "bert-base-b32-s512": (244, 291, 39_635_837, "62ccd8401303"),
    "gpt-2-b4-s512": (411, 482, 2_173_296, "22d116a616e1"),
    "llama-1b-b1-s1024": (905, 1081, 7_326_590, "64e4e6107a79"),
    "t5-base-encoder-b8-s256": (537, 657, 5_600_130, "9eba8b4aa35e"),
}

# Three operators: a product, a view of it that takes no time, and what reads both.
VALID: dict[str, Any] = {
    "format": "boundmark-times/1",
    "model": "mine.pt2",
    "base": "nvidia-v100",
    "source": "PyTorch 2.11, eager: median of 3 runs of mine.pt2, 12 GB/s",
    "rank_correlation": None,
    "operators": {"a/Gemm": 3000, "b/Reshape": 0, "c/Add": 1000},
    "measurement": {
        "runtime": "PyTorch 2.11",
        "device": "Tesla V100",
        "driver": None,
        "clocks": None,
        "dtype": "float16",
        "threads": None,
        "repeats": 3,
        "date": "2026-11-28",
        "mode": "eager",
        "whole_ns": 4000,
    },
    "graph": {
        "op_types": ["Gemm", "Reshape", "Add"],
        "flops": [200, 0, 10],
        "read_bytes": [20, 150, 300],
        "output_bytes": [150, 150, 150],
        "param_bytes": [600, 0, 0],
        "edges": [[0, 1], [0, 2], [1, 2]],
    },
}


def read(document: Any) -> Any:
    """Return the model of a document."""
    return read_model(json.dumps(document).encode(), "mine")


@pytest.mark.parametrize("name", measured_models())
def test_every_file_is_accepted(name: str) -> None:
    """Contributed ones, too: the reader refuses what is incomplete or cannot be true."""
    model = measured_model(name)
    assert len(model.names) == len(model.op_types) == len(model.measured_ns) == model.dag.nodes
    content = (DATA / f"{name}.json.gz").read_bytes()
    # No name and no time, so that the same text is the same file: `gzip -n`.
    assert (content[3], content[4:8]) == (0, bytes(4))


@pytest.mark.parametrize("folder", sorted(path.name for path in DATA.iterdir()))
def test_a_folder_is_of_one_device(folder: str) -> None:
    """It says where its files come from."""
    of = [measured_model(name) for name in measured_models() if name.startswith(f"{folder}/")]
    assert len({(one.measurement.device, one.base.name) for one in of}) == 1
    assert of[0].measurement.device in (DATA / folder / "README.md").read_text()


@pytest.mark.parametrize("member", RECORDED)
def test_costs_are_those_recorded(member: str) -> None:
    """Work is the time of an operator; a tensor that somebody reads takes its bytes on the link."""
    nodes, edges, work, transfers = RECORDED[member]
    graph = load(f"h100/{member}")
    assert (graph.dag.nodes, graph.dag.edges) == (nodes, edges)
    assert int(graph.accelerator.sum()) == work
    assert sha256_hex(canonical_json(graph.transfer.tolist()))[:12] == transfers
    assert graph.costs == (
        "times measured on NVIDIA H100 80GB HBM3 (PyTorch 2.11.0+cu130, float16, eager, "
        "2026-11-28), 450 GB/s links"
    )


def test_views_take_no_time() -> None:
    """What was measured of them, 1.4 to 4.6 microseconds, is how long nothing takes."""
    views = ("Identity", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze")
    for name in measured_models():
        model = measured_model(name)
        for at, (one, op_type) in enumerate(zip(model.names, model.op_types, strict=True)):
            assert (one in model.untimed) == (model.measured_ns[at] == 0)
            assert op_type not in views or one in model.untimed
    # A quarter of GPT-2's 411 operators' time.
    model = measured_model("h100/gpt-2-b4-s512")
    assert (model.measured_ns == 0).sum() == 204
    assert set(model.untimed.values()) == {"a view, which copies nothing"}


def test_models_of_the_h100_are_listed() -> None:
    """With the device as the first part of their names."""
    ours = {name for name in measured_models() if name.startswith("h100/")}
    assert ours == {f"h100/{member}" for member in RECORDED}
    assert DATASET.members() == measured_models()
    with pytest.raises(UnknownNameError, match="no model 'h100/resnet' in measured; did you mean"):
        measured_model("h100/resnet")


def test_what_a_file_says_is_kept() -> None:
    """In the order of operators, without what is not known."""
    model = read(VALID)
    assert model.names == ("a/Gemm", "b/Reshape", "c/Add")
    assert model.op_types == ("Gemm", "Reshape", "Add")
    assert model.measured_ns.tolist() == [3000, 0, 1000]
    assert model.flops.tolist() == [200, 0, 10]
    assert model.read_bytes.tolist() == [20, 150, 300]
    assert model.output_bytes.tolist() == [150, 150, 150]
    assert model.param_bytes.tolist() == [600, 0, 0]
    assert model.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert (model.dtype, model.base.name, model.sum_to_whole) == ("float16", "nvidia-v100", 1.0)
    assert (model.measurement.driver, model.measurement.threads) == ("", 0)


def test_other_problems_read_them() -> None:
    """Placement gets a computer full of the device, which keeps parameters and outputs."""
    name = "h100/resnet-50-b1"
    graph, model = load(name), measured_model(name)
    placement = problems()["placement"].adapt(graph)
    assert placement.duration.shape == (175, DEVICES)
    assert np.array_equal(placement.memory, model.param_bytes + model.output_bytes)
    assert int(placement.capacity[0]) == 80 * 2**30


def test_a_file_is_also_a_device(tmp_path: Path) -> None:
    """`--device` reads the same text, for the model that was measured."""
    path = tmp_path / "resnet.json"
    path.write_bytes(gzip.decompress((DATA / "h100" / "resnet-50-b1.json.gz").read_bytes()))
    device, model = find_device(str(path)), measured_model("h100/resnet-50-b1")
    assert isinstance(device, Device)
    assert device.measured is not None
    seconds = [device.measured[name] for name in model.names]
    assert np.rint(np.array(seconds) * 1e9).tolist() == model.measured_ns.tolist()


def test_notes_and_origin_are_told() -> None:
    """What is odd about a model reaches whoever solves it; how it was measured can be shown."""
    (note,) = load("h100/bert-base-b32-s512").notes
    assert "40 against 10 ms" in note
    found = about("h100/resnet-50-b32")
    assert found["source"].startswith("timm resnet50, batch 32")
    shown = found["configuration"]
    assert (shown["whole_ns"], shown["sum_to_whole"]) == (3_877_792, 1.046)
    assert "clocks" not in shown


def test_an_answer_says_where_its_costs_come_from() -> None:
    """Beside "optimal" stands the device and the day of the measurement."""
    found = named_instance("measured/h100/resnet-50-b1", {"k": 4}, are_texts=False)
    assert (found.instance.problem, found.device) == ("pipeline", "")
    assert found.costs == load("h100/resnet-50-b1").costs


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d.update(format="boundmark-times/2"), "expected 'boundmark-times/1'"),
        (lambda d: d.update(operators={}), "0 operators and 3 op_types"),
        (lambda d: d["operators"].update({"c/Add": 1.5}), "operators.c/Add is 1.5; expected an i"),
        (lambda d: d["operators"].update({"c/Add": 0}), "'c/Add', a Add, took 0 ns; expected"),
        (lambda d: d["operators"].update({"c/Add": 9000}), "take 3.00 times measurement.whole_ns"),
        (lambda d: d["measurement"].update(whole_ns=9000), "take 0.44 times measurement.whole_ns"),
        (lambda d: d["measurement"].update(whole_ns=None), "measurement.whole_ns is missing"),
        (lambda d: d["measurement"].pop("date"), "measurement.date is missing"),
        (lambda d: d["measurement"].update(date="28.11.2026"), "'28.11.2026'; expected YYYY-MM-DD"),
        (lambda d: d["measurement"].update(dtype="half"), "no dtype 'half' in measurement"),
        (lambda d: d["measurement"].update(mode="jit"), "no mode 'jit' in measurement"),
        (lambda d: d["measurement"].update(host="a"), "measurement.host is not known"),
        (lambda d: d.update(base="mine"), "no device 'mine'"),
        (lambda d: d.update(base="dgx-a100"), "no device 'dgx-a100'"),
        (lambda d: d.pop("source"), "source is missing"),
        (lambda d: d.update(source=""), "model, source, runtime or device is empty"),
        (lambda d: d.pop("graph"), "3 operators and 0 op_types"),
        (lambda d: d["graph"].pop("edges"), "graph.edges is not a list"),
        (lambda d: d["graph"].update(edges=[[0, 1], [1, 0]]), "the edges form a cycle"),
        (lambda d: d["graph"].update(edges=[[0, 3]]), "names an unknown node"),
        (lambda d: d["graph"].update(edges=[[0, 1, 2]]), "is not a pair of numbers of operators"),
        (lambda d: d["graph"].update(flops=[1, 2]), "graph.flops has 2 values; expected one for"),
        (lambda d: d["graph"].update(read_bytes=[1, 2, -3]), "graph.read_bytes is"),
        (
            lambda d: d["graph"].update(param_bytes=[2**40, 0, 0]),
            "expected them to fit into nvidia",
        ),
        (lambda d: d.update(model="/home/me/mine.pt2"), "names a folder of a machine"),
        (lambda d: d.update(source="of ~/mine.pt2"), "names a folder of a machine"),
        (lambda d: d.update(notes=["see C:\\mine"]), "names a folder of a machine"),
        (lambda d: d.update(untimed={"c/Add": 5}), "5 stands for a reason in untimed"),
        (
            lambda d: d.update(untimed={"d/Add": "fused"}),
            "untimed names 'd/Add'; expected operators",
        ),
    ],
)
def test_other_files_are_refused(change: Callable[[Any], object], expected: str) -> None:
    """By a sentence with the field, which whoever contributes the file can understand."""
    document = copy.deepcopy(VALID)
    change(document)
    with pytest.raises(InvalidInputError) as refused:
        read(document)
    assert expected in str(refused.value)
    assert str(refused.value).startswith("mine: ")


def test_an_operator_without_time_needs_a_reason() -> None:
    """With one, it is accepted."""
    document = copy.deepcopy(VALID)
    document["operators"] |= {"a/Gemm": 4000, "c/Add": 0}
    with pytest.raises(InvalidInputError, match="took 0 ns"):
        read(document)
    document["untimed"] = {"c/Add": "it runs in the kernel of a/Gemm"}
    assert read(document).untimed == document["untimed"]


def test_what_profile_stores_is_accepted() -> None:
    """Whoever contributes a file need not change it."""
    graph, base = small_graph(), find_device("nvidia-v100")
    assert isinstance(base, Device)
    profile = Profile(
        model="mine.onnx",
        graph=graph,
        times=dict.fromkeys(graph.names, 1000),
        # As of a compiled model, some of whose time counts for no operator.
        measurement={
            **VALID["measurement"],
            "mode": "compiled",
            "whole_ns": 900 * len(graph.names),
            "unattributed_ns": 7,
        },
        source="made up",
        base=base,
        intervals={graph.names[0]: (900, 1100)},
        untimed={},
        estimated=(),
        notes=("Other processes kept the machine busy.",),
    )
    found = read(profile.to_json())
    assert found.names == graph.names
    assert np.array_equal(found.edges, graph.dag.edge_pairs())
    assert np.array_equal(found.read_bytes, graph.read_bytes)
    assert found.notes == profile.notes
    assert (found.measurement.mode, found.measurement.unattributed_ns) == ("compiled", 7)


def test_names_are_unique() -> None:
    """JSON would keep the last of two operators with one name."""
    text = json.dumps(VALID).replace('"c/Add": 1000', '"a/Gemm": 1000')
    with pytest.raises(InvalidInputError, match="an object has 'a/Gemm' twice"):
        read_model(text.encode(), "mine")


@pytest.mark.parametrize("kind", ["stages", "segments"])
def test_parts_of_models_are_those_of_members(kind: str) -> None:
    """Each run of a model's parts is of one of the models, with a positive time for each part."""
    known = {measured_model(name).model for name in measured_models()}
    lines = (DATA / "h100" / f"{kind}.jsonl").read_text().splitlines()
    for run in map(json.loads, lines):
        assert run["model"] in known
        for _, modes in run["result"]:
            assert set(modes) <= {"eager", "compiled"}
            for seconds in modes.values():
                assert len(seconds) == run["k"]
                assert min(seconds) > 0
