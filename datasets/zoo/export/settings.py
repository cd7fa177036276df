"""Translates arguments of ATen operators to attributes of ONNX.

Each function takes the arguments by torch's names and the shapes of the tensors that the operator
reads, in the order of ONNX, and of those that it writes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Arguments: TypeAlias = Mapping[str, Any]
Attributes: TypeAlias = dict[str, Any]


def _many(value: Any, length: int) -> tuple[int, ...]:
    """Return a setting for each spatial dimension; torch allows one for all, or none."""
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    return values * length if len(values) == 1 else values


def of_convolution(
    arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]
) -> Attributes:
    """Return the window; padding that torch calls "same" is larger at the end."""
    kernel = inputs[1][2:]
    pads = arguments["padding"]
    dilations = _many(arguments["dilation"], len(kernel))
    if isinstance(pads, str):
        whole = [
            d * (k - 1) if pads == "same" else 0 for d, k in zip(dilations, kernel, strict=True)
        ]
        begins, ends = [x // 2 for x in whole], [x - x // 2 for x in whole]
    else:
        begins = ends = list(_many(pads, len(kernel)))
    return {
        "kernel_shape": tuple(kernel),
        "strides": _many(arguments["stride"], len(kernel)),
        "dilations": dilations,
        "pads": (*begins, *ends),
        "group": arguments["groups"],
    }


def of_pool(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return the window; without a stride it moves by its own size."""
    dims = len(inputs[0]) - 2
    kernel = _many(arguments["kernel_size"], dims)
    return {
        "kernel_shape": kernel,
        "strides": _many(arguments["stride"], dims) if arguments["stride"] else kernel,
        "dilations": _many(arguments.get("dilation", 1), dims),
        "pads": _many(arguments["padding"], dims) * 2,
    }


def of_adaptive_pool(
    arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]
) -> Attributes:
    """Return the window that torch uses if the sizes divide, the largest of its windows if not."""
    dims = len(arguments["output_size"])
    before, after = inputs[0][-dims:], outputs[0][-dims:]
    return {
        "kernel_shape": tuple(-(-b // a) for b, a in zip(before, after, strict=True)),
        "strides": tuple(max(1, b // a) for b, a in zip(before, after, strict=True)),
        "dilations": (1,) * dims,
        "pads": (0,) * 2 * dims,
    }


def axis(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return the axis along which tensors are joined."""
    return {"axis": arguments["dim"] % max(1, len(outputs[0]))}


def axes(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return the axes that are reduced or normalised."""
    rank = len(inputs[0])
    dim = arguments.get("dim")
    given = tuple(dim) if isinstance(dim, list | tuple) else (dim,)
    # None of them stands for all.
    dims = range(rank) if given in ((), (None,)) else given
    return {"axes": tuple(sorted(x % max(1, rank) for x in dims))}


def swapped(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return a permutation that swaps two dimensions."""
    rank = len(inputs[0])
    order = list(range(rank))
    one = arguments.get("dim0", arguments.get("axis0", 0))
    other = arguments.get("dim1", arguments.get("axis1", 1))
    if rank > 1:
        order[one], order[other] = order[other], order[one]
    return {"perm": tuple(order)}


def permuted(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return a permutation of all dimensions."""
    rank = len(inputs[0])
    return {"perm": tuple(x % rank for x in arguments["dims"])}


def sliced(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return where a slice of one dimension begins and ends."""
    axis = arguments["dim"] % len(inputs[0])
    extent = inputs[0][axis]
    start = min(extent, (arguments["start"] or 0))
    start = max(0, start + extent) if start < 0 else start
    step = arguments["step"]
    return {
        "axes": (axis,),
        "starts": (start,),
        "ends": (min(extent, start + outputs[0][axis] * step),),
        "steps": (step,),
    }


def transposed_b(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return that weights are stored as rows of outputs."""
    return {"transB": 1}


def equation(arguments: Arguments, inputs: Sequence[Any], outputs: Sequence[Any]) -> Attributes:
    """Return how a sum of products is written."""
    return {"equation": arguments["equation"]}
