"""Times of operators in a PyTorch program that Inductor, the backend of `torch.compile`, compiles.

Inductor computes several operators in one kernel, and notes which calls of the program each kernel
comes from. The time from a kernel's begin to that of the next one counts for the last operator of
the kernel that is in no other kernel, or for its last one if all are: so what prepares weights for
a convolution beside a normalisation counts for the latter. A kernel of no operator, such as one
that computes constants, counts for none, nor does what Python does before the first kernel. On a
GPU, a kernel's time is what it takes there, and an equal share of the gaps between kernels.
"""

import copy
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter_ns as clock
from typing import Any

from boundmark.benchmarks.measuring.measured import WARM_UP, Measured
from boundmark.benchmarks.measuring.torch_execution import Program
from boundmark.benchmarks.measuring.torch_times import replayed, threads_of
from boundmark.problems.errors import BoundmarkError

# What Inductor writes before each kernel: its name and number.
_HANDLE = re.compile(r"^(\s*)# \[Provenance debug handles\] (\S+)$", re.MULTILINE)

_IMPORT = f"from {__name__} import begin as _begin_kernel\n"

# How ranges are called in a profile.
_RANGE = "boundmark kernel "

SETTINGS = {
    "trace.provenance_tracking_level": 1,
    # What calls `begin` is nothing that other programs should find.
    "fx_graph_cache": False,
    "fx_graph_remote_cache": False,
}

# Who is told which kernel begins.
_listeners: list[Callable[[str], None]] = []


def begin(kernel: str) -> None:
    """Tell that a kernel begins; the compiled program calls this."""
    for listener in _listeners:
        listener(kernel)


@contextmanager
def _listening(listener: Callable[[str], None]) -> Iterator[None]:
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@dataclass(frozen=True)
class CompiledTimes:
    """Nanoseconds of a compiled program in each run.

    Attributes
    ----------
    kernels
        From the begin of each kernel to that of the next, by name.
    rest
        Before the first kernel.
    whole
        Time of the program, without clocks.
    """

    kernels: Mapping[str, Sequence[int]]
    rest: Sequence[int]
    whole: Sequence[int]


def compiled(module: Any, inputs: Sequence[Any], settings: Mapping[str, Any] | None = None) -> Any:
    """Return a compiled module, which has run once."""
    import torch
    from torch import _inductor as inductor

    # Inductor changes what it is given.
    own = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    try:
        call = inductor.compile(own, list(inputs), settings)
        call(*inputs)
    except Exception as error:
        # Whatever it and the compilers that it calls run into.
        reason = " ".join(str(error).split())[:400]
        raise BoundmarkError(
            f"torch cannot compile the program: {reason}; expected a C++ compiler for processors, "
            "such as g++, and Triton for GPUs."
        ) from error
    return call


def measure(program: Program, repeats: int, threads: int) -> Measured:
    """Return the times of a program's operators when it is compiled as a whole."""
    return of_operators(program, *kernel_times(program, repeats, threads))


def kernel_times(
    program: Program, repeats: int, threads: int
) -> tuple[dict[str, set[str]], CompiledTimes]:
    """Compile a program and time its kernels."""
    import torch

    with torch.no_grad(), threads_of(threads):
        program.reset()
        with _announced() as origins:
            call = compiled(program.module, program.inputs, SETTINGS)
        if not origins:
            raise BoundmarkError(
                f"torch {torch.__version__} does not say what the kernels of a compiled program "
                "compute; expected torch 2.9 or later."
            )
        run = _on_gpu if program.device.type == "cuda" else _on_processor
        return origins, run(program, call, repeats)


@contextmanager
def _announced() -> Iterator[dict[str, set[str]]]:
    """Let programs that are compiled call `begin`.

    Yields the names of the calls that each kernel comes from, which are known in the end.
    """
    from torch._inductor.codecache import PyCodeCache
    from torch._inductor.debug import dump_inductor_provenance_info

    found: dict[str, set[str]] = {}
    before = PyCodeCache.__dict__["write"]

    def write(cls: Any, source: str, *args: Any, **kwargs: Any) -> Any:
        kernels = [kernel for _, kernel in _HANDLE.findall(source)]
        if kernels:
            told = dump_inductor_provenance_info()
            inner, outer = told.get("cppCodeToPost", {}), told.get("postToPre", {})
            for kernel in kernels:
                names = (name for one in inner.get(kernel, ()) for name in outer.get(one, ()))
                found[kernel] = set(names)
            source = _IMPORT + _HANDLE.sub(r'\1_begin_kernel("\2")', source)
        return before.__func__(cls, source, *args, **kwargs)

    PyCodeCache.write = classmethod(write)
    try:
        yield found
    finally:
        PyCodeCache.write = before


def _on_processor(program: Program, call: Any, repeats: int) -> CompiledTimes:
    """Run a compiled program, in turn with a clock at each kernel and without."""
    kernels: dict[str, list[int]] = {}
    rest, whole = [], []
    for _ in range(WARM_UP + repeats):
        program.reset()
        before, taken = _clocked(lambda: call(*program.inputs))
        rest.append(before)
        for kernel, one in taken:
            kernels.setdefault(kernel, []).append(one)
        program.reset()
        start = clock()
        call(*program.inputs)
        whole.append(clock() - start)
    counted = {kernel: several[WARM_UP:] for kernel, several in kernels.items()}
    return CompiledTimes(counted, rest[WARM_UP:], whole[WARM_UP:])


def _clocked(run: Callable[[], Any]) -> tuple[int, list[tuple[str, int]]]:
    """Return nanoseconds before the first kernel of a run, and from each one to the next."""
    begins: list[tuple[str, int]] = []
    with _listening(lambda kernel: begins.append((kernel, clock()))):
        start = clock()
        run()
        end = clock()
    ends = [*(begin for _, begin in begins), end]
    taken = [(kernel, end - begin) for (kernel, begin), end in zip(begins, ends[1:], strict=True)]
    return ends[0] - start, taken


def _on_gpu(program: Program, call: Any, repeats: int) -> CompiledTimes:
    """Run a compiled program under torch's profiler, and without it in a CUDA graph."""
    import torch

    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    kernels: dict[str, list[int]] = {}
    with torch.cuda.device(program.device):
        for at in range(WARM_UP + repeats):
            program.reset()
            with torch.profiler.profile(activities=activities) as profiler:
                with _ranges():
                    call(*program.inputs)
                torch.cuda.synchronize()
            if at >= WARM_UP:
                for kernel, taken in device_times(profiler.events()).items():
                    kernels.setdefault(kernel, []).append(taken)
        try:
            whole = replayed(lambda: call(*program.inputs), 1, repeats, program.reset)
        except RuntimeError:
            # Something in it waits for a result.
            whole = []
    return CompiledTimes(with_gaps(kernels, whole), [0] * repeats, whole)


def with_gaps(kernels: Mapping[str, Sequence[int]], whole: Sequence[int]) -> dict[str, list[int]]:
    """Return the times of kernels, each with an equal share of what they are short of the whole."""
    between = median(whole) - sum(median(taken) for taken in kernels.values()) if whole else 0
    share = max(0, round(between / max(1, len(kernels))))
    return {kernel: [one + share for one in taken] for kernel, taken in kernels.items()}


@contextmanager
def _ranges() -> Iterator[None]:
    """Let a profile have a range from the begin of each kernel to that of the next."""
    import torch

    entered: list[Any] = []

    def leave() -> None:
        if entered:
            entered.pop().__exit__(None, None, None)

    def enter(kernel: str) -> None:
        leave()
        entered.append(torch.profiler.record_function(_RANGE + kernel))
        entered[0].__enter__()

    with _listening(enter):
        try:
            yield
        finally:
            leave()


def device_times(events: Iterable[Any]) -> dict[str, int]:
    """Return the nanoseconds on a GPU of what each range of a profile has launched, by kernel."""
    return {
        event.name.removeprefix(_RANGE): round(1000 * event.device_time_total)
        for event in events
        # A GPU has ranges of its own, of the same names.
        if event.name.startswith(_RANGE) and event.device_type.name == "CPU"
    }


def of_operators(
    program: Program, origins: Mapping[str, Iterable[str]], times: CompiledTimes
) -> Measured:
    """Return the times of operators that those of kernels add up to."""
    names = program.graph.names
    place = {node.name: at for at, nodes in enumerate(program.nodes) for node in nodes}
    members = {
        kernel: sorted({place[name] for name in origins.get(kernel, ()) if name in place})
        for kernel in times.kernels
    }
    often = Counter(at for found in members.values() for at in found)
    samples = {name: [0] * len(times.rest) for name in names}
    nowhere = list(times.rest)
    parts: dict[int, int] = {}
    for kernel, taken in times.kernels.items():
        own = [at for at in members[kernel] if often[at] == 1] or members[kernel]
        total = samples[names[own[-1]]] if own else nowhere
        total[:] = [before + one for before, one in zip(total, taken, strict=True)]
        for at in members[kernel]:
            parts.setdefault(at, own[-1])
    untimed = {
        name: f"its time is part of that of {names[parts[at]]}"
        if at in parts
        else "no kernel of the compiled program computes it"
        for at, (name, taken) in enumerate(samples.items())
        if not any(taken)
    }
    return Measured(
        samples=samples,
        whole=times.whole,
        unattributed=nowhere,
        untimed=untimed,
        notes=tuple(_notes(program, times, nowhere)),
    )


def _notes(program: Program, times: CompiledTimes, nowhere: Sequence[int]) -> Iterator[str]:
    runs = zip(*times.kernels.values(), times.rest, strict=True)
    total, lost = median(map(sum, runs)), median(nowhere)
    yield (
        f"The compiled program has {len(times.kernels)} kernels; {lost / 1e6:,.3f} of "
        f"{total / 1e6:,.3f} ms ({lost / max(1, total):.1%}) are part of no operator."
    )
    if not times.whole:
        yield "The whole model could not be timed in one piece."
