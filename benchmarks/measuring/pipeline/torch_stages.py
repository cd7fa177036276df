"""The stages of a partition of a PyTorch program, as modules that run one after another.

A stage reads the program's inputs and tensors that other stages have made; what depends on neither,
it computes itself. What it writes in place is no tensor of another stage.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from boundmark.benchmarks.measuring.measured import WARM_UP, clock_of
from boundmark.benchmarks.measuring.torch_compiled import compiled
from boundmark.benchmarks.measuring.torch_execution import Program
from boundmark.benchmarks.measuring.torch_times import is_timed, launched, replayed, threads_of
from boundmark.datasets.readers.torch_export.writes import VIEWS, Writes, is_write
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import BoundmarkError


@dataclass(frozen=True, eq=False)
class TorchStage:
    """A stage of a program.

    Attributes
    ----------
    number
        As the partition has it.
    module
        A `torch.fx.GraphModule`: given the values of `reads`, it returns those of `makes`.
    reads, makes
        Tensors, by their nodes in the program.
    """

    number: int
    module: Any
    reads: tuple[Any, ...]
    makes: tuple[Any, ...]


def cut_program(program: Program, stages: Sequence[int]) -> list[TorchStage]:
    """Return the stages of a program that have operators, by their numbers."""
    cutting = _Cutting(program, stages)
    return [cutting.stage(number) for number in cutting.parts]


@dataclass(frozen=True)
class TorchSettings:
    """Settings of how a program's stages are run and timed.

    Attributes
    ----------
    is_compiled
        Whether Inductor compiles each stage, by itself.
    device
        ``"cuda"`` or ``"cpu"``; None for a GPU if torch finds one.
    threads
        Number of threads, on a processor.
    repeats
        How often each stage runs, after some runs that do not count.
    """

    is_compiled: bool = False
    device: str | None = None
    threads: int = 1
    repeats: int = 30


class StageRuns(NamedTuple):
    """Nanoseconds of a stage in each run, and whether Python launches it on a GPU."""

    times: Sequence[int]
    is_launched: bool


def measure_stages(
    program: Program, stages: Sequence[TorchStage], settings: TorchSettings
) -> list[StageRuns]:
    """Run a program's stages one after another, each alone on what those before it have made.

    On a GPU, a stage runs in a CUDA graph if it can be captured.
    """
    return [time(settings.repeats) for time in stage_timers(program, stages, settings)]


def stage_timers(
    program: Program, stages: Sequence[TorchStage], settings: TorchSettings
) -> Iterator[Callable[[int], StageRuns]]:
    """Yield for each stage, once those before it have run, what times so many runs of it."""
    import torch

    program.reset()
    known = inputs_of(program)
    for stage in stages:
        given = [known[node] for node in stage.reads]
        with torch.no_grad(), threads_of(settings.threads):
            try:
                call = compiled(stage.module, given) if settings.is_compiled else stage.module
                known.update(zip(stage.makes, _run(call, given), strict=True))
            except BoundmarkError as error:
                raise BoundmarkError(f"stage {stage.number}: {error}") from error
        yield partial(_runs, program.device, call, given, settings.threads)


# What runs a stage so many times.
Timer: TypeAlias = Callable[[int], StageRuns]


def stage_key(stages: IntArray, number: int) -> bytes:
    """Return what stages of several partitions are equal by: which operators they have."""
    return bytes((stages == number).tobytes())


def add_timers(
    timers: dict[bytes, Timer], program: Program, stages: IntArray, settings: TorchSettings
) -> None:
    """Add what times each stage of a partition, shape (n,), by `stage_key`.

    So stages that several partitions share are compiled and run once.
    """
    keys = {number: stage_key(stages, number) for number in set(stages.tolist())}
    if set(keys.values()) <= timers.keys():
        return
    cut = cut_program(program, stages.tolist())
    for stage, timer in zip(cut, stage_timers(program, cut, settings), strict=True):
        timers.setdefault(keys[stage.number], timer)


def _run(call: Any, given: Sequence[Any]) -> Any:
    try:
        return call(*given)
    except (RuntimeError, NotImplementedError, IndexError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise BoundmarkError(f"torch does not run it: {reason}") from error


def _runs(device: Any, call: Any, given: Sequence[Any], threads: int, repeats: int) -> StageRuns:
    import torch

    with torch.no_grad(), threads_of(threads):
        if device.type == "cuda":
            with torch.cuda.device(device):
                try:
                    return StageRuns(replayed(lambda: call(*given), 1, repeats), is_launched=False)
                except RuntimeError:
                    # It waits for a result.
                    return StageRuns(launched(lambda: call(*given), 1, repeats), is_launched=True)
        times, clock = [], clock_of(threads)
        for _ in range(WARM_UP + repeats):
            start = clock()
            call(*given)
            times.append(clock() - start)
        return StageRuns(times[WARM_UP:], is_launched=False)


def inputs_of(program: Program) -> dict[Any, Any]:
    """Return the tensors that a program is given, by node."""
    asked = [node for node in program.module.graph.nodes if node.op == "placeholder"]
    return dict(zip(asked, program.inputs, strict=True))


def outputs_of(program: Program) -> tuple[Any, ...]:
    """Return the nodes of a program's results, in their order."""
    nodes = list(program.module.graph.nodes)
    return tuple(_nodes_in(_current_arguments(nodes)[nodes[-1]]))


class _Cutting:
    """Cuts a program.

    Attributes
    ----------
    home
        Stage of each call that is part of an operator.
    arguments
        Arguments of each call, by place and by name; see `_current_arguments`.
    parts
        By number of a stage: its calls, those that compute constants for it, and all that they
        read.
    asked
        What is read outside the stage that makes it.
    """

    def __init__(self, program: Program, stages: Sequence[int]) -> None:
        self.program = program
        self.nodes = list(program.module.graph.nodes)
        self.home = {
            node: stage
            for nodes, stage in zip(program.nodes, stages, strict=True)
            for node in nodes
        }
        self.arguments = _current_arguments(self.nodes)
        self.regions = _regions(self.nodes)
        self.parts = {number: self._part(number) for number in sorted(set(stages))}
        self.asked = {
            node
            for number, part in self.parts.items()
            for node in part
            if self.home.get(node, number) != number
        }
        self.asked |= self._above(outputs_of(program), None)

    def stage(self, number: int) -> TorchStage:
        """Return a stage."""
        part = [node for node in self.nodes if node in self.parts[number]]
        is_read = {
            node: node.op == "placeholder" or self.home.get(node, number) != number for node in part
        }
        reads = [node for node in part if is_read[node]]
        inner = [node for node in part if not is_read[node]]
        makes = [node for node in inner if node in self.home and node in self.asked]
        module = self._module(reads, inner, makes)
        return TorchStage(number, module, tuple(reads), tuple(makes))

    def _part(self, number: int) -> set[Any]:
        return self._above((node for node, home in self.home.items() if home == number), number)

    def _above(self, nodes: Iterable[Any], number: int | None) -> set[Any]:
        """Return nodes and all that they depend on, up to results of other stages."""
        found: set[Any] = set()
        pending = list(nodes)
        while pending:
            node = pending.pop()
            if node in found:
                continue
            found.add(node)
            if self.home.get(node, number) == number:
                pending += _nodes_in(self.arguments.get(node))
        return found

    def _module(self, reads: Sequence[Any], inner: Sequence[Any], makes: Sequence[Any]) -> Any:
        import torch
        from torch.amp.autocast_mode import _enter_autocast, _exit_autocast

        built = torch.fx.Graph()
        values = {node: built.placeholder(node.name) for node in reads}
        values |= {node: built.get_attr(node.target) for node in inner if node.op == "get_attr"}
        for node in self._written(reads, inner):
            values[node] = built.call_function(torch.ops.aten.clone.default, (values[node],))
        region, entered = None, None
        for node in inner:
            if node in values:
                continue
            if self.regions.get(node) != region:
                if entered is not None:
                    built.call_function(_exit_autocast, (entered,))
                region = self.regions.get(node)
                entered = None if region is None else built.call_function(_enter_autocast, region)
            args, kwargs = torch.fx.map_arg(self.arguments[node], values.__getitem__)
            values[node] = built.call_function(node.target, args, kwargs)
        if entered is not None:
            built.call_function(_exit_autocast, (entered,))
        built.output(tuple(values[node] for node in makes))
        return torch.fx.GraphModule(self.program.module, built)

    def _written(self, reads: Sequence[Any], inner: Sequence[Any]) -> list[Any]:
        """Return the tensors in whose memory some call writes though other stages know them."""
        given = [*reads, *(node for node in inner if node.op == "get_attr")]
        bases = {node: node for node in given}
        found = set()
        for node in filter(is_timed, inner):
            first = next(_nodes_in(self.arguments[node]), None)
            packet = node.target._opname
            if first not in bases or not (packet in VIEWS or is_write(packet)):
                continue
            bases[node] = bases[first]
            if is_write(packet):
                found.add(bases[node])
        return [node for node in given if node in found and self._is_shared(node)]

    def _is_shared(self, node: Any) -> bool:
        return sum(node in part for part in self.parts.values()) > 1


def _current_arguments(nodes: Sequence[Any]) -> dict[Any, Any]:
    """Return the arguments of each call and of the output, by place and by name.

    Who reads a tensor that was written in place reads the result of the write then.
    """
    import torch

    by_name = {node.name: node for node in nodes}
    current: dict[Any, Any] = {}
    found = {}
    writes = Writes()
    for node in nodes:
        if node.op in ("placeholder", "get_attr"):
            writes.given(node.name, is_constant=node.op == "get_attr")
            continue
        given = (node.args, node.kwargs)
        found[node] = torch.fx.map_arg(given, lambda one: current.get(one, one))
        if not is_timed(node):
            continue
        names = [argument.name for argument in node.target._schema.arguments]
        by_argument = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
        reads = {name: [one.name for one in _nodes_in(x)] for name, x in by_argument.items()}
        made = [node.name]
        if isinstance(node.meta["val"], tuple):
            made = [user.name for user in node.users]
        for name in writes.read(node.target._opname, reads, made):
            current[by_name[name]] = node
    return found


def _regions(nodes: Sequence[Any]) -> dict[Any, tuple[Any, ...]]:
    """Return the settings of the region of `torch.autocast` that each call is in, if in any."""
    from torch.amp.autocast_mode import _enter_autocast, _exit_autocast

    found = {}
    region: tuple[Any, ...] | None = None
    for node in nodes:
        if node.target is _enter_autocast:
            region = node.args
        elif node.target is _exit_autocast:
            region = None
        elif region is not None:
            found[node] = region
    return found


def _nodes_in(arguments: Any) -> Iterator[Any]:
    """Yield the nodes among arguments."""
    import torch

    found: list[Any] = []
    torch.fx.map_arg(arguments, found.append)
    yield from found
