"""Reading of models, and their costs: time and memory should grow with nodes, and no faster."""

import tempfile
from pathlib import Path

import boundmark
from boundmark.datasets.readers.onnx import file as onnx_file
from boundmark.problems.devices import find_device
from boundmark.problems.roofline import operation_seconds


class Onnx:
    """A chain of blocks as in image classifiers: a fifth of the nodes has weights."""

    params = (5_000, 20_000)
    param_names = ("nodes",)
    timeout = 120

    def setup(self, nodes: int) -> None:
        from onnx import TensorProto, helper

        operators, weights = [], []
        last = "x"
        for block in range(nodes // 5):
            name = [f"{block}_{step}" for step in range(5)]
            operators += [
                helper.make_node("Conv", [last, f"w{block}"], [name[0]], auto_pad="SAME_UPPER"),
                helper.make_node("Relu", [name[0]], [name[1]]),
                helper.make_node("Add", [name[1], last], [name[2]]),
                helper.make_node("Softmax", [name[2]], [name[3]], axis=-3),
                helper.make_node("Transpose", [name[3]], [name[4]], perm=[0, 1, 3, 2]),
            ]
            # The values are left out, as if they were in a file of their own.
            kind, place = TensorProto.FLOAT, TensorProto.EXTERNAL
            weight = TensorProto(name=f"w{block}", dims=[16, 16, 3, 3], data_type=kind)
            weight.data_location = place
            weights.append(weight)
            last = name[4]
        ends = [
            helper.make_tensor_value_info(tensor, TensorProto.FLOAT, [1, 16, 14, 14])
            for tensor in ("x", last)
        ]
        graph = helper.make_graph(operators, "chain", ends[:1], ends[1:], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "chain.onnx"
        self.path.write_bytes(model.SerializeToString())

    def teardown(self, nodes: int) -> None:
        self.folder.cleanup()

    def time_load(self, nodes: int) -> None:
        onnx_file.load(self.path)

    def peakmem_load(self, nodes: int) -> None:
        onnx_file.load(self.path)


class Costs:
    """A graph of training with 13,568 operators; calibrated costs put each into a class first."""

    params = ("nvidia-h100", "nvidia-h100+calibrated")
    param_names = ("device",)

    def setup(self, device: str) -> None:
        self.graph, self.device = (
            boundmark.load("zoo/mt5-1.8b-training").source,
            find_device(device),
        )

    def time_operation_seconds(self, device: str) -> None:
        operation_seconds(self.graph, self.device)
