"""`boundmark split`: files for the stages, and a run that compares."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from command_line import Boundmark
from onnx import TensorProto, helper, numpy_helper

from boundmark.benchmarks.measuring.pipeline.stage_files import largest_difference

STAGES = {"a": 3, "b": 3, "c": 5, "d": 5}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Write a chain of four products with random weights, and an open batch."""
    return written(tmp_path / "model.onnx", scale=1.0)


def written(path: Path, scale: float) -> Path:
    """Write that model with weights of some size."""
    generator = np.random.default_rng(1)
    names = list(STAGES)
    ends = ["x", *names[:-1]]
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", [last, f"w{name}"], [name], name=name)
            for last, name in zip(ends, names, strict=True)
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])],
        [helper.make_tensor_value_info("d", TensorProto.FLOAT, ["batch", 8])],
        [
            numpy_helper.from_array(
                scale * generator.standard_normal((8, 8)).astype(np.float32), f"w{name}"
            )
            for name in names
        ],
    )
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[opset]), path)
    return path


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """Write a partition into two stages, oddly numbered."""
    path = tmp_path / "mine.csv"
    rows = [f"{name},{stage}" for name, stage in STAGES.items()]
    path.write_text("\n".join(["operator,stage", *rows]))
    return path


def test_files(boundmark: Boundmark, model: Path, partition: Path, tmp_path: Path) -> None:
    """One per stage, in the order in which data flows; old ones do not mix with new ones."""
    out = tmp_path / "stages"
    command = ("split", model, "--solution", partition, "--out", out, "--no-check")
    done = boundmark(*command, "--dim", "batch=5")
    assert "stage-0.onnx: 2 operators, 1 inputs, 1 outputs" in done.stdout
    first, second = (onnx.load(out / f"stage-{number}.onnx") for number in (0, 1))
    assert [node.name for node in first.graph.node] == ["a", "b"]
    assert [value.name for value in second.graph.input] == ["b"]
    assert [dim.dim_value for dim in second.graph.input[0].type.tensor_type.shape.dim] == [5, 8]
    (out / "stage-2.onnx").write_bytes(b"")
    done = boundmark(*command, check=False)
    assert done.returncode == 2
    assert "holds stage-2.onnx, which is none of the 2 stages" in " ".join(done.stderr.split())


def test_a_backward_pass_is_not_cut(boundmark: Boundmark, model: Path, tmp_path: Path) -> None:
    """It runs on the stages of the forward pass, so that stages do not follow one another."""
    changed = onnx.load(model)
    changed.graph.node[3].name = "a/grad/MatMul"
    onnx.save(changed, model)
    partition = tmp_path / "mine.csv"
    partition.write_text("operator,stage\na,0\nb,0\nc,1\n")
    done = boundmark("split", model, "--solution", partition, "--out", tmp_path / "x", check=False)
    assert done.returncode == 2
    assert "model.onnx has a backward pass, which runs through" in " ".join(done.stderr.split())


def test_the_stages_are_run(
    boundmark: Boundmark, model: Path, partition: Path, tmp_path: Path
) -> None:
    """What they compute is the model's; other weights are noticed."""
    pytest.importorskip("onnxruntime")
    out = tmp_path / "stages"
    command = ("split", model, "--solution", partition, "--out", out, "--dim", "batch=3")
    assert "largest difference 0, where values are up to" in boundmark(*command).stdout
    paths = [out / "stage-0.onnx", out / "stage-1.onnx"]
    assert largest_difference(model, paths, {"batch": 3})[0] == 0.0
    changed = onnx.load(paths[1])
    weights = changed.graph.initializer[0]
    weights.CopyFrom(numpy_helper.from_array(2 * numpy_helper.to_array(weights), weights.name))
    onnx.save(changed, paths[1])
    difference, largest = largest_difference(model, paths, {"batch": 3})
    assert difference > 0.1 * largest


def test_small_values_are_compared_too(
    boundmark: Boundmark, partition: Path, tmp_path: Path
) -> None:
    """Outputs of a millionth are not the same because all of them are small."""
    pytest.importorskip("onnxruntime")
    small = written(tmp_path / "small.onnx", scale=0.01)
    command = ("split", small, "--solution", partition, "--out", tmp_path / "stages")
    boundmark(*command)
    # Drawn at another place in the model than in its part, these are other numbers.
    drawn = onnx.load(small)
    drawn.graph.node[2].CopyFrom(
        helper.make_node("RandomNormalLike", ["b"], ["c"], name="c", scale=1e-3)
    )
    onnx.save(drawn, small)
    done = boundmark(*command, check=False)
    assert done.returncode == 1
    assert "the parts do not compute what the model does" in done.stderr


def test_zeros_show_nothing(boundmark: Boundmark, partition: Path, tmp_path: Path) -> None:
    """A comparison that cannot fail says so."""
    pytest.importorskip("onnxruntime")
    zeros = written(tmp_path / "zeros.onnx", scale=0.0)
    done = boundmark("split", zeros, "--solution", partition, "--out", tmp_path / "stages")
    assert "all outputs are 0" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--dim", "seq=2"), "there is no open dimension 'seq'; the model has batch"),
        (("-k", "1"), "the partition uses stages 3 to 5; expected 0 to 0."),
        (("--device", "none"), "there is no device"),
    ],
)
def test_mistakes(
    boundmark: Boundmark, model: Path, partition: Path, options: tuple[str, ...], message: str
) -> None:
    """Each is a sentence and exit code 2, and nothing is written."""
    out = model.parent / "stages"
    command = ("split", model, "--solution", partition, "--out", out)
    done = boundmark(*command, *options, check=False)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert not out.exists()


def test_only_models_can_be_cut(boundmark: Boundmark, partition: Path) -> None:
    """Graphs with costs have no operators to run."""
    done = boundmark(
        "split", "onnx-light/alexnet", "--solution", partition, "--out", partition.parent / "s",
        check=False,
    )  # fmt: skip
    assert "onnx-light/alexnet is no ONNX file" in " ".join(done.stderr.split())


def test_placements_are_cut_where_data_change_devices(
    boundmark: Boundmark, model: Path, tmp_path: Path
) -> None:
    """A device that is returned to has a part for each visit, and together they are the model."""
    pytest.importorskip("onnxruntime")
    placement = tmp_path / "mine.csv"
    placement.write_text("operator,device\na,CPU\nb,GPU.1\nc,CPU\nd,CPU\n")
    out = tmp_path / "parts"
    command = ("split", model, "--problem", "placement", "--solution", placement, "--out", out)
    done = boundmark(*command, "--device", "hsdag-two-devices", "--dim", "batch=3")
    said = [line.split(": ")[1] for line in done.stdout.splitlines()[:3]]
    assert said == [
        "1 operators on CPU, 1 inputs, 1 outputs",
        "1 operators on GPU.1, 1 inputs, 1 outputs",
        "2 operators on CPU, 1 inputs, 1 outputs",
    ]
    assert "largest difference 0, where values are up to" in done.stdout


@pytest.mark.parametrize("option", [("-k", "2"), ("--time",)])
def test_placements_have_no_stages(
    boundmark: Boundmark, model: Path, partition: Path, option: tuple[str, ...]
) -> None:
    """Neither to be counted nor to be timed."""
    done = boundmark(
        "split", model, "--problem", "placement", "--solution", partition,
        "--out", model.parent / "parts", *option, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "-k and --time are for partitions" in " ".join(done.stderr.split())
