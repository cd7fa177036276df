"""Import of ONNX models: time and memory should grow with the number of nodes, and no faster."""

import tempfile
from pathlib import Path


class Import:
    """A chain of blocks as in image classifiers: a fifth of the nodes has weights."""

    params = (5_000, 20_000)
    param_names = ("nodes",)
    timeout = 120

    def setup(self, nodes: int) -> None:
        from onnx import TensorProto, helper

        from boundmark.datasets.readers.onnx import file as onnx_file

        self.load = onnx_file.load
        shape = [1, 16, 14, 14]
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
            weights.append(
                TensorProto(
                    name=f"w{block}",
                    dims=[16, 16, 3, 3],
                    data_type=TensorProto.FLOAT,
                    data_location=TensorProto.EXTERNAL,
                )
            )
            last = name[4]
        ends = [
            helper.make_tensor_value_info(tensor, TensorProto.FLOAT, shape)
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
        self.load(self.path)

    def peakmem_load(self, nodes: int) -> None:
        self.load(self.path)

    def track_bytes_a_node(self, nodes: int) -> float:
        import tracemalloc

        tracemalloc.start()
        graph = self.load(self.path)
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return kept / len(graph.operators)
