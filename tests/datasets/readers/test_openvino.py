"""OpenVINO IR: operators, shapes and operations of models written by hand; what is refused."""

import re
from pathlib import Path

import pytest
from ir_models import CONVOLUTION, PRODUCTS, ir_text

from boundmark.datasets.readers.openvino import load
from boundmark.datasets.resolve import load_file
from boundmark.problems.computation_graph import LEFT_OUT, ComputationGraph
from boundmark.problems.errors import InvalidInputError


def read(text: str, folder: Path) -> ComputationGraph:
    """Return the graph of a file with this text."""
    path = folder / "model.xml"
    path.write_text(text)
    return load(path)


def test_convolution(tmp_path: Path) -> None:
    """Groups are part of the filters' first dimension, as in ONNX; a bias is an operator."""
    graph = read(CONVOLUTION, tmp_path)
    assert graph.names == ("conv", "add", "relu", "pool")
    assert graph.op_types == ("Conv", "Add", "Relu", "MaxPool")
    outputs = 6 * 4 * 4
    assert graph.flops.tolist() == [2 * outputs * 2 * 9, outputs, outputs, 6 * 2 * 2 * 4]
    conv = graph.operators[0]
    assert dict(conv.attributes) == {
        "kernel_shape": (3, 3), "strides": (2, 2), "dilations": (1, 1), "pads": (1, 1, 1, 1),
        "group": 2,
    }  # fmt: skip
    assert [graph.tensors[number].shape for number in conv.reads] == [(1, 4, 8, 8), (6, 2, 3, 3)]
    assert graph.param_bytes.tolist() == [4 * 6 * 2 * 9, 4 * 6, 0, 0]
    assert [graph.tensors[number].name for number in graph.inputs] == ["x:0"]
    assert graph.dag.edge_pairs().tolist() == [[0, 1], [1, 2], [2, 3]]


def test_products(tmp_path: Path) -> None:
    """Constants are folded, shapes are known, and an unknown operator is told of."""
    graph = read(PRODUCTS, tmp_path)
    assert graph.names == ("fc", "scores", "softmax", "same", "odd")
    assert graph.op_types == ("Gemm", "MatMul", "Softmax", "Reshape", "Frobnicate")
    assert graph.flops.tolist() == [2 * 160 * 8, 2 * 50 * 16, 5 * 50, 0, 0]
    assert graph.operators[2].attributes["axis"] == 2
    assert graph.notes == (
        "1 operator of type Frobnicate, of which only the bytes that they move are counted: 'odd'",
    )
    assert isinstance(load_file(tmp_path / "model.xml"), ComputationGraph)


BOMB = '<!DOCTYPE net [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><net>&b;</net>'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CONVOLUTION[: len(CONVOLUTION) // 2], "expected XML, found"),
        (BOMB, "there is a document type; expected none"),
        ('<?xml version="1.0" encoding="made-up"?><net/>', "expected XML, found"),
        ("<net>" * 60, "elements are nested more than 50 deep"),
        ("<model/>", "the root is 'model'; expected 'net'"),
        ("<net><layers/></net>", "layers is missing or empty"),
        (CONVOLUTION.replace('id="3" name="b"', 'id="1" name="b"'), "layer id '1' occurs twice"),
        (CONVOLUTION.replace(' name="relu"', ""), "name of <layer> is missing"),
        (CONVOLUTION.replace("<dim>8</dim>", "<dim>-1</dim>"), "has a dimension of open size"),
        (CONVOLUTION.replace("<dim>8</dim>", "<dim>x</dim>"), "is 'x'; expected an integer"),
        (CONVOLUTION.replace("FP32", "FP31"), "precision of port '0' is 'FP31'"),
        (CONVOLUTION.replace('strides="2, 2"', 'strides="2, y"'), "strides is '2, y'; expected in"),
        (CONVOLUTION.replace('strides="2, 2"', 'strides="2"'), "strides is (2,); expected 2 int"),
        (CONVOLUTION.replace('to-layer="7"', 'to-layer="70"'), "layer '70' has no port '0'"),
        (CONVOLUTION.replace('to-layer="6"', 'to-layer="5"'), "has two edges; expected one"),
        (CONVOLUTION.replace('"Result"', '"Sink"'), "there is no layer of type Result"),
        (
            CONVOLUTION.replace('from-layer="0" from-port="0"', 'from-layer="6" from-port="1"'),
            "cycle",
        ),
        (re.sub("<dim>.*</dim>", "", PRODUCTS), "expected shapes that"),
    ],
)
def test_bad_files(text: str, expected: str, tmp_path: Path) -> None:
    """What is cut off, dangerous or odd is refused with the file's name and what was expected."""
    with pytest.raises(InvalidInputError) as raised:
        read(text, tmp_path)
    assert expected in str(raised.value)
    assert str(raised.value).startswith(str(tmp_path / "model.xml"))


def test_weights_alone_are_no_model(tmp_path: Path) -> None:
    """A result that no input matters for leaves no operators."""
    text = CONVOLUTION.replace('"Parameter"', '"Const"')
    with pytest.raises(InvalidInputError, match="the graph has no nodes"):
        read(text, tmp_path)


@pytest.mark.parametrize(("kind", "bits"), [("U4", 4), ("I8", 8), ("FP16", 32)])
def test_quantised_weights_are_as_stored(kind: str, bits: int, tmp_path: Path) -> None:
    """Elements, scales and zero points, as NNCF writes them; halves are numbers themselves."""
    grouped, one = (64, 2, 16), (64, 2, 1)
    layers = [
        ("x", "Parameter", {}, [], [(3, 32)]),
        ("w", "Const", {}, [], [grouped]),
        ("numbers", "Convert", {}, [grouped], [grouped]),
        ("zero", "Const", {}, [], [one]),
        ("zero numbers", "Convert", {}, [one], [one]),
        ("less", "Subtract", {}, [grouped, one], [grouped]),
        ("scale", "Const", {}, [], [one]),
        ("scaled", "Multiply", {}, [grouped, one], [grouped]),
        ("shape", "Const", {}, [], [(2,)]),
        ("matrix", "Reshape", {}, [grouped, (2,)], [(64, 32)]),
        ("product", "MatMul", {"transpose_b": "true"}, [(3, 32), (64, 32)], [(3, 64)]),
        ("out", "Result", {}, [(3, 64)], []),
    ]
    edges = [
        (1, 2, 0), (3, 4, 0), (2, 5, 0), (4, 5, 1), (5, 7, 0), (6, 7, 1), (7, 9, 0), (8, 9, 1),
        (0, 10, 0), (9, 10, 1), (10, 11, 0),
    ]  # fmt: skip
    text = ir_text(layers, edges, {"w": kind, "zero": kind, "scale": "FP16", "shape": "I64"})
    graph = read(text, tmp_path)
    (product,) = graph.operators
    assert product.flops == 2 * 3 * 64 * 32
    assert graph.dtype == "float32"
    if bits == 32:
        assert graph.param_bytes.tolist() == [64 * 32 * 4]
        return
    beside = 64 * 2 * 2 + 64 * 2 * bits // 8
    assert graph.param_bytes.tolist() == [64 * 32 * bits // 8 + beside]
    # Nothing stands in the place of a bias.
    assert product.reads[2] == LEFT_OUT
