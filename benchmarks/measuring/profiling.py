"""Measure the operators of a model on this machine: `boundmark profile`, and `profile`."""

import datetime as dt
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from boundmark.benchmarks.arguments import check_flags, path_of
from boundmark.benchmarks.measuring import tool_profiles, torch_compiled, torch_times
from boundmark.benchmarks.measuring.measured import MUCH_WAITING, Measured, waiting
from boundmark.benchmarks.measuring.onnx_times import (
    check_names,
    measured_times,
    onnxruntime_version,
)
from boundmark.benchmarks.measuring.operator_times import Profile
from boundmark.benchmarks.measuring.torch_execution import runnable
from boundmark.benchmarks.running.environment import Gpu, cpu_name, gpu
from boundmark.benchmarks.running.settings import bounded_integer
from boundmark.datasets.file_format import NO_DIMS
from boundmark.datasets.readers.onnx.file import load
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.devices import (
    Cluster,
    Device,
    default_device,
    find_device,
    shipped,
)
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import ONNXRUNTIME_PROFILE, TORCH_TRACE, naming
from boundmark.problems.roofline import operation_seconds

TORCH = "torch"

# Suffix of a model's file, and the runtime that runs it.
RUNTIMES = {".pt2": TORCH, ".onnx": "onnxruntime"}

# Providers of onnxruntime that run models on a GPU of NVIDIA.
NVIDIA = ("CUDAExecutionProvider", "TensorrtExecutionProvider", "NvTensorRTRTXExecutionProvider")

# Unless the user says.
REPEATS, THREADS = 20, 1

LARGEST_REPEATS, LARGEST_THREADS = 10_000, 1024

# These percentiles of an operator's runs are reported.
PERCENTILES = (10, 90)

# Load of a machine from which on times say little.
BUSY = 0.5


def profile(
    net: Any,
    *,
    example_inputs: Any = None,
    torch_device: str | None = None,
    provider: str | None = None,
    compiled: bool = False,
    repeats: int = REPEATS,
    threads: int = THREADS,
    base: str | None = None,
    dims: Mapping[str, int] | None = None,
    name: str | None = None,
    trace: str | Path | None = None,
) -> Profile:
    """Run a model on this machine and time its operators.

    With a trace, nothing is run: the times are those that another tool has recorded.

    Parameters
    ----------
    net
        Path of an ONNX file or of a program that `torch.export.save` wrote, which torch loads and
        which has to be your own; or a `torch.export.ExportedProgram`, or a `torch.nn.Module`.
    example_inputs
        Arguments of a module: a tuple of tensors, a dict by name, or one tensor.
    torch_device
        ``"cuda"`` or ``"cpu"``; None for a GPU if torch finds one.
    provider
        Provider of onnxruntime, such as ``"CUDAExecutionProvider"``; None for the processor.
    compiled
        Whether torch.compile compiles the program, which fuses operators, before it runs.
    repeats
        Number of times that the model runs; a time is the median of them.
    threads
        Number of threads, on a processor.
    base
        Name of the device whose link and memory go with the times; None for the GPU that was used,
        if it is known, or else for the default device.
    dims
        Sizes of dimensions that an ONNX model leaves open, by name.
    name
        What to call a model that is an object.
    trace
        A trace of torch.profiler (`export_chrome_trace`), of a program or module as it was
        exported; or a profile of onnxruntime (`enable_profiling`), of an ONNX file.

    Raises
    ------
    Error
        If the model cannot be run, or something else is not understood.
    """
    check_flags(compiled=compiled)
    repeats = bounded_integer("repeats", repeats, 1, LARGEST_REPEATS)
    threads = bounded_integer("threads", threads, 1, LARGEST_THREADS)
    path = path_of("net", net, "file") if isinstance(net, str | Path) else None
    chosen = _runtime(path)
    if chosen != TORCH and torch_device is not None:
        raise InvalidInputError(
            "torch_device is given; expected it with a program of PyTorch only."
        )
    if chosen != TORCH and compiled:
        raise InvalidInputError("compiled is given; expected it with a program of PyTorch only.")
    if chosen != "onnxruntime" and provider is not None:
        raise InvalidInputError("provider is given; expected it with an ONNX file only.")
    if chosen == TORCH and dims:
        raise InvalidInputError(
            "dims are given; expected none: the sizes of a program are those of its example."
        )
    title = name or (path.name if path else type(net).__name__)
    if trace is not None:
        asked: dict[str, object] = {
            "torch_device": torch_device, "provider": provider,
            "compiled": compiled or None, "repeats": None if repeats == REPEATS else repeats,
            "threads": None if threads == THREADS else threads,
        }  # fmt: skip
        given = [option for option, value in asked.items() if value is not None]
        if given:
            raise InvalidInputError(
                f"{given[0]} is given with a trace; expected none, since nothing is run."
            )
        recorded = path_of("trace", trace, "file")
        source = net if path is None else path
        return _with_trace(source, example_inputs, title, recorded, base, dims or NO_DIMS)
    load = os.getloadavg()[0]
    settings = _Settings(
        chosen, repeats, threads, dims or NO_DIMS, provider, torch_device, compiled, load
    )
    if chosen == TORCH:
        return _with_torch(net if path is None else path, example_inputs, title, base, settings)
    if path is None:
        raise InvalidInputError(f"net is {quoted(net)}; expected the path of an ONNX file.")
    return _with_onnx(path, base, settings)


@dataclass(frozen=True)
class _Settings:
    """Options of the user, see `profile`, and the load of the machine before it runs."""

    runtime: str
    repeats: int
    threads: int
    dims: Mapping[str, int]
    provider: str | None
    torch_device: str | None
    compiled: bool
    load: float

    @property
    def mode(self) -> str:
        """The mode in which programs run, as the file of times has it."""
        return "compiled" if self.compiled else "eager"


def _runtime(path: Path | None) -> str:
    """Return the name of the runtime that runs a model; a model that is no file is torch's."""
    if path is None:
        return TORCH
    if path.suffix.lower() not in RUNTIMES:
        raise InvalidInputError(
            f"{path} has the suffix {path.suffix!r}; expected .onnx, or .pt2 of torch.export."
        )
    return RUNTIMES[path.suffix.lower()]


def _with_onnx(path: Path, base: str | None, settings: _Settings) -> Profile:
    title = onnxruntime_version()
    graph = load(path, settings.dims)
    device = _base(base)
    measured = measured_times(
        path, settings.dims, settings.repeats, settings.threads, settings.provider
    )
    check_names(graph, measured.samples, path)
    found = None
    if settings.provider is not None:
        title = f"{title} with {settings.provider}"
        found = gpu() if settings.provider in NVIDIA else None
    machine = _Machine.of(found, settings.threads)
    return _profile(path.name, graph, measured, device, settings, title, machine)


def _with_torch(
    net: Any, example_inputs: Any, name: str, base: str | None, settings: _Settings
) -> Profile:
    program = runnable(net, example_inputs, settings.torch_device)
    import torch

    on_gpu = program.device.type == "cuda"
    title = torch.cuda.get_device_name(program.device) if on_gpu else ""
    device = _base(base, device_of_gpu(title))
    measure = torch_compiled.measure if settings.compiled else torch_times.measure
    measured = measure(program, settings.repeats, settings.threads)
    machine = _Machine.of(None, settings.threads)
    if on_gpu:
        machine = _Machine.of(torch_times.gpu_of(program.device) or Gpu(title, None, None), None)
    runtime = f"PyTorch {torch.__version__}"
    return _profile(name, program.graph, measured, device, settings, runtime, machine)


def _with_trace(
    net: Any,
    example_inputs: Any,
    name: str,
    trace: Path,
    base: str | None,
    dims: Mapping[str, int],
) -> Profile:
    """Return the times that another tool has recorded."""
    is_onnx = isinstance(net, Path) and _runtime(net) != TORCH
    kind = ONNXRUNTIME_PROFILE if is_onnx else TORCH_TRACE
    events = tool_profiles.read_events(trace, (kind,))
    if is_onnx:
        graph = load(net, dims)
        with naming(trace):
            recorded = tool_profiles.onnxruntime_times(events, graph)
    else:
        program = runnable(net, example_inputs, "meta")
        graph = program.graph
        with naming(trace):
            recorded = tool_profiles.torch_times(events, program)
    settings = _Settings(recorded.tool, recorded.passes, 0, NO_DIMS, None, None, False, 0.0)
    machine = _Machine(recorded.device, None, None, None)
    device = _base(base, device_of_gpu(recorded.device))
    tool = f"{recorded.tool} {quoted(trace.name)}"
    profiled = _profile(name, graph, recorded.measured, device, settings, tool, machine)
    where = f", {recorded.device}" if recorded.device else ""
    # When and on what it was recorded, only its owner knows.
    measurement = {**profiled.measurement, "date": None, "device": recorded.device or None}
    return replace(
        profiled,
        measurement=measurement,
        source=f"{tool}{where}: median of {recorded.passes} passes of {name}",
    )


class _Machine(NamedTuple):
    """The device and the settings that a model ran with."""

    device: str
    driver: str | None
    clocks: str | None
    threads: int | None

    @classmethod
    def of(cls, found: Gpu | None, threads: int | None) -> "_Machine":
        """Return a GPU, or else the processor."""
        name, driver, clocks = found or Gpu(cpu_name(), None, None)
        return cls(name, driver, clocks, threads)


def _profile(
    model: str,
    graph: ComputationGraph,
    measured: Measured,
    base: Device,
    settings: _Settings,
    runtime: str,
    machine: _Machine,
) -> Profile:
    samples = {name: measured.samples[name] for name in graph.names if name in measured.samples}
    estimates: dict[str, int] = {}
    if measured.failed:
        seconds = operation_seconds(graph, base).tolist()
        estimates = {
            name: round(1e9 * seconds[at])
            for at, name in enumerate(graph.names)
            if name in measured.failed
        }
    times = {
        name: estimates[name] if name in estimates else _median(samples[name])
        for name in graph.names
    }
    untimed = dict(measured.untimed)
    for name in estimates:
        reason = untimed.get(name, "a call of its kernel could not be run")
        untimed[name] = f"{reason}; its time is that of the roofline model on {base.name}"
    measurement: dict[str, Any] = {
        "runtime": runtime,
        **machine._asdict(),
        "dtype": graph.dtype,
        "repeats": settings.repeats,
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "mode": settings.mode,
        "whole_ns": _median(measured.whole) if measured.whole else None,
    }
    if machine.threads == 1 and measured.waited > MUCH_WAITING:
        measurement["wall_over_processor"] = round(measured.waited, 2)
    if measured.unattributed:
        measurement["unattributed_ns"] = _median(measured.unattributed)
    if measured.eager_wall:
        measurement["eager_wall_ns"] = _median(measured.eager_wall)
    threads = machine.threads
    words = f", {settings.mode}" if settings.runtime == TORCH else ""
    words += "" if threads is None else f", {threads} thread{'s' * (threads > 1)}"
    return Profile(
        model=model,
        graph=graph,
        times=times,
        measurement=measurement,
        source=f"{runtime}{words}, {machine.device}: median of {settings.repeats} runs of {model}",
        base=base,
        intervals={
            name: (low, high)
            for name, taken in samples.items()
            if any(taken)
            for low, high in [np.percentile(taken, PERCENTILES).round().astype(int).tolist()]
        },
        untimed=untimed,
        estimated=tuple(estimates),
        notes=(*_busy(measured.waited, settings.load), *measured.notes),
    )


def _median(taken: Sequence[int]) -> int:
    return round(float(np.median(taken)))


def _busy(waited: float, load: float) -> Iterator[str]:
    """Yield a note where other processes take processors from the one that is timed."""
    for sentence in waiting(waited):
        yield f"{sentence.capitalize()}."
    if load > BUSY and waited <= MUCH_WAITING:
        yield f"Other processes kept the machine busy, with a load of {load:.1f}."


def _base(name: str | None, usual: Device | None = None) -> Device:
    device = find_device(name) if name is not None else usual or default_device()
    if isinstance(device, Cluster) or device.measured is not None:
        raise InvalidInputError(f"base is {name!r}; expected a device with rates.")
    return device


def device_of_gpu(title: str) -> Device | None:
    """Return the device that a GPU's driver calls so; None if it comes not with boundmark.

    Examples
    --------
    >>> device_of_gpu("NVIDIA A100-SXM4-40GB").name
    'nvidia-a100-40gb'
    >>> device_of_gpu("NVIDIA L45")
    """
    words = set(title.lower().replace("-", " ").split())
    named = [one for one in shipped().devices.values() if words >= set(one.name.split("-"))]
    return max(named, key=lambda one: len(one.name), default=None)
