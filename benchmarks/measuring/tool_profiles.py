"""Times of a model's operators from what other tools have recorded, joined by name or order.

torch.profiler writes traces (`export_chrome_trace`) whose calls of ATen operators are those of the
program that `torch.export` records of the same module, in the same order. onnxruntime's profiles
(`enable_profiling`) have the names of the model's nodes.
"""

import codecs
import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from boundmark.benchmarks.measuring import torch_times as timed
from boundmark.benchmarks.measuring.measured import Measured
from boundmark.benchmarks.measuring.onnx_times import (
    KERNEL,
    NANOSECONDS_PER_MICROSECOND,
    PROCESSOR,
)
from boundmark.benchmarks.measuring.torch_execution import Program
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import (
    ONNXRUNTIME_PROFILE,
    TORCH_TRACE,
    decompressed,
    is_gzip,
    naming,
    read_bytes,
    refuse_tool_file,
    tool_file,
)
from boundmark.problems.json_documents import json_value

# Traces of a few passes have some hundred MiB.
LARGEST_TRACE = 2**30

# Largest share of operators with arithmetic that have no time, and of time that belongs to no
# operator of the model; beyond, it is another model, or one whose operators were fused.
MOST_UNJOINED = 0.1


@dataclass(frozen=True)
class Recorded:
    """A model's times as a tool recorded them.

    Attributes
    ----------
    tool
        What recorded them, and with what of it.
    device
        What the model ran on; empty if the file does not say.
    passes
        How often the whole model ran.
    """

    measured: Measured
    tool: str
    device: str
    passes: int


def read_events(path: Path, kinds: Sequence[str] = (TORCH_TRACE, ONNXRUNTIME_PROFILE)) -> Any:
    """Return the JSON of a trace, which may be compressed by gzip."""
    content = read_bytes(path, "a trace", LARGEST_TRACE)
    expected = " or ".join(kinds)
    with naming(path):
        if tool_file(content) not in kinds:
            refuse_tool_file(content, expected)
        try:
            if is_gzip(content):
                content = decompressed(content, LARGEST_TRACE)
            return json_value(content.removeprefix(codecs.BOM_UTF8))
        except (InvalidInputError, OSError) as error:
            raise InvalidInputError(
                f"expected {expected}, as complete JSON; found "
                f"{' '.join(str(error).split())[:200]}."
            ) from error


def onnxruntime_times(events: Any, graph: ComputationGraph) -> Recorded:
    """Return the times in a profile of onnxruntime.

    Control flow is one operator of a graph, so what runs inside of another one is part of it.
    """
    if not isinstance(events, list):
        raise InvalidInputError("it is no list of events; expected a profile of onnxruntime.")
    found: dict[str, list[int]] = {}
    providers = set()
    runs = [
        one
        for one in _complete(events)
        if one.get("cat") == "Node" and one["name"].endswith(KERNEL)
    ]
    for run in _outermost(runs):
        found.setdefault(run["name"].removesuffix(KERNEL), []).append(run["dur"])
        providers.add(_argument(run, "provider"))
    if not found:
        raise InvalidInputError(
            "it has no times of nodes; expected a profile of onnxruntime with events 'NODE"
            f"{KERNEL}'."
        )
    known = set(graph.names)
    passes = max((len(times) for name, times in found.items() if name in known), default=0)
    _check_joined(
        {name: name in found for name in _with_arithmetic(graph)},
        sum(sum(times) for name, times in found.items() if name in known),
        {quoted(name): sum(times) for name, times in found.items() if name not in known},
        "record it with graph_optimization_level = ORT_DISABLE_ALL and the model's own names, or "
        "run `boundmark profile` on that machine",
    )
    absent = [name for name in graph.names if name not in found]
    named = sorted(str(one) for one in providers - {None, ""})
    others = [one for one in named if one != PROCESSOR]
    notes = [
        f"Times of {', '.join(others)} are those of launches, unless CUDA_LAUNCH_BLOCKING was set."
    ]
    return Recorded(
        Measured(
            {name: found.get(name, [0]) for name in graph.names},
            untimed=dict.fromkeys(absent, "onnxruntime ran it as part of another one, or not"),
            notes=tuple(notes if others else ()),
        ),
        f"profile of onnxruntime{' with ' if named else ''}{' and '.join(named)}",
        "",
        passes,
    )


def _outermost(events: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the events that are not within another one of their thread."""
    ends: dict[Any, float] = {}
    for event in _in_order(events):
        if event["ts"] >= ends.get(_thread(event), 0):
            ends[_thread(event)] = event["ts"] + event["dur"]
            yield event


def _in_order(events: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return events by start, those within another one behind it."""
    return sorted(events, key=lambda one: (one["ts"], -one["dur"]))


@dataclass
class Call:
    """A call of an operator.

    Attributes
    ----------
    shapes
        Shapes of its arguments, if they were recorded.
    time
        Nanoseconds, with those of the calls within it.
    own
        Without these.
    after
        Position of the first call that is not within it, in the order in which they start.
    copies
        Whether a call within it copies a tensor.
    """

    name: str
    shapes: Any
    time: int
    own: int
    after: int = 0
    copies: bool = False


class Calls(NamedTuple):
    """The calls of one thread.

    Attributes
    ----------
    calls
        By start.
    is_of_kernels
        Whether times are those of kernels on a GPU.
    unlinked
        Nanoseconds of kernels that no call has launched, as far as the trace says.
    """

    calls: list[Call]
    is_of_kernels: bool
    unlinked: int


# What makes the calls of a program, in its order.
_TRACED = (
    "the exported program's `module()`, or of the module that was exported, in eager mode, or run "
    "`boundmark profile` there"
)


def torch_times(document: Any, program: Program) -> Recorded:
    """Return the times in a trace of torch.profiler.

    The time of a call on a GPU is that of the kernels that it launched; that of one on a processor,
    its own. Of views, the time does not count, unless they copy.
    """
    calls, is_of_kernels, unlinked = recorded_calls(document)
    nodes = [node for node in program.module.graph.nodes if timed.is_timed(node)]
    if not nodes:
        raise InvalidInputError("the model has no calls; expected some that the trace has, too.")
    times: dict[Any, list[int]] = {node: [] for node in nodes}
    copying = set()
    passes = at = others = waiting = position = 0
    while position < len(calls):
        call = calls[position]
        if call.name != nodes[at].target._schema.name or not _fits(call, nodes[at]):
            # Perhaps one of those within it: the program has fewer layers of calls.
            waiting += call.own
            position += 1
            continue
        times[nodes[at]].append(call.time)
        if call.copies:
            copying.add(nodes[at])
        # What stands between two passes belongs to neither.
        others += waiting if at else 0
        waiting = 0
        position = call.after
        at += 1
        if at == len(nodes):
            passes, at = passes + 1, 0
    if not passes:
        raise InvalidInputError(
            f"its calls are not those of the model: of {len(nodes):,} calls, the first {at:,} were "
            f"found in this order, and then no {quoted(nodes[at].target._schema.name)}; expected a "
            f"trace of {_TRACED}."
        )
    for node in nodes:
        del times[node][passes:]
    views = frozenset(node for node in nodes if _is_view(node) and node not in copying)
    measured = timed.of_operators(
        program, timed.Calls(views, {}, {}), timed.CallTimes({**times}), passes
    )
    _check_joined(
        {
            name: any(measured.samples[name])
            for name in _with_arithmetic(program.graph)
            if name not in measured.untimed
        },
        sum(map(sum, times.values())),
        {"calls that are not the model's": others, "kernels without a call": unlinked},
        f"record a trace of {_TRACED}",
    )
    devices = document.get("deviceProperties")
    titles = [str(one["name"]) for one in devices or () if isinstance(one, dict) and "name" in one]
    what = "kernels" if is_of_kernels else "calls on the processor, with those of the profiler"
    note = f"Times are those of {what}, in {passes} passes."
    notes = (*(one for one in measured.notes if not one.startswith(("Weights", "The whole"))), note)
    return Recorded(
        Measured(measured.samples, untimed=measured.untimed, notes=notes),
        "trace of torch.profiler",
        titles[0] if titles and is_of_kernels else "",
        passes,
    )


def _complete(events: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the events that have a duration, with times in nanoseconds."""
    for event in events:
        if not isinstance(event, dict) or event.get("ph") != "X":
            continue
        name, start, duration = event.get("name"), _number(event, "ts"), _number(event, "dur")
        if not isinstance(name, str) or start is None or duration is None:
            raise InvalidInputError(
                f"an event has the name {quoted(name)}, ts {quoted(event.get('ts'))} and dur "
                f"{quoted(event.get('dur'))}; expected a text and microseconds."
            )
        yield {
            **event,
            "dur": round(duration * NANOSECONDS_PER_MICROSECOND),
            "ts": start * NANOSECONDS_PER_MICROSECOND,
        }


# A day, in microseconds, and a moment until the year 2286.
LONGEST = {"dur": 86_400 * 1e6, "ts": 1e16}


def _number(event: Mapping[str, Any], name: str) -> float | None:
    """Return microseconds; None if they are none."""
    value: Any = event.get(name)
    # Booleans are no numbers, and comparison is false for what is none.
    is_number = type(value) in (int, float) and 0 <= value <= LONGEST[name]
    return value if is_number else None


_ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
_LAUNCHES = ("cuda_runtime", "cuda_driver")

# The number of a call, which what it has launched has as well.
_ID = "External id"


def recorded_calls(document: Any) -> Calls:
    """Return the calls of the thread that calls most of ATen's operators.

    A call on a GPU takes as long as the kernels that it launches, one on a processor its own time.
    """
    if not isinstance(document, dict) or not isinstance(document.get("traceEvents"), list):
        raise InvalidInputError("traceEvents is no list; expected a trace of torch.profiler.")
    events = list(_complete(document["traceEvents"]))
    made = [one for one in events if one.get("cat") == "cpu_op"]
    threads = Counter(_thread(one) for one in made if _is_of_aten(one))
    if not threads:
        return Calls([], False, 0)
    main = max(threads, key=threads.__getitem__)
    launched, unlinked = _launched(events, {_argument(one, _ID) for one in made})
    is_of_kernels = bool(launched or unlinked)
    # Others take no time on a processor but that of Python; on a GPU, they may launch kernels.
    made = [one for one in made if _thread(one) == main and (is_of_kernels or _is_of_aten(one))]
    found: list[Call] = []
    open_calls: list[tuple[float, Call]] = []

    def leave(now: float, position: int) -> None:
        while open_calls and now >= open_calls[-1][0]:
            call = open_calls.pop()[1]
            call.after = position
            if not open_calls:
                return
            above = open_calls[-1][1]
            above.copies |= call.copies or call.name == _COPY
            if is_of_kernels:
                above.time += call.time
            else:
                above.own -= call.time

    for position, one in enumerate(_in_order(made)):
        leave(one["ts"], position)
        time = launched.pop(_argument(one, _ID), 0) if is_of_kernels else one["dur"]
        found.append(Call(one["name"], _argument(one, "Input Dims"), time, time))
        open_calls.append((one["ts"] + one["dur"], found[-1]))
    leave(math.inf, len(made))
    return Calls(found, is_of_kernels, unlinked)


# What reshapes and casts call if they have to.
_COPY = "aten::copy_"


def _is_of_aten(event: Mapping[str, Any]) -> bool:
    found: bool = event["name"].startswith("aten::")
    return found


def _launched(
    events: Sequence[Mapping[str, Any]], calls: Container[Any]
) -> tuple[Counter[Any], int]:
    """Return nanoseconds of the kernels that each call has launched, and of those of no call."""
    launches = {
        _argument(one, "correlation"): _argument(one, _ID)
        for one in events
        if one.get("cat") in _LAUNCHES
    }
    found: Counter[Any] = Counter()
    unlinked = 0
    for one in events:
        if one.get("cat") not in _ON_GPU:
            continue
        by = _argument(one, _ID)
        if by is None or by not in calls:
            by = launches.get(_argument(one, "correlation"))
        if by is None or by not in calls:
            unlinked += one["dur"]
        else:
            found[by] += one["dur"]
    return found, unlinked


def _thread(event: Mapping[str, Any]) -> tuple[str, str]:
    return str(event.get("pid")), str(event.get("tid"))


def _argument(event: Mapping[str, Any], name: str) -> Any:
    arguments = event.get("args")
    value = arguments.get(name) if isinstance(arguments, dict) else None
    # Ids are numbers; a forged list must not be a key.
    return value if name == "Input Dims" or isinstance(value, int | str) else None


def _fits(call: Call, node: Any) -> bool:
    """Whether a call has the shapes of a node's tensors, if they were recorded."""
    if not isinstance(call.shapes, list):
        return True
    for given, shape in zip(node.args, call.shapes, strict=False):
        value = getattr(given, "meta", {}).get("val")
        if isinstance(value, tuple) or value is None or not isinstance(shape, list):
            continue
        if list(value.shape) != shape:
            return False
    return True


def _is_view(node: Any) -> bool:
    """Whether all that a call returns is in the memory of what it reads, unless it writes there."""
    schema = node.target._schema
    aliases = [one.alias_info for one in schema.returns]
    return bool(aliases) and all(one is not None and not one.is_write for one in aliases)


def _with_arithmetic(graph: ComputationGraph) -> list[str]:
    """Return the names of the operators that compute something."""
    return [one.name for one in graph.operators if one.flops]


def _check_joined(
    have_times: Mapping[str, bool], joined: int, others: Mapping[str, int], instead: str
) -> None:
    """Refuse times that many operators lack, or that belong to something else, or are nothing."""
    total = joined + sum(others.values())
    if not total:
        raise InvalidInputError(f"its events take no time; expected some that do: {instead}.")
    missing = [name for name, has_time in have_times.items() if not has_time]
    if len(missing) > MOST_UNJOINED * len(have_times):
        raise InvalidInputError(
            f"{len(missing):,} of {len(have_times):,} operators with arithmetic have no time, the "
            f"first of them {quoted(missing[0])}; expected at most {MOST_UNJOINED:.0%}: {instead}."
        )
    part = 1 - joined / total
    if part > MOST_UNJOINED:
        longest = max(others, key=others.__getitem__)
        raise InvalidInputError(
            f"{part:.0%} of its time belongs to no operator of the model, most of it to {longest}; "
            f"expected at most {MOST_UNJOINED:.0%}: {instead}."
        )
