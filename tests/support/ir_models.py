"""Models in OpenVINO IR, written by hand as `openvino.save_model` writes them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from xml.sax.saxutils import quoteattr

# Layer: name, type, settings, shapes of inputs, shapes of outputs.
Layer = tuple[str, str, Mapping[str, str], Sequence[Sequence[int]], Sequence[Sequence[int]]]


def ir_text(
    layers: Sequence[Layer],
    edges: Sequence[tuple[int, int, int]],
    precisions: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the file of some layers.

    Parameters
    ----------
    edges
        Number of the layer that is read, from its first output; number of the reader; which input.
    precisions
        Of outputs, by the layer's name; FP32 of others.
    """
    lines = ['<?xml version="1.0"?>', '<net name="model" version="11">', "<layers>"]
    for number, (name, kind, data, inputs, outputs) in enumerate(layers):
        settings = "".join(f" {key}={quoteattr(value)}" for key, value in data.items())
        lines.append(f'<layer id="{number}" name={quoteattr(name)} type="{kind}" version="opset1">')
        lines.append(f"<data{settings} />")
        port = 0
        for side, shapes in (("input", inputs), ("output", outputs)):
            lines.append(f"<{side}>")
            for shape in shapes:
                dims = "".join(f"<dim>{extent}</dim>" for extent in shape)
                kind = precisions.get(name, "FP32") if side == "output" else "FP32"
                lines.append(f'<port id="{port}" precision="{kind}">{dims}</port>')
                port += 1
            lines.append(f"</{side}>")
        lines.append("</layer>")
    lines += ["</layers>", "<edges>"]
    for tail, head, into in edges:
        out = len(layers[tail][3])
        lines.append(
            f'<edge from-layer="{tail}" from-port="{out}" to-layer="{head}" to-port="{into}" />'
        )
    return "\n".join([*lines, "</edges>", "</net>", ""])


CONVOLUTION = ir_text(
    [
        ("x", "Parameter", {"shape": "1,4,8,8", "element_type": "f32"}, [], [(1, 4, 8, 8)]),
        ("w", "Const", {"shape": "2,3,2,3,3", "offset": "0", "size": "432"}, [], [(2, 3, 2, 3, 3)]),
        (
            "conv", "GroupConvolution",
            {"strides": "2, 2", "pads_begin": "1, 1", "pads_end": "1, 1", "dilations": "1, 1"},
            [(1, 4, 8, 8), (2, 3, 2, 3, 3)], [(1, 6, 4, 4)],
        ),
        ("b", "Const", {"shape": "1,6,1,1"}, [], [(1, 6, 1, 1)]),
        ("add", "Add", {}, [(1, 6, 4, 4), (1, 6, 1, 1)], [(1, 6, 4, 4)]),
        ("relu", "ReLU", {}, [(1, 6, 4, 4)], [(1, 6, 4, 4)]),
        (
            "pool", "MaxPool", {"strides": "2, 2", "kernel": "2, 2", "pads_begin": "0, 0",
                                "pads_end": "0, 0"},
            [(1, 6, 4, 4)], [(1, 6, 2, 2)],
        ),
        ("out", "Result", {}, [(1, 6, 2, 2)], []),
    ],
    [(0, 2, 0), (1, 2, 1), (2, 4, 0), (3, 4, 1), (4, 5, 0), (5, 6, 0), (6, 7, 0)],
)  # fmt: skip

PRODUCTS = ir_text(
    [
        ("x", "Parameter", {}, [], [(2, 5, 8)]),
        ("w", "Const", {}, [], [(16, 8)]),
        ("half", "Convert", {"destination_type": "f32"}, [(16, 8)], [(16, 8)]),
        ("fc", "MatMul", {"transpose_a": "false", "transpose_b": "true"}, [(2, 5, 8), (16, 8)],
         [(2, 5, 16)]),
        ("scores", "MatMul", {"transpose_a": "false", "transpose_b": "true"},
         [(2, 5, 16), (2, 5, 16)], [(2, 5, 5)]),
        ("softmax", "SoftMax", {"axis": "-1"}, [(2, 5, 5)], [(2, 5, 5)]),
        ("shape", "ShapeOf", {}, [(2, 5, 5)], [(3,)]),
        ("same", "Reshape", {}, [(2, 5, 5), (3,)], [(2, 5, 5)]),
        ("odd", "Frobnicate", {}, [(2, 5, 5)], [(2, 5, 5)]),
        ("unused", "Exp", {}, [(2, 5, 5)], [(2, 5, 5)]),
        ("out", "Result", {}, [(2, 5, 5)], []),
    ],
    [
        (0, 3, 0), (1, 2, 0), (2, 3, 1), (3, 4, 0), (3, 4, 1), (4, 5, 0), (5, 6, 0), (5, 7, 0),
        (6, 7, 1), (7, 8, 0), (7, 9, 0), (8, 10, 0),
    ],
)  # fmt: skip
