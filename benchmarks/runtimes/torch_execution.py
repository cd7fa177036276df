"""Programs of torch.export in a form that PyTorch runs operator by operator.

A program is built from its JSON; that of a program or module in memory is what torch would store.
So nothing of a file is unpickled, and its weights are random, of the shapes that it states.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from boundmark.benchmarks.runtimes.torch_building import (
    Building,
    RandomValues,
    rows_of,
    torch_dtype,
)
from boundmark.datasets.readers.kernel_recognition import with_kernels
from boundmark.datasets.readers.torch_export import file as torch_file
from boundmark.datasets.readers.torch_export.file import SCHEMA
from boundmark.datasets.readers.torch_export.schema import object_in
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import (
    BoundmarkError,
    InvalidInputError,
    MissingFileError,
    extra_with,
    quoted,
)
from boundmark.problems.files import naming


@dataclass(frozen=True, eq=False)
class Program:
    """A program of torch.export on a device, and the operators of its graph.

    Attributes
    ----------
    module
        A `torch.fx.GraphModule`, whose buffers are the weights; ``module(*inputs)`` returns a tuple
        of the results. Each node that is a tensor has its type, a `StoredTensor`, as
        ``meta["val"]``; a call with several results has a tuple of them.
    inputs
        Tensors.
    graph
        As `boundmark.load` reads it, by the same names, with kernels.
    nodes
        For each operator of the graph, the calls of `torch.fx` that it consists of: its own, and
        those that copy its result or take it from several. No operator has calls that compute
        constants, checks, and what no result depends on.
    device
        A `torch.device`.
    is_random
        Whether weights and inputs are made up.
    written
        Inputs and buffers that the program writes in place, and copies of their first values.
    """

    module: Any
    inputs: tuple[Any, ...]
    graph: ComputationGraph
    nodes: tuple[tuple[Any, ...], ...]
    device: Any
    is_random: bool
    written: tuple[tuple[Any, Any], ...]

    def reset(self) -> None:
        """Give inputs and buffers that the program writes in place their first values again."""
        for tensor, original in self.written:
            tensor.copy_(original)


def default_device() -> str:
    """Return the kind of device on which programs run unless the user says: a GPU if there is one.

    Raises
    ------
    MissingFileError
        If torch is not installed.
    """
    return "cuda" if _torch().cuda.is_available() else "cpu"


def runnable(net: Any, example_inputs: object = None, device: str | None = None) -> Program:
    """Return a program that PyTorch runs.

    Parameters
    ----------
    net
        Path of a file of `torch.export.save`, of which only the program is read; or a
        `torch.export.ExportedProgram`, or a `torch.nn.Module`, which keep their weights.
    example_inputs
        Arguments: a tuple, a dict by name, or the only one. A module needs them. A program keeps
        those that it was recorded with, and a file has random ones.
    device
        ``"cpu"``, ``"cuda"`` or ``"cuda:1"``; ``"meta"`` for a program that takes no memory and is
        not to run; None for `default_device`.

    Raises
    ------
    InvalidInputError
        If boundmark does not read the program, or the inputs are not of its shapes.
    MissingFileError
        If torch, or the device, is not there.
    """
    torch = _torch()
    place = torch.device(device or default_device())
    if place.type == "cuda" and not torch.cuda.is_available():
        raise MissingFileError("torch finds no GPU; expected one for the device 'cuda'.")
    if isinstance(net, str | Path):
        path = Path(net)
        with naming(path):
            content = torch_file.content(path)
        with naming(path):
            return _built(content, place, {}, example_inputs)
    from boundmark.datasets.python_objects import from_program, is_of, recorded
    from boundmark.datasets.readers.torch_export.graph_module import functional

    program = net if is_of(net, "torch", "ExportedProgram") else recorded(net, example_inputs)
    content = _content(program)
    if torch_file.graph_of(content)[0].names != from_program(program).names:
        # Where torch takes operators apart that write in place, they have other names.
        program = functional(program)
        content = _content(program)
    return _built(content, place, _weights(program), program.example_inputs)


def _torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingFileError(f"PyTorch is not installed{extra_with('torch')}.") from error
    return torch


def _content(program: Any) -> Mapping[str, Any]:
    """Return what `torch.export.save` would store of a program, without weights."""
    from torch._export.serde.serialize import GraphModuleSerializer, _dataclass_to_dict

    stored = GraphModuleSerializer(program.graph_signature, program.module_call_graph).serialize(
        program.graph_module
    )
    return {"graph_module": _dataclass_to_dict(stored), "schema_version": {"major": SCHEMA}}


def _weights(program: Any) -> dict[str, Any]:
    """Return the weights of a program by placeholder; copies of those that it may write to."""
    signature, found = program.graph_signature, {}
    values = {**program.constants, **program.state_dict}
    for name, own in signature.inputs_to_parameters.items():
        found[name] = values[own].detach()
    for names in (signature.inputs_to_buffers, signature.inputs_to_lifted_tensor_constants):
        for name, own in names.items():
            found[name] = values[own].detach().clone()
    return found


def _built(
    content: Mapping[str, Any], device: Any, weights: Mapping[str, Any], inputs: object
) -> Program:
    import torch

    graph, origins = torch_file.graph_of(content)
    try:
        building = Building(object_in(content, "graph_module"), device)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InvalidInputError(
            f"expected calls as torch stores them, found {type(error).__name__}: {reason}"
        ) from error
    given = _given(building, inputs)
    if not weights:
        _check_memory(building)
    random = RandomValues(device)
    tensors = {
        name: given[name].to(device, copy=True) if name in given else _drawn(building, random, name)
        for name in building.inputs
    }
    tensors |= {
        name: weights[name].to(device) if name in weights else _drawn(building, random, name)
        for name in building.weights
    }
    members: dict[str, list[Any]] = {name: [] for name in graph.names}
    for at, name in origins.items():
        members[name] += building.calls.get(at, [])
    root = {f"weight_{at}": tensors[name] for at, name in enumerate(building.weights)}
    return Program(
        module=torch.fx.GraphModule(root, building.fx).eval(),
        inputs=tuple(tensors[name] for name in building.inputs),
        graph=with_kernels(graph),
        nodes=tuple(tuple(members[name]) for name in graph.names),
        device=device,
        is_random=not weights,
        written=tuple((tensors[name], tensors[name].clone()) for name in sorted(building.written)),
    )


def _check_memory(building: Building) -> None:
    """Refuse to make more weights than fit into the machine, which would halt it."""
    import psutil

    if building.device.type != "cpu":
        return
    needed = 0
    for name in (*building.inputs, *building.weights):
        kind = building.type_of(name)
        needed += prod(kind.shape) * torch_dtype(kind.dtype).itemsize
    free = psutil.virtual_memory().available
    if needed > free:
        raise BoundmarkError(
            f"weights and inputs take {needed / 2**30:,.1f} GiB; expected at most "
            f"{free / 2**30:,.1f} GiB, which are free."
        )


def _drawn(building: Building, random: RandomValues, name: str) -> Any:
    """Return random values of an input or weight."""
    kind, rows = building.type_of(name), rows_of(building.values[name])
    draw = random.weight if name in building.weights else random.result
    try:
        return draw(kind.shape, torch_dtype(kind.dtype), rows, building.strides_of(name))
    except (RuntimeError, MemoryError) as error:
        reason = " ".join(str(error).split())[:200]
        raise BoundmarkError(f"tensor {quoted(name)} cannot be made: {reason}") from error


def _given(building: Building, inputs: object) -> dict[str, Any]:
    """Return given inputs by name.

    Raises
    ------
    InvalidInputError
        If they are not of the program's shapes and types.
    """
    import torch

    if inputs is None:
        return {}
    names = building.inputs
    if isinstance(inputs, Mapping) and inputs.keys() >= set(names):
        inputs = tuple(inputs[name] for name in names)
    leaves = torch.utils._pytree.tree_leaves(inputs)
    tensors = [one.detach() for one in leaves if isinstance(one, torch.Tensor)]
    found = [(tuple(one.shape), one.dtype) for one in tensors]
    expected = [(one.shape, torch_dtype(one.dtype)) for one in map(building.type_of, names)]
    if found != expected:
        raise InvalidInputError(
            f"example_inputs are {_listed(found)}; expected {_listed(expected)}, which the program "
            "was recorded with."
        )
    return dict(zip(names, tensors, strict=True))


def _listed(types: Sequence[tuple[tuple[int, ...], Any]]) -> str:
    return ", ".join(f"{dtype} of shape {list(shape)}" for shape, dtype in types) or "no tensors"
