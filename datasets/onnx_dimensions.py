"""Dimensions that an ONNX model leaves open, e.g. batch and sequence length."""

from collections.abc import Mapping

from onnx import GraphProto

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.quoted import quoted

# More elements than anybody has memory for; products of a few of them fit into 64 bits.
LARGEST_SIZE = 2**31 - 1

# Names in a warning.
MOST_NAMED = 8


def fix_dimensions(graph: GraphProto, dims: Mapping[str, int]) -> tuple[str, ...]:
    """Give every open dimension of a graph's inputs a size, and say which were not given.

    Dimensions without a name are called after the input and their position, e.g. ``input_ids.0``.

    Parameters
    ----------
    dims
        Sizes by name.

    Returns
    -------
    Sentences about what was taken for granted.

    Raises
    ------
    InvalidInputError
        If no dimension has a name that is given, or a size is not positive.
    """
    for name, size in dims.items():
        if not 1 <= size <= LARGEST_SIZE:
            raise InvalidInputError(
                f"dimension {quoted(name)} is {size}; expected 1 to {LARGEST_SIZE}."
            )
    initial = {tensor.name for tensor in graph.initializer}
    named: dict[str, int] = {}
    open_names: dict[str, None] = {}
    for value in graph.input:
        if value.name in initial:
            continue
        for at, dim in enumerate(value.type.tensor_type.shape.dim):
            if not dim.HasField("dim_param") and dim.dim_value >= 1:
                continue
            name = dim.dim_param or f"{value.name}.{at}"
            open_names[name] = None
            size = dims.get(name, 1)
            if dim.dim_param:
                named[name] = size
            dim.dim_value = size
    unknown = [name for name in dims if name not in open_names]
    if unknown:
        known = ", ".join(open_names) or "none: the sizes of all inputs are fixed"
        raise InvalidInputError(
            f"there is no open dimension {quoted(unknown[0])}; the model has {known}."
        )
    for value in (*graph.value_info, *graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in named:
                dim.dim_value = named[dim.dim_param]
    assumed = [name for name in open_names if name not in dims]
    if not assumed:
        return ()
    shown = ", ".join(assumed[:MOST_NAMED]) + (", ..." if len(assumed) > MOST_NAMED else "")
    plural = "dimensions are" if len(assumed) > 1 else "dimension is"
    return (
        f"{len(assumed)} open {plural} taken to be 1: {shown}; "
        f"give sizes with --dim {assumed[0]}=SIZE",
    )
