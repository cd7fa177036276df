"""Times of operators with PyTorch in eager mode: call by call, in the order of the program.

On a GPU of NVIDIA, the time that Python takes is left out: each call is captured several times in a
CUDA graph, and events around replays of the graph say how long it took. A call that cannot be
captured, since it waits for a result or copies from the host, falls back to events around calls
that Python launches, and a remark says so.
"""

import ctypes
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from statistics import median
from typing import Any

from boundmark.benchmarks.measuring.measured import WARM_UP, Measured, clock_of
from boundmark.benchmarks.measuring.torch_execution import Program
from boundmark.benchmarks.running.environment import Gpu, gpu
from boundmark.problems.computation_graph import VIEW
from boundmark.problems.errors import BoundmarkError


@dataclass(frozen=True)
class Calls:
    """Facts about the calls of a program, by node of `torch.fx`.

    Attributes
    ----------
    views
        Those that copy nothing: their results are in the memory of what they read.
    failures
        Why calls cannot be run, in words.
    results
        What stands for the results of these.
    """

    views: frozenset[Any]
    failures: Mapping[Any, str]
    results: Mapping[Any, Any]


@dataclass
class CallTimes:
    """Nanoseconds that a program took.

    Attributes
    ----------
    calls
        Times of each call, by node of `torch.fx`, in each run.
    whole
        Time of the program in one piece.
    eager_wall
        The same as Python launches it, where `whole` is something else.
    remarks
        What one has to know about the time of a call, in words.
    waited
        Wall time of the program over what the clock of its thread says.
    """

    calls: dict[Any, list[int]] = field(default_factory=dict)
    whole: list[int] = field(default_factory=list)
    eager_wall: list[int] = field(default_factory=list)
    remarks: dict[Any, str] = field(default_factory=dict)
    waited: float = 1.0


def measure(program: Program, repeats: int, threads: int) -> Measured:
    """Return the times of a program's operators.

    A recognised kernel is timed as one: its operators' calls together, at the one that bears its
    cost. A view takes no time; a reshape that copies takes that of the copy. What computes
    constants and checks is part of no operator, and a note says how long it takes.
    """
    import torch

    with torch.no_grad(), threads_of(threads):
        calls = tried(program)
        is_on_gpu = program.device.type == "cuda"
        if is_on_gpu:
            times = call_times_on_gpu(program, calls, repeats)
        else:
            times = _call_times(program, calls, repeats, clock_of(threads))
    return of_operators(program, calls, times, repeats)


def interpreter(program: Program, calls: Calls, run: Any) -> Any:
    """Return a `torch.fx.Interpreter` that frees tensors when nothing reads them any more."""
    import torch

    class Interpreter(torch.fx.Interpreter):  # type: ignore[misc]
        def run_node(self, node: Any) -> Any:
            if node in calls.results:
                return calls.results[node]
            if not is_timed(node):
                return super().run_node(node)
            return run(node, *self.fetch_args_kwargs_from_env(node))

    return Interpreter(program.module)


def is_timed(node: Any) -> bool:
    """Whether a node is a call of an operator; others take results apart, or enter a region."""
    return node.op == "call_function" and hasattr(node.target, "_schema")


def tried(program: Program) -> Calls:
    """Run a program once, and return what is known of its calls then."""
    import torch

    views, failures, results = set(), {}, {}

    def run(node: Any, args: Any, kwargs: Any) -> Any:
        try:
            result = node.target(*args, **kwargs)
        except torch.OutOfMemoryError as error:
            raise BoundmarkError(f"{program.device} has no room for the model.") from error
        except (RuntimeError, NotImplementedError, IndexError, ValueError, TypeError) as error:
            failures[node] = " ".join(str(error).split())[:200]
            results[node] = _made_up(program, node)
            return results[node]
        read = _memories((args, kwargs))
        if not node.target._schema.is_mutable and _memories(result) <= read:
            views.add(node)
        return result

    program.reset()
    interpreter(program, Calls(frozenset(), {}, {}), run).run(*program.inputs)
    return Calls(frozenset(views), failures, results)


def _memories(value: Any) -> set[int]:
    """Return where the tensors in a value are, those of no size aside."""
    import torch

    leaves = torch.utils._pytree.tree_leaves(value)
    found = (one.untyped_storage().data_ptr() for one in leaves if isinstance(one, torch.Tensor))
    return {place for place in found if place}


def _made_up(program: Program, node: Any) -> Any:
    """Return results of a call of the shapes that the program says: ones, and integers of 0."""
    import torch

    def made(kind: Any) -> Any:
        dtype = getattr(torch, kind.dtype)
        is_integer = not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)
        return torch.full(kind.shape, int(not is_integer), dtype=dtype, device=program.device)

    value = node.meta["val"]
    if isinstance(value, tuple):
        return tuple(None if one is None else made(one) for one in value)
    return made(value)


@contextmanager
def threads_of(count: int) -> Iterator[None]:
    """Let torch compute with a number of threads for a while."""
    import torch

    _keep_freed_memory()
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


# Numbers of options of glibc's mallopt, from malloc.h.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


@cache
def _keep_freed_memory() -> None:
    """Let glibc keep the memory of freed tensors, as allocators made for inference do.

    By default it gives tensors of some megabytes back, or not, depending on what was freed before;
    their pages are then touched anew. The first of two stages of mobilenet-v2 took 14 to 27 ms that
    way, in one process, and 8 to 11 ms when memory is kept.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        for threshold in (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD):
            libc.mallopt(threshold, 2**30)


def _call_times(
    program: Program, calls: Calls, repeats: int, clock: Callable[[], int]
) -> CallTimes:
    """Run a program on the processor, in turn with a clock around each call and without."""
    found = CallTimes()
    waited = []

    def run(node: Any, args: Any, kwargs: Any) -> Any:
        start = clock()
        result = node.target(*args, **kwargs)
        found.calls.setdefault(node, []).append(clock() - start)
        return result

    clocked = interpreter(program, calls, run)
    for _ in range(WARM_UP + repeats):
        program.reset()
        clocked.run(*program.inputs)
        if not calls.failures:
            program.reset()
            wall, start = time.perf_counter_ns(), clock()
            program.module(*program.inputs)
            found.whole.append(max(1, clock() - start))
            waited.append((time.perf_counter_ns() - wall) / found.whole[-1])
    found.calls = {node: taken[WARM_UP:] for node, taken in found.calls.items()}
    found.whole = found.whole[WARM_UP:]
    found.waited = median(waited[WARM_UP:]) if waited else 1.0
    return found


def of_operators(program: Program, calls: Calls, times: CallTimes, repeats: int) -> Measured:
    """Return the times of operators that those of calls add up to."""
    graph = program.graph
    bearers = graph.kernels or tuple(range(len(graph.operators)))
    samples = {name: [0] * repeats for name in graph.names}
    untimed: dict[str, str] = {}
    failed = set()
    for at, (name, nodes) in enumerate(zip(graph.names, program.nodes, strict=True)):
        bearer = at if bearers[at] == VIEW else bearers[at]
        counted = [node for node in nodes if is_timed(node) and node not in calls.views]
        for node in counted:
            if node in calls.failures:
                failed.add(graph.names[bearer])
                untimed[name] = f"torch does not run it: {calls.failures[node]}"
                continue
            total = samples[graph.names[bearer]]
            samples[graph.names[bearer]] = [
                a + b for a, b in zip(total, times.calls[node], strict=True)
            ]
            if node in times.remarks:
                untimed[name] = times.remarks[node]
        if bearer != at:
            untimed.setdefault(name, f"its time is part of that of {graph.names[bearer]}")
        elif not counted:
            untimed[name] = "a view, which copies nothing"
    return Measured(
        samples={name: taken for name, taken in samples.items() if name not in failed},
        whole=times.whole,
        eager_wall=times.eager_wall,
        untimed=untimed,
        failed=frozenset(failed),
        notes=tuple(_notes(program, calls, times)),
        waited=times.waited,
    )


def _notes(program: Program, calls: Calls, times: CallTimes) -> Iterator[str]:
    own = {node for nodes in program.nodes for node in nodes}
    rest = [
        taken for node, taken in times.calls.items() if node not in own and node not in calls.views
    ]
    if rest:
        yield (
            f"{len(rest)} calls of the program are part of no operator, such as those that compute "
            f"constants; they took {sum(median(row) for row in rest) / 1e6:,.3f} ms together."
        )
    if not times.whole:
        yield "The whole model could not be timed in one piece."


# Calls in a graph: enough that the launch of the graph itself counts little.
CALLS = 6

NANOSECONDS_PER_MILLISECOND = 10**6


def call_times_on_gpu(program: Program, calls: Calls, repeats: int) -> CallTimes:
    """Return the time of each call in turn, with what it reads as the program has it then.

    A call that runs several times in a row finds what it reads in the cache, if it fits. The whole
    program is timed in one CUDA graph, too, and as Python launches it.
    """
    import torch

    found = CallTimes()

    def run(node: Any, args: Any, kwargs: Any) -> Any:
        def call() -> None:
            node.target(*own, **kwargs)

        # What writes in place would do so many times.
        own = (args[0].clone(), *args[1:]) if node.target._schema.is_mutable else args
        try:
            found.calls[node] = replayed(call, CALLS, repeats)
        except RuntimeError as error:
            reason = " ".join(str(error).split())[:120]
            found.remarks[node] = f"timed as Python launches it; it cannot be captured: {reason}"
            found.calls[node] = launched(call, CALLS, repeats)
        return node.target(*args, **kwargs)

    with torch.cuda.device(program.device):
        program.reset()
        interpreter(program, calls, run).run(*program.inputs)
        if calls.failures:
            return found
        found.eager_wall = _wall(program, repeats)
        try:
            found.whole = replayed(
                lambda: program.module(*program.inputs), 1, repeats, program.reset
            )
        except RuntimeError:
            # Some call waits for a result: only its own time is known.
            found.whole = []
    return found


def _nothing() -> None:
    pass


@cache
def _stream(device: int) -> Any:
    """Return the stream of a GPU on which everything is captured.

    It is one, so that libraries make room to work in once, before anything is captured.
    """
    import torch

    return torch.cuda.Stream(device)


def replayed(
    call: Callable[[], Any], often: int, repeats: int, before: Callable[[], None] = _nothing
) -> list[int]:
    """Return nanoseconds of a call in a CUDA graph of several."""
    import torch

    # As torch asks for: what is captured has run beside the current stream before.
    stream = _stream(torch.cuda.current_device())
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            before()
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(often):
            call()
    return _timed(graph.replay, often, repeats, before)


def launched(call: Callable[[], Any], often: int, repeats: int) -> list[int]:
    """Return nanoseconds of a call that Python launches several times in a row."""

    def calls() -> None:
        for _ in range(often):
            call()

    return _timed(calls, often, repeats, _nothing)


def _timed(
    run: Callable[[], Any], often: int, repeats: int, before: Callable[[], None]
) -> list[int]:
    import torch

    found = []
    for _ in range(WARM_UP + repeats):
        before()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        found.append(round(start.elapsed_time(end) * NANOSECONDS_PER_MILLISECOND / often))
    return found[WARM_UP:]


def _wall(program: Program, repeats: int) -> list[int]:
    import torch

    found = []
    for _ in range(WARM_UP + repeats):
        program.reset()
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        program.module(*program.inputs)
        torch.cuda.synchronize()
        found.append(time.perf_counter_ns() - start)
    return found[WARM_UP:]


def gpu_of(device: Any) -> Gpu | None:
    """Return what is known of the GPU that torch calls a device."""
    import torch

    uuid = getattr(torch.cuda.get_device_properties(device), "uuid", None)
    return gpu(None if uuid is None else f"GPU-{uuid}")
