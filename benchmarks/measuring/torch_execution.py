"""Programs of torch.export in a form that PyTorch runs operator by operator.

A program in a file is loaded with torch, which may run what the file's writer put there: whoever
times a program has made it. What names the operators is the JSON of the program, as `solve` reads
it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import getitem
from pathlib import Path
from typing import Any

from boundmark.datasets.readers.kernel_recognition import with_kernels
from boundmark.datasets.readers.torch_export import file as torch_file
from boundmark.datasets.readers.torch_export.aten import SAME
from boundmark.datasets.readers.torch_export.file import SCHEMA
from boundmark.datasets.readers.torch_export.writes import VIEWS, StoredTensor, is_write
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError, MissingFileError, extra_with
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
    written
        Inputs and buffers that the program writes in place, and copies of their first values.
    """

    module: Any
    inputs: tuple[Any, ...]
    graph: ComputationGraph
    nodes: tuple[tuple[Any, ...], ...]
    device: Any
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
    """Return a program that PyTorch runs."""
    torch = _torch()
    place = torch.device(device or default_device())
    if place.type == "cuda" and not torch.cuda.is_available():
        raise MissingFileError("torch finds no GPU; expected one for the device 'cuda'.")
    if isinstance(net, str | Path):
        path = Path(net)
        with naming(path):
            content = torch_file.content(path)
            graph = torch_file.graph_of(content)
            program = _loaded(path)
            inputs = program.example_inputs if example_inputs is None else example_inputs
            return _built(program, *graph, place, inputs)
    from boundmark.datasets.python_objects import from_program, is_of, recorded
    from boundmark.datasets.readers.torch_export.graph_module import functional

    program = net if is_of(net, "torch", "ExportedProgram") else recorded(net, example_inputs)
    graph = torch_file.graph_of(_content(program))
    if graph[0].names != from_program(program).names:
        # Where torch takes operators apart that write in place, they have other names.
        program = functional(program)
        graph = torch_file.graph_of(_content(program))
    return _built(program, *graph, place, program.example_inputs)


def _torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingFileError(f"PyTorch is not installed{extra_with('torch')}.") from error
    return torch


def _loaded(path: Path) -> Any:
    """Return the program in a file, with its weights and example inputs."""
    import torch

    try:
        return torch.export.load(path)
    except Exception as error:
        # Whatever another version of torch, or what is missing in the file, makes of it.
        reason = " ".join(str(error).split())[:200]
        raise InvalidInputError(
            f"torch {torch.__version__} does not load it: {reason}; expected a file that "
            "torch.export.save of this version has written."
        ) from error


def _content(program: Any) -> Mapping[str, Any]:
    """Return what `torch.export.save` would store of a program, without weights."""
    from torch._export.serde.serialize import GraphModuleSerializer, _dataclass_to_dict

    stored = GraphModuleSerializer(program.graph_signature, program.module_call_graph).serialize(
        program.graph_module
    )
    return {"graph_module": _dataclass_to_dict(stored), "schema_version": {"major": SCHEMA}}


def _built(
    program: Any, graph: ComputationGraph, origins: Mapping[int, str], device: Any, inputs: object
) -> Program:
    """Return a program whose calls, by number, are part of operators of a graph."""
    import torch

    flat = _Flat(program, device)
    stored = {**program.constants, **program.state_dict}
    weights = [stored[name].detach() for name in flat.weights]
    given = [one.to(device, copy=True) for one in _given(flat.inputs, inputs)]
    kept = [one.to(device, copy=at in flat.written) for at, one in enumerate(weights)]
    tensors = [*kept, *given]
    members: dict[str, list[Any]] = {name: [] for name in graph.names}
    for at, name in origins.items():
        members[name] += flat.calls[at]
    root = {f"weight_{at}": one for at, one in enumerate(kept)}
    return Program(
        module=torch.fx.GraphModule(root, flat.fx).eval(),
        inputs=tuple(given),
        graph=with_kernels(graph),
        nodes=tuple(tuple(members[name]) for name in graph.names),
        device=device,
        written=tuple((tensors[at], tensors[at].clone()) for at in sorted(flat.written)),
    )


class _Flat:
    """The calls of a program in one graph, with the weights as attributes and without regions.

    Attributes
    ----------
    fx
        Weights as attributes ``weight_0``, ``weight_1`` and so on, inputs, calls, and results.
    weights
        What the program calls them.
    inputs
        Their types.
    calls
        Each call and those that take its result apart, in the order of the program's JSON.
    written
        Numbers of the weights, and behind them inputs, that are written in place.
    """

    def __init__(self, program: Any, device: Any) -> None:
        import torch

        self.fx, self.device = torch.fx.Graph(), device
        self.calls: list[list[Any]] = []
        self.written: set[int] = set()
        self._calls_of: dict[Any, list[Any]] = {}
        # Settings of the region of `torch.autocast` that calls are in, and who entered it.
        self._autocast: tuple[Any, ...] = ()
        self._entered: Any = None
        signature = program.graph_signature
        own = {
            **signature.inputs_to_parameters,
            **signature.inputs_to_buffers,
            **signature.inputs_to_lifted_tensor_constants,
        }
        placed = [node for node in program.graph.nodes if node.op == "placeholder"]
        stored = [node for node in placed if node.name in own]
        given = [node for node in placed if node not in stored and _types(node) is not None]
        self.weights = [own[node.name] for node in stored]
        self.inputs = [_types(node) for node in given]
        values: dict[Any, Any] = {node: _hint(node.meta.get("val")) for node in placed}
        for at, node in enumerate(given):
            values[node] = self.fx.placeholder(f"input_{at}")
        for at, node in enumerate(stored):
            values[node] = self.fx.get_attr(f"weight_{at}")
        for node in (*stored, *given):
            values[node].meta["val"] = _types(node)
        # By node: the number of the weight or input with which it shares memory.
        self._bases = {values[node]: at for at, node in enumerate((*stored, *given))}
        results = zip(
            self._run(program.graph, values, program.graph_module),
            signature.output_specs,
            strict=True,
        )
        # New values of buffers are among the results, too.
        self.fx.output(
            tuple(
                one
                for one, spec in results
                if spec.kind.name == "USER_OUTPUT" and isinstance(one, torch.fx.Node)
            )
        )

    def _run(self, graph: Any, values: dict[Any, Any], module: Any) -> Any:
        """Add the calls of a graph, and return its results."""
        import torch

        for node in graph.nodes:
            if node.op == "get_attr":
                values[node] = getattr(module, node.target)
            if node.op not in ("call_function", "output"):
                continue
            args, kwargs = torch.fx.node.map_aggregate(
                torch.fx.map_arg((node.args, node.kwargs), lambda one: values[one]),
                lambda one: self.device if isinstance(one, torch.device) else one,
            )
            if node.op == "output":
                return args[0]
            values[node] = self._called(node, args, kwargs)
        raise InvalidInputError("the program has no output; expected one.")

    def _called(self, node: Any, args: Any, kwargs: Any) -> Any:
        """Return what stands for a call: a node, several, or an open number."""
        import torch

        if node.target is getitem and not isinstance(args[0], torch.fx.Node):
            return args[0][args[1]]
        region = next((one for one in args if isinstance(one, torch.fx.GraphModule)), None)
        if region is not None:
            if str(node.target).rpartition(".")[2] in ("cond", "while_loop"):
                raise InvalidInputError(
                    f"{node.target} is control flow, which cannot be timed call by call or cut; "
                    "expected a program of operators."
                )
            at = args.index(region)
            return self._in_region(region, args[:at], args[at + 1 :])
        types = _types(node)
        if types is None:
            # Arithmetic of sizes, and checks.
            self.calls += [] if node.target is getitem else [[]]
            return _hint(node.meta.get("val"))
        made = self.fx.call_function(node.target, args, kwargs)
        made.meta["val"] = types
        if node.target is getitem:
            self._calls_of[args[0]].append(made)
        else:
            self.calls.append([made])
            self._calls_of[made] = self.calls[-1]
        self._follow(made)
        return made

    def _in_region(self, region: Any, settings: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
        """Add the calls of a region, and return its results."""
        outside = self._autocast
        # Those of `torch.no_grad` have one setting, and all runs without gradients here.
        if len(settings) == 4:
            self._enter(settings if settings[2] else ())
        placed = [node for node in region.graph.nodes if node.op == "placeholder"]
        results = self._run(region.graph, dict(zip(placed, given, strict=True)), region)
        self._enter(outside)
        return results

    def _enter(self, settings: tuple[Any, ...]) -> None:
        """Leave the region of `torch.autocast` that was entered before, and enter another one."""
        from torch.amp.autocast_mode import _enter_autocast, _exit_autocast

        if settings == self._autocast:
            return
        if self._autocast:
            self.fx.call_function(_exit_autocast, (self._entered,))
        self._autocast = settings
        if settings:
            kind = self.device.type if settings[0] in ("cpu", "cuda") else settings[0]
            self._entered = self.fx.call_function(_enter_autocast, (kind, *settings[1:]))

    def _follow(self, made: Any) -> None:
        """Note what shares memory with weights and inputs, and which of them are written."""
        packet = getattr(made.target, "_opname", "")
        base = self._bases.get(next(iter(made.all_input_nodes), None))
        shares = made.target is getitem or is_write(packet) or packet in VIEWS or packet in SAME
        if base is not None and shares:
            self._bases[made] = base
            if is_write(packet):
                self.written.add(base)


def _types(node: Any) -> Any:
    """Return the type of a tensor, or of each of several; None for what is no tensor."""
    import torch

    def of(value: Any) -> StoredTensor | None:
        if not isinstance(value, torch.Tensor):
            return None
        dtype = str(value.dtype).removeprefix("torch.")
        return StoredTensor(tuple(map(_hint, value.shape)), dtype)

    value = node.meta.get("val")
    if not isinstance(value, tuple | list):
        return of(value)
    several = tuple(map(of, value))
    return several if any(several) else None


def _hint(value: Any) -> Any:
    """Return a number; one that the program leaves open, as it was in the example."""
    import torch

    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return value.node.hint
    return value if isinstance(value, bool | int | float) else None


def _given(types: Sequence[StoredTensor], inputs: object) -> list[Any]:
    """Return the tensors of given inputs, in the order of the program's."""
    import torch

    leaves = torch.utils._pytree.tree_leaves(inputs)
    tensors = [one.detach() for one in leaves if isinstance(one, torch.Tensor)]
    found = [(tuple(one.shape), one.dtype) for one in tensors]
    expected = [(one.shape, getattr(torch, one.dtype)) for one in types]
    if found != expected:
        raise InvalidInputError(
            f"example_inputs are {_listed(found)}; expected {_listed(expected)}, which the program "
            "was recorded with."
        )
    return tensors


def _listed(types: Sequence[tuple[tuple[int, ...], Any]]) -> str:
    return ", ".join(f"{dtype} of shape {list(shape)}" for shape, dtype in types) or "no tensors"
