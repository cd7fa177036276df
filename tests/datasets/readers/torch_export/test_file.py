"""Programs of torch.export: read without torch, and without running what is in them."""

import importlib.util
import io
import itertools
import json
import os
import pickle
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch_archives
from graphs import ROUND_DEVICE
from torch_archives import archive, call, program, tensor, two_layers

from boundmark.datasets.readers.torch_export import file as torch_file
from boundmark.datasets.resolve import load_file
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.roofline import operation_seconds

HAS_TORCH = importlib.util.find_spec("torch") is not None


class _Planted:
    """A pickle that makes a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.mkdir, (str(self.path),)


def _pickled(path: Path) -> bytes:
    """Return what `torch.save` would write: an archive around a pickle."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("archive/data.pkl", pickle.dumps(_Planted(path)))
        file.writestr("archive/version", "3\n")
    return buffer.getvalue()


def test_a_program(tmp_path: Path) -> None:
    """Operators are called after their modules, and weights are parameters."""
    graph = load_file(torch_archives.write(tmp_path, two_layers()))
    assert graph.op_types == ("Gemm", "Relu", "Gemm")
    assert graph.names == ("0/Gemm", "1/Relu", "2/Gemm")
    assert graph.flops.tolist() == [3 * 16 * (2 * 8 + 1), 3 * 16, 3 * 4 * (2 * 16 + 1)]
    assert graph.param_bytes.tolist() == [4 * 16 * 9, 0, 4 * 4 * 17]
    assert "torch" not in sys.modules or HAS_TORCH


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
def test_a_program_of_torch(tmp_path: Path) -> None:
    """What torch writes now is read the same as what these tests make."""
    import torch

    path = tmp_path / "own.pt2"
    module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    torch.export.save(torch.export.export(module, (torch.zeros(3, 8),)), path)
    graph = load_file(path)
    assert graph.names == ("0/Gemm", "1/Relu", "2/Gemm")
    assert graph.param_bytes.tolist() == [4 * 16 * 9, 0, 4 * 4 * 17]


@pytest.mark.parametrize(
    "place",
    [
        "data/sample_inputs/model.pt",
        "data/weights/model.pt",
        "data/constants/model.pt",
        "extra.pkl",
    ],
)
def test_pickles_beside_the_program_are_not_read(tmp_path: Path, place: str) -> None:
    """An archive with a pickle that makes a folder gives the same graph, and no folder."""
    path, planted = tmp_path / "own.pt2", tmp_path / "planted"
    path.write_bytes(archive(two_layers(), {f"own/{place}": _pickled(planted)}))
    assert load_file(path).names == ("0/Gemm", "1/Relu", "2/Gemm")
    assert not planted.exists()


def test_files_of_pickles_are_refused(tmp_path: Path) -> None:
    """A file with nothing but pickles is refused, and nothing in it is run."""
    planted = tmp_path / "planted"
    for name, content in (
        ("zipped.pt2", _pickled(planted)),
        ("bare.pt2", pickle.dumps(_Planted(planted))),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInputError, match=f"{name}: expected a program of torch.export"):
            load_file(tmp_path / name)
    assert not planted.exists()


def test_formulas_are_not_evaluated(tmp_path: Path) -> None:
    """Open sizes are those of the example; formulas, which torch evaluates, are texts."""
    planted = tmp_path / "planted"
    formula = f"__import__('os').mkdir({str(planted)!r})"
    content = program(
        [call("aten.relu.default", {"self": "x"}, "y")],
        {"x": tensor((formula, 5), 7), "y": tensor((formula, 5), 7)},
        ["x"],
        ["y"],
    )
    assert load_file(torch_archives.write(tmp_path, content)).flops.tolist() == [35]
    assert not planted.exists()


def test_defaults_of_arguments(tmp_path: Path) -> None:
    """Arguments that a call leaves out are those of torch."""
    content = program(
        [
            call(
                "aten.conv1d.default",
                {"input": "x", "weight": "w", "bias": {"as_none": True},
                 "stride": {"as_ints": [2]}},
                "c",
            ),
            call("aten.max_pool1d.default", {"self": "c", "kernel_size": {"as_ints": [2]}}, "p"),
            call("aten.cat.default", {"tensors": {"as_tensors": [{"name": "p"}] * 2}}, "y"),
        ],
        {
            "x": tensor(1, 4, 21), "w": tensor(8, 4, 3), "c": tensor(1, 8, 10),
            "p": tensor(1, 8, 5), "y": tensor(2, 8, 5),
        },
        ["x"],
        ["y"],
        {"w": "weight"},
    )  # fmt: skip
    graph = load_file(torch_archives.write(tmp_path, content))
    conv, pool, cat = (dict(one.attributes) for one in graph.operators)
    assert conv == {
        "kernel_shape": (3,), "strides": (2,), "dilations": (1,), "pads": (0, 0), "group": 1,
    }  # fmt: skip
    assert pool == {"kernel_shape": (2,), "strides": (2,), "dilations": (1,), "pads": (0, 0)}
    assert cat == {"axis": 0}
    assert [one.reads for one in graph.operators] == [(0, 1), (2,), (3, 3)]


def test_several_results(tmp_path: Path) -> None:
    """Parts of a split are tensors of one operator; those that nobody reads are left out."""
    parts = {"as_tensors": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}
    content = program(
        [
            call("aten.chunk.default", {"self": "x", "chunks": {"as_int": 3}}, parts),
            call("aten.add.Tensor", {"self": "a", "other": "c"}, "y"),
        ],
        {"x": tensor(6, 2), **{name: tensor(2, 2) for name in "abcy"}},
        ["x"],
        ["y"],
    )
    split, add = load_file(torch_archives.write(tmp_path, content)).operators
    assert (split.op_type, len(split.writes)) == ("Split", 2)
    assert add.reads == split.writes


def _written(*calls: dict[str, Any], outputs: tuple[str, ...]) -> dict[str, Any]:
    names = {"x", *outputs, *(one["outputs"][0]["as_tensor"]["name"] for one in calls)}
    return program(calls, {name: tensor(4, 4) for name in names}, ["x"], outputs)


def test_writes_in_place(tmp_path: Path) -> None:
    """After a write, all names of a tensor stand for its new value."""
    content = _written(
        call("aten.neg.default", {"self": "x"}, "a"),
        call("aten.dropout.default", {"input": "a"}, "b"),
        call("aten.relu_.default", {"self": "b"}, "c"),
        call("aten.exp.default", {"self": "a"}, "y"),
        outputs=("y", "c"),
    )
    graph = load_file(torch_archives.write(tmp_path, content))
    assert graph.op_types == ("Neg", "Relu", "Exp")
    assert [(one.reads, one.writes) for one in graph.operators] == [
        ((0,), (1,)), ((1,), (2,)), ((2,), (3,)),
    ]  # fmt: skip


def test_inputs_that_are_written_to_are_results(tmp_path: Path) -> None:
    """What a program does to what it is given stays in the graph."""
    content = _written(
        call("aten.relu.default", {"self": "x"}, "y"),
        call("aten.add_.Tensor", {"self": "x", "other": "y"}, "z"),
        outputs=("y",),
    )
    graph = load_file(torch_archives.write(tmp_path, content))
    assert (graph.op_types, len(graph.results)) == (("Relu", "Add"), 2)


def _int(value: int) -> dict[str, Any]:
    return {"as_int": value}


_ROW = {"self": "a", "dim": _int(0), "index": _int(1)}
_ROWS = {"as_tensors": [{"name": "v"}, {"name": "w"}]}


@pytest.mark.parametrize(
    ("shows", "puts_back"),
    [
        (call("aten.select.int", _ROW, "v"), "ScatterND"),
        (call("aten.slice.Tensor", {"self": "a", "start": _int(0), "end": _int(2)}, "v"),
         "ScatterND"),
        (call("aten.diagonal.default", {"self": "a"}, "v"), "ScatterND"),
        (call("aten.chunk.default", {"self": "a", "chunks": _int(2)}, _ROWS), "ScatterND"),
        (call("aten.unbind.int", {"self": "a"}, _ROWS), "ScatterND"),
        (call("aten.view.default", {"self": "a", "size": {"as_ints": [2, 8]}}, "v"), "Reshape"),
        (call("aten.unsqueeze.default", {"self": "a", "dim": _int(0)}, "v"), "Reshape"),
        (call("aten.transpose.int", {"self": "a", "dim0": _int(0), "dim1": _int(1)}, "v"),
         "Transpose"),
        (call("aten.permute.default", {"self": "a", "dims": {"as_ints": [1, 0]}}, "v"),
         "Transpose"),
    ],
)  # fmt: skip
def test_writes_to_parts(tmp_path: Path, shows: dict[str, Any], puts_back: str) -> None:
    """Who reads the whole after a write to a part reads what the write has made of it."""
    content = program(
        [
            call("aten.neg.default", {"self": "x"}, "a"),
            shows,
            call("aten.relu_.default", {"self": "v"}, "c", module="0"),
            call("aten.exp.default", {"self": "a"}, "y"),
        ],
        {
            **{name: tensor(4, 4) for name in "xay"},
            **{name: tensor(2, 8) for name in "vwc"},
        },
        ["x"],
        ["y"],
    )
    graph = load_file(torch_archives.write(tmp_path, content))
    assert (graph.op_types[0], *graph.op_types[-3:]) == ("Neg", "Relu", puts_back, "Exp")
    assert graph.names[-2] == f"0/{puts_back}"
    relu, back, exp = graph.operators[-3:]
    assert relu.writes[0] in back.reads
    assert back.writes == exp.reads
    assert graph.tensors[back.writes[0]].shape == (4, 4)
    # A reshape or transpose puts all of it back.
    assert (graph.operators[0].writes[0] in back.reads) == (puts_back == "ScatterND")


def test_parts_after_a_write_to_the_whole(tmp_path: Path) -> None:
    """They are shown anew, also parts of parts, and only if somebody reads them."""
    content = _written(
        call("aten.neg.default", {"self": "x"}, "a"),
        call("aten.view.default", {"self": "a"}, "v"),
        call("aten.transpose.int", {"self": "v", "dim0": _int(0), "dim1": _int(1)}, "w"),
        call("aten.transpose.int", {"self": "v", "dim0": _int(0), "dim1": _int(1)}, "u"),
        call("aten.relu_.default", {"self": "a"}, "c"),
        call("aten.exp.default", {"self": "w"}, "y"),
        outputs=("y",),
    )
    graph = load_file(torch_archives.write(tmp_path, content))
    assert graph.op_types == ("Neg", "Relu", "Transpose", "Exp")
    assert [one.reads for one in graph.operators] == [(0,), (1,), (2,), (3,)]


def test_inputs_with_parts_that_are_written_to_are_results(tmp_path: Path) -> None:
    """What a program does to a part of what it is given stays in the graph."""
    content = _written(
        call("aten.select.int", {**_ROW, "self": "x"}, "v"),
        call("aten.relu_.default", {"self": "v"}, "c"),
        call("aten.neg.default", {"self": "c"}, "y"),
        outputs=("y",),
    )
    graph = load_file(torch_archives.write(tmp_path, content))
    assert sorted(graph.op_types) == ["Gather", "Neg", "Relu", "ScatterND"]
    assert len(graph.results) == 2


def _of_depth(depth: int) -> list[dict[str, Any]]:
    names = ["a", *(f"v{at}" for at in range(depth))]
    return [
        call("aten.select.int", {**_ROW, "self": one}, other)
        for one, other in itertools.pairwise(names)
    ]


@pytest.mark.parametrize(
    "shows",
    [
        [call("aten.unfold.default", {"self": "a"}, "v0")],
        [call("aten.as_strided.default", {"self": "a"}, "v0")],
        # Whether it copies is not known without strides.
        [call("aten.reshape.default", {"self": "a"}, "v0")],
        _of_depth(40),
    ],
    ids=["unfold", "as_strided", "reshape", "deep"],
)
@pytest.mark.parametrize("read", ["whole", "part"])
def test_writes_to_other_parts_are_refused(
    tmp_path: Path, read: str, shows: list[dict[str, Any]]
) -> None:
    """What a tensor holds after a write to such a view of it is not guessed."""
    last = shows[-1]["outputs"][0]["as_tensor"]["name"]
    content = _written(
        call("aten.neg.default", {"self": "x"}, "a"),
        *shows,
        call("aten.relu_.default", {"self": "a" if read == "part" else last}, "c"),
        call("aten.exp.default", {"self": last if read == "part" else "a"}, "y"),
        outputs=("y",),
    )
    path = torch_archives.write(tmp_path, content)
    if read == "part" and len(shows) == 1:
        # What the view shows of the new value is known.
        assert load_file(path).op_types[-1] == "Exp"
        return
    with pytest.raises(
        InvalidInputError, match=r"shares memory with .* run_decompositions\(\{\}\)"
    ):
        load_file(path)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            call("aten.permute.default", {"self": "a", "dims": {"as_int": 1}}, "v"),
            "found TypeError",
        ),
        (call("aten.permute.default", {"self": "a"}, "v"), "found IndexError"),
        (call("aten.split.Tensor", {"self": "lost"}, "v"), "tensor 'lost', which nothing before"),
    ],
)
def test_parts_that_are_none(tmp_path: Path, part: dict[str, Any], expected: str) -> None:
    """Whatever arguments a view has in a file, the error is a sentence."""
    content = _written(
        call("aten.neg.default", {"self": "x"}, "a"),
        part,
        call("aten.relu_.default", {"self": "v"}, "c"),
        call("aten.exp.default", {"self": "a"}, "y"),
        outputs=("y",),
    )
    with pytest.raises(InvalidInputError, match=expected):
        load_file(torch_archives.write(tmp_path, content))


@pytest.mark.parametrize(("strides", "is_view"), [((4, 1), True), ((1, 4), False)])
def test_reshapes_of_dense_tensors_are_views(
    tmp_path: Path, strides: tuple[int, int], is_view: bool
) -> None:
    """Strides say so; a tensor with others may be copied."""
    content = _written(
        call("aten.neg.default", {"self": "x"}, "a"),
        call("aten.reshape.default", {"self": "a"}, "v"),
        call("aten.relu_.default", {"self": "v"}, "c"),
        call("aten.exp.default", {"self": "a"}, "y"),
        outputs=("y",),
    )
    types = content["graph_module"]["graph"]["tensor_values"]
    types["a"]["strides"] = [_int(one) for one in strides]
    path = torch_archives.write(tmp_path, content)
    if is_view:
        assert load_file(path).op_types == ("Neg", "Relu", "Exp")
        return
    with pytest.raises(InvalidInputError, match="shares memory"):
        load_file(path)


def test_casts_are_no_views(tmp_path: Path) -> None:
    """A write to a tensor leaves another type of it as it was."""
    content = _written(
        call("aten.neg.default", {"self": "x"}, "a"),
        call("aten.to.dtype", {"self": "a", "dtype": _int(6)}, "h"),
        call("aten.relu_.default", {"self": "a"}, "c"),
        call("aten.exp.default", {"self": "h"}, "y"),
        outputs=("y", "c"),
    )
    content["graph_module"]["graph"]["tensor_values"]["h"] = tensor(4, 4, dtype=6)
    graph = load_file(torch_archives.write(tmp_path, content))
    exp = graph.operators[graph.op_types.index("Exp")]
    cast = graph.operators[graph.op_types.index("Cast")]
    assert cast.writes == exp.reads


def test_constants_written_into_constants(tmp_path: Path) -> None:
    """A mask that is made piece by piece is a constant."""
    content = _written(
        call("aten.new_zeros.default", {"self": "x"}, "m"),
        call("aten.slice.Tensor", {"self": "m"}, "s"),
        call("aten.fill_.Scalar", {"self": "s"}, "f"),
        call("aten.add.Tensor", {"self": "x", "other": "m"}, "y"),
        outputs=("y",),
    )
    graph = load_file(torch_archives.write(tmp_path, content))
    assert graph.op_types == ("Add",)
    assert len(graph.parameters) == 1


def test_unknown_operators_are_costed_by_their_bytes(tmp_path: Path) -> None:
    """They have no operations, a note names their types, and one called like ATen's is another."""
    content = _written(
        call("aten.special_bessel_j0.default", {"self": "x"}, "a", module="0"),
        call("my.relu.default", {"self": "a"}, "b"),
        call("my.relu.default", {"self": "b"}, "y"),
        outputs=("y",),
    )
    graph = load_file(torch_archives.write(tmp_path, content))
    assert graph.op_types == ("aten.special_bessel_j0", "my.relu", "my.relu")
    assert graph.names == ("0/aten.special_bessel_j0", "my.relu", "my.relu_2")
    assert graph.flops.tolist() == [0, 0, 0]
    assert graph.read_bytes.tolist() == [64, 64, 64]
    assert graph.notes == (
        "3 operators are unknown, costed by the bytes read and written: "
        "'aten.special_bessel_j0' (1), 'my.relu' (2)",
    )
    assert operation_seconds(graph, ROUND_DEVICE).tolist() == pytest.approx([148e-9] * 3)


def _body(graph: dict[str, Any]) -> dict[str, Any]:
    """Return an argument that is a graph, that of a program without weights."""
    return {"as_graph": {"name": "body", "graph": _graph(graph)}}


def _linear(*more: dict[str, Any], made: str = "l") -> dict[str, Any]:
    """Return the graph of a linear layer on what it is given, and of more calls."""
    layer = call("aten.linear.default", {"input": "t", "weight": "w", "bias": "b"}, "l")
    kinds = {"t": tensor(3, 8), "w": tensor(8, 8), "b": tensor(8)}
    kinds |= {name: tensor(3, 8) for name in ("l", "r")}
    return _body(torch_archives.program([layer, *more], kinds, ["t", "w", "b"], [made]))


# Products, and sums with the bias.
LINEAR = 2 * 3 * 8 * 8 + 3 * 8


@pytest.mark.parametrize("depth", [1, 2])
def test_branches_are_one_operator(tmp_path: Path, depth: int) -> None:
    """It costs what the dearer one does, of branches in branches, too, and a note says so."""
    relu = call("aten.relu.default", {"self": "l"}, "r")
    operands = {"as_tensors": [{"name": name} for name in ("t", "w", "b")]}
    dearer = _linear(relu, made="r")
    if depth == 2:
        inner = call(
            "higher_order.cond", {"": "l", "1": _linear(), "2": dearer, "3": operands}, "r"
        )
        dearer = _linear(inner, made="r")
    operands = {"as_tensors": [{"name": name} for name in ("x", "w0", "b0")]}
    content = torch_archives.program(
        [
            call("aten.gt.Scalar", {"self": "x", "other": {"as_int": 0}}, "p"),
            call("higher_order.cond", {"": "p", "1": _linear(), "2": dearer, "3": operands}, "y"),
        ],
        {"x": tensor(3, 8), "w0": tensor(8, 8), "b0": tensor(8), "y": tensor(3, 8)}
        | {"p": tensor(3, 8, dtype=12)},
        ["x"], ["y"], {"w0": "weight", "b0": "bias"},
    )  # fmt: skip
    graph = load_file(torch_archives.write(tmp_path, content))
    assert graph.op_types == ("Greater", "If")
    assert graph.flops.tolist() == [24, depth * LINEAR + 24]
    assert graph.param_bytes.tolist() == [0, 4 * (64 + 8)]
    assert graph.dtype == "float32"
    assert graph.notes == ("control flow 'If' is one operator, costed by its dearer branch",)


def test_loops_cost_one_iteration(tmp_path: Path) -> None:
    """With the condition; one operator has several results."""
    condition = torch_archives.program(
        [call("aten.lt.Scalar", {"self": "i", "other": {"as_int": 5}}, "p")],
        {"i": tensor(1), "p": tensor(1, dtype=12)},
        ["i"], ["p"],
    )  # fmt: skip
    body = torch_archives.program(
        [
            call("aten.add.Tensor", {"self": "i", "other": {"as_int": 1}}, "j"),
            call("aten.my_own.default", {"self": "t"}, "u"),
        ],
        {"i": tensor(1), "j": tensor(1), "t": tensor(3, 8), "u": tensor(3, 8)},
        ["i", "t"], ["j", "u"],
    )  # fmt: skip
    carried = {"as_tensors": [{"name": "n"}, {"name": "x"}]}
    given = {"": _body(condition), "1": _body(body), "2": carried, "3": {"as_tensors": []}}
    content = torch_archives.program(
        [call("higher_order.while_loop", given, "m", "y")],
        {"n": tensor(1), "m": tensor(1), "x": tensor(3, 8), "y": tensor(3, 8)},
        ["n", "x"], ["y"],
    )  # fmt: skip
    graph = load_file(torch_archives.write(tmp_path, content))
    assert graph.op_types == ("Loop",)
    assert graph.flops.tolist() == [2]
    assert graph.notes == (
        "control flow 'Loop' is one operator, costed by one iteration, without the arithmetic of "
        "1 unknown operator in it",
    )


def test_unknown_operators_of_constants_are_constants(tmp_path: Path) -> None:
    """What no input decides, and what no output needs, is computed before, or never."""
    content = _written(
        call("my.table.default", {"size": {"as_int": 4}}, "t"),
        call("my.lost.default", {"self": "x"}, "u"),
        call("aten.add.Tensor", {"self": "x", "other": "t"}, "y"),
        outputs=("y",),
    )
    graph = load_file(torch_archives.write(tmp_path, content))
    assert (graph.op_types, graph.notes) == (("Add",), ())


@pytest.mark.parametrize(
    ("one", "op_type", "flops"),
    [
        (call("aten.sort.default", {"self": "x"}, "y", "z"), "TopK", 16),
        (call("aten.argsort.default", {"self": "x"}, "y"), "TopK", 16),
        (call("aten.topk.default", {"self": "x", "k": {"as_int": 4}}, "y", "z"), "TopK", 16),
        (call("aten.cumsum.default", {"self": "x", "dim": {"as_int": 0}}, "y"), "CumSum", 16),
        (call("aten.argmax.default", {"self": "x", "dim": {"as_int": 1}}, "y"), "ArgMax", 16),
        (call("aten.var.dim", {"self": "x", "dim": {"as_ints": [1]}}, "y"), "Var", 64),
        (call("aten.scatter_add.default", {"self": "x", "index": "x", "src": "x"}, "y"),
         "ScatterElements", 0),
        (call("transformers.grouped_mm_fallback.default",
              {"input": "x", "weight": "e", "offs": "h"}, "y"), "MatMul", 4 * 4 * 2 * 4),
        # Of one gate: each step meets two matrices, and each has 4 rows.
        (call("aten.gru.input", {"input": "x", "hx": "h",
                                 "params": {"as_tensors": [{"name": "x"}, {"name": "x"}]}}, "y"),
         "GRU", 4 * 2 * (2 * 16 + 4)),
        # Sixteen numbers, of all axes or the last.
        (call("aten.fft_fftn.default", {"self": "x"}, "y"), "DFT", 5 * 16 * 4),
        (call("aten.fft_ifft.default", {"self": "x"}, "y"), "DFT", 5 * 16 * 2),
        (call("aten.fft_fft2.default", {"self": "h"}, "z3"), "DFT", 5 * 16 * 4),
        (call("aten._fft_c2c.default", {"self": "x", "dim": {"as_ints": [0]}}, "y"), "DFT",
         5 * 16 * 2),
        # Half, since one side has only real numbers.
        (call("aten.fft_rfft.default", {"self": "x"}, "r"), "DFT", 5 * 16 * 2 // 2),
        (call("aten.fft_irfft.default", {"self": "r"}, "y"), "DFT", 5 * 16 * 2 // 2),
        # Four frames of 16 numbers, each with a window.
        (call("aten.stft.default", {"self": "x", "n_fft": {"as_int": 16}}, "f"), "STFT",
         4 * (5 * 16 * 4 // 2 + 16)),
        (call("aten.cdist.default", {"x1": "x", "x2": "x"}, "y"), "Distance", 3 * 16 * 4),
        (call("aten.addmv.default", {"self": "w", "mat": "x", "vec": "w"}, "v"), "Gemm", 4 * 9),
        (call("aten.addbmm.default", {"self": "x", "batch1": "e", "batch2": "e"}, "y"), "Gemm",
         2 * 3 * 64 + 16),
        (call("aten.tensordot.default", {"self": "x", "other": "z", "dims_self": {"as_ints": [0]},
                                         "dims_other": {"as_ints": [1]}}, "y"), "MatMul", 128),
        (call("aten.bucketize.Tensor", {"self": "x", "boundaries": "w"}, "y"), "Bucketize", 16 * 3),
        (call("aten.searchsorted.Tensor", {"sorted_sequence": "w", "self": "x"}, "y"), "Bucketize",
         16 * 3),
        (call("aten.embedding_bag.default", {"weight": "x", "indices": "w"}, "y"), "EmbeddingBag",
         16),
        (call("aten.convolution.default",
              {"input": "i", "weight": "k", "stride": {"as_ints": [2, 2]},
               "padding": {"as_ints": [0, 0]}, "dilation": {"as_ints": [1, 1]},
               "transposed": {"as_bool": True}, "output_padding": {"as_ints": [0, 0]},
               "groups": {"as_int": 1}}, "j"), "ConvTranspose", 2 * 2 * 16 * 3 * 4),
        *(
            (call(f"aten.{name}.default", {"query": "h", "key": "h", "value": "h"}, "z3"),
             "Attention", 2 * 4 * 32 + 5 * 16)
            for name in ("_scaled_dot_product_attention_math",
                         "_scaled_dot_product_flash_attention_for_cpu",
                         "_scaled_dot_product_efficient_attention")
        ),
        (call("aten._fused_rms_norm.default", {"input": "x", "weight": "w"}, "y", "z"),
         "RMSNormalization", 64),
        # The window has no more than four by four numbers.
        (call("aten.avg_pool2d.default", {"self": "i", "kernel_size": {"as_ints": [9, 9]},
                                          "ceil_mode": {"as_bool": True}}, "p"), "AveragePool",
         2 * 16),
        (call("aten._upsample_bilinear2d_aa.default", {"input": "i"}, "j"), "Resize",
         7 * 3 * 64),
    ],
)  # fmt: skip
def test_operators_have_rules(
    tmp_path: Path, one: dict[str, Any], op_type: str, flops: int
) -> None:
    """Operators of language models and mixtures of experts are counted, without a note."""
    kinds = {**{name: tensor(4, 4) for name in "xyz"}, "h": tensor(1, 4, 4)}
    kinds |= {"e": tensor(3, 4, 4), "z3": tensor(1, 4, 4), "w": tensor(4), "v": tensor(4)}
    kinds |= {"r": tensor(4, 3, dtype=10), "f": tensor(9, 4, dtype=10)}
    kinds |= {"i": tensor(1, 2, 4, 4), "k": tensor(2, 3, 2, 2), "j": tensor(1, 3, 8, 8)}
    kinds["p"] = tensor(1, 2, 1, 1)
    made = [result["as_tensor"]["name"] for result in one["outputs"]]
    given = [name for name in "xhziwr" if name not in made]
    content = program([one], kinds, given, made[:1], {"e": "experts", "k": "filters"})
    graph = load_file(torch_archives.write(tmp_path, content))
    assert (graph.op_types, graph.flops.tolist(), graph.notes) == ((op_type,), [flops], ())


def test_casts_to_the_type_of_another(tmp_path: Path) -> None:
    """Only the type of the other counts, and a cast to the same type is none."""
    content = program(
        [
            call("aten.type_as.default", {"self": "x", "other": "i"}, "a"),
            call("aten.type_as.default", {"self": "a", "other": "i"}, "b"),
            call("aten.neg.default", {"self": "b"}, "y"),
        ],
        {"x": tensor(4), **{name: tensor(4, dtype=5) for name in "iaby"}},
        ["x", "i"],
        ["y"],
    )
    graph = load_file(torch_archives.write(tmp_path, content))
    assert graph.op_types == ("Cast", "Neg")
    assert [one.reads for one in graph.operators] == [(0,), (1,)]


def _changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    content = two_layers()
    change(content)
    return archive(content)


def _graph(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = content["graph_module"]["graph"]
    return found


def _twice() -> bytes:
    both = {"other/models/model.json": json.dumps(two_layers()).encode()}
    return archive(two_layers(), both)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty; expected an exported program"),
        (b"PK", "no complete zip archive"),
        (archive(two_layers())[:200], "no complete zip archive"),
        (archive([]), r"expected an object, found \[\]"),
        (archive({}), "'schema_version' is None; expected an object"),
        (_twice(), "found 2 entries"),
        (archive(two_layers(), method=zipfile.ZIP_LZMA), "compressed by method 14; expected none"),
        (_changed(lambda x: x["schema_version"].update(major=9)), "version 9; expected 8"),
        (_changed(lambda x: _graph(x).update(nodes=3)), "'nodes' is 3; expected a list"),
        (_changed(lambda x: _graph(x).update(nodes=[3])), "node 0: it is 3; expected an object"),
        (_changed(lambda x: _graph(x)["nodes"].reverse()), "'r', which nothing before it makes"),
        (
            _changed(lambda x: _graph(x)["nodes"].append(_graph(x)["nodes"][0])),
            "node 3: .*'l0' is made twice",
        ),
        (
            _changed(lambda x: _graph(x)["tensor_values"].update(r=tensor(-1))),
            "the shape of tensor '1/Relu'",
        ),
        (
            _changed(lambda x: _graph(x)["tensor_values"].update(r=tensor(2**64))),
            "expected an integer of 64 bits",
        ),
        (
            _changed(lambda x: _graph(x)["tensor_values"].update(r=tensor(*[2**40] * 64))),
            "larger than|64 bits|2\\^63",
        ),
        (_changed(lambda x: _graph(x)["tensor_values"].update(r=tensor(*[1] * 65))), "65 sizes"),
        (
            _changed(lambda x: _graph(x)["tensor_values"].update(r=tensor(("u0", None)))),
            "size 'u0' depends on the data",
        ),
        (
            _changed(lambda x: _graph(x)["tensor_values"].update(r=tensor(3, dtype=99))),
            "dtype is 99; expected a type of numbers",
        ),
        (
            _changed(lambda x: _graph(x)["tensor_values"].update(w0=tensor(), x=tensor())),
            "expected operators with arguments and shapes as torch has them",
        ),
        (
            _changed(lambda x: _graph(x)["nodes"][1].update(target="torch.ops.higher_order.cond")),
            "higher_order.cond does not name two graphs",
        ),
        (
            _changed(lambda x: _graph(x)["nodes"][1].update(target="torch.ops.higher_order.map")),
            "higher_order.map: this control flow is not supported",
        ),
        (
            _changed(
                lambda x: _graph(x)["nodes"][1]["inputs"].append(
                    {"name": "n", "arg": {"as_ints": ["a"]}}
                )
            ),
            "as_ints is \\['a'\\]",
        ),
        (
            _changed(lambda x: _graph(x)["nodes"][1]["metadata"].update(nn_module_stack="a,b")),
            "expected a key, a path and a type",
        ),
    ],
)
def test_unusable_files_are_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    """Each mistake ends in one sentence that names the file."""
    path = tmp_path / "own.pt2"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=expected) as caught:
        load_file(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_programs_of_older_files(tmp_path: Path) -> None:
    """Up to torch 2.7, the program lay in the archive by itself, pickles beside it."""
    path, planted = tmp_path / "own.pt2", tmp_path / "planted"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("serialized_exported_program.json", json.dumps(two_layers()))
        file.writestr("serialized_state_dict.pt", _pickled(planted))
        file.writestr("serialized_example_inputs.pt", _pickled(planted))
        file.writestr("version", "8.1")
    assert load_file(path).names == ("0/Gemm", "1/Relu", "2/Gemm")
    assert not planted.exists()


def test_large_programs_are_not_inflated(tmp_path: Path) -> None:
    """A small archive cannot fill the memory."""
    path = tmp_path / "own.pt2"
    path.write_bytes(archive({"x": " " * 2**24}, method=zipfile.ZIP_DEFLATED))
    assert path.stat().st_size < 2**17
    with pytest.raises(InvalidInputError, match="the program has more than 1 MiB"):
        torch_file.load(path, largest_program=2**20)


def test_special_files_are_refused(tmp_path: Path) -> None:
    """A pipe is not waited for."""
    path = tmp_path / "own.pt2"
    os.mkfifo(path)
    with pytest.raises(InvalidInputError, match=r"own\.pt2 cannot be read: it is no regular file"):
        load_file(path)
