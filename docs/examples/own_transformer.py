"""Write an encoder of a few layers as ONNX: `python own_transformer.py own.onnx`.

Stands for a model of your own; the length of the sequence is left open. Weights are random.
"""

import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

LAYERS, WIDTH, HEADS, WORDS = 6, 512, 8, 16_000


def main(path: str) -> None:
    """Write the model."""
    nodes, weights = [], []
    generator = np.random.default_rng(1)

    def weight(name: str, *shape: int) -> str:
        values = generator.standard_normal(shape, np.float32)
        weights.append(numpy_helper.from_array(values, name))
        return name

    def shape(name: str, *sizes: int) -> str:
        weights.append(numpy_helper.from_array(np.array(sizes, np.int64), name))
        return name

    def node(kind: str, name: str, *inputs: str, **settings: object) -> str:
        nodes.append(helper.make_node(kind, inputs, [name], name, **settings))
        return name

    def linear(name: str, x: str, columns: int, rows: int = WIDTH) -> str:
        y = node("MatMul", f"{name}/product", x, weight(f"{name}.weight", rows, columns))
        return node("Add", f"{name}/bias", y, weight(f"{name}.bias", columns))

    def norm(name: str, x: str) -> str:
        scale, bias = weight(f"{name}.scale", WIDTH), weight(f"{name}.shift", WIDTH)
        return node("LayerNormalization", name, x, scale, bias)

    def heads(name: str, x: str, order: list[int]) -> str:
        split = shape(f"{name}.shape", 0, 0, HEADS, WIDTH // HEADS)
        return node("Transpose", name, node("Reshape", f"{name}/split", x, split), perm=order)

    x = node("Gather", "embedding", weight("words", WORDS, WIDTH), "tokens")
    for number in range(LAYERS):
        at = f"layer{number}"
        y = norm(f"{at}/norm1", x)
        query = heads(f"{at}/query", linear(f"{at}/to_query", y, WIDTH), [0, 2, 1, 3])
        key = heads(f"{at}/key", linear(f"{at}/to_key", y, WIDTH), [0, 2, 3, 1])
        value = heads(f"{at}/value", linear(f"{at}/to_value", y, WIDTH), [0, 2, 1, 3])
        scores = node("Softmax", f"{at}/softmax", node("MatMul", f"{at}/scores", query, key))
        mixed = node("MatMul", f"{at}/mixed", scores, value)
        together = node("Transpose", f"{at}/together", mixed, perm=[0, 2, 1, 3])
        joined = node("Reshape", f"{at}/join", together, shape(f"{at}.width", 0, 0, WIDTH))
        x = node("Add", f"{at}/add1", x, linear(f"{at}/output", joined, WIDTH))
        inner = linear(f"{at}/widen", norm(f"{at}/norm2", x), 4 * WIDTH)
        active = node("Relu", f"{at}/relu", inner)
        x = node("Add", f"{at}/add2", x, linear(f"{at}/narrow", active, WIDTH, 4 * WIDTH))
    node("Identity", "encoded", norm("norm", x))
    tokens = helper.make_tensor_value_info("tokens", TensorProto.INT64, [1, "seq"])
    encoded = helper.make_tensor_value_info("encoded", TensorProto.FLOAT, [1, "seq", WIDTH])
    graph = helper.make_graph(nodes, "own", [tokens], [encoded], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    save(model, path)


if __name__ == "__main__":
    main(sys.argv[1])
