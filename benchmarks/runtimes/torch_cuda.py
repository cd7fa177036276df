"""Times of a PyTorch program's calls on a GPU of NVIDIA, without the time that Python takes.

Each call is captured several times in a CUDA graph, and events around replays of the graph say how
long it took. A call that cannot be captured, since it waits for a result or copies from the host,
falls back to events around calls that Python launches, and a remark says so.
"""

import time
from collections.abc import Callable
from functools import cache
from typing import Any

from boundmark.benchmarks.runtimes.nvidia_smi import Gpu, gpu
from boundmark.benchmarks.runtimes.random_inputs import WARM_UP
from boundmark.benchmarks.runtimes.torch_execution import Program
from boundmark.benchmarks.runtimes.torch_times import Calls, CallTimes, interpreter

# Calls in a graph: enough that the launch of the graph itself counts little.
CALLS = 6

NANOSECONDS_PER_MILLISECOND = 10**6


def call_times(program: Program, calls: Calls, repeats: int) -> CallTimes:
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
    """Return nanoseconds of a call in a CUDA graph of several.

    Parameters
    ----------
    before
        What to do before each replay.

    Raises
    ------
    RuntimeError
        If it cannot be captured.
    """
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
