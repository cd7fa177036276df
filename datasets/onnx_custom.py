"""Custom operators: those that ONNX does not know, in domains of other people's."""

from collections.abc import Callable, Mapping

from onnx import GraphProto, ModelProto, NodeProto

from boundmark.datasets.onnx_attributes import signature
from boundmark.datasets.onnx_control_flow import bodies
from boundmark.datasets.onnx_tensors import known_tensors


def is_custom(node: NodeProto, versions: Mapping[str, int]) -> bool:
    """Whether ONNX has no definition of a node's type in the version that the model imports."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    return not signature(node.op_type, versions.get(domain, 0), domain).version


def with_assumed_shapes(
    model: ModelProto,
    versions: Mapping[str, int],
    infer: Callable[[ModelProto], ModelProto],
) -> tuple[ModelProto, set[str]]:
    """Give outputs of custom operators whose shapes are unknown those of the first input.

    Parameters
    ----------
    infer
        Infers shapes; called again after each round of assumptions, because others follow.

    Returns
    -------
    The model, and the names of the outputs.
    """
    assumed: set[str] = set()
    if not any(is_custom(node, versions) for node in model.graph.node):
        return model, assumed
    while found := _assume(model.graph, versions):
        assumed |= found
        model = infer(model)
    return model, assumed


def _assume(graph: GraphProto, versions: Mapping[str, int]) -> set[str]:
    known = known_tensors(graph)
    types = dict(known.types)
    weights = {tensor.name for tensor in graph.initializer}
    found: dict[str, tuple[tuple[int, ...], int]] = {}
    for node in graph.node:
        if not is_custom(node, versions) or bodies(node):
            continue
        data = [name for name in node.input if name in types and name not in weights]
        for output in node.output:
            if output and output not in types and data:
                found[output] = types[output] = types[data[0]]
    kept = [value for value in graph.value_info if value.name not in found]
    del graph.value_info[:]
    graph.value_info.extend(kept)
    stated = {value.name: value for value in graph.output}
    for name, (shape, element) in found.items():
        value = stated[name] if name in stated else graph.value_info.add()
        value.name = name
        value.type.tensor_type.elem_type = element
        value.type.tensor_type.ClearField("shape")
        value.type.tensor_type.shape.SetInParent()
        for extent in shape:
            value.type.tensor_type.shape.dim.add().dim_value = extent
    return set(found)
