"""Times of a model's operators from what other tools have recorded, joined by name or order.

torch.profiler writes traces (`export_chrome_trace`) whose calls of ATen operators are those of the
program that `torch.export` records of the same module, in the same order. onnxruntime's profiles
(`enable_profiling`) have the names of the model's nodes.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boundmark.benchmarks.runtimes.measured import Measured
from boundmark.benchmarks.runtimes.onnxruntime_times import KERNEL, PROCESSOR
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import (
    MARK_OF_TOOL,
    ONNXRUNTIME_PROFILE,
    TORCH_TRACE,
    decompressed,
    naming,
    read_bytes,
    refuse_tool_file,
    tool_file,
)

if TYPE_CHECKING:
    from boundmark.benchmarks.runtimes.torch_execution import Program

# Traces of a few passes have some hundred MiB.
LARGEST_TRACE = 2**30

# Of all time, that which belongs to no operator of the model; beyond, it is another model.
MOST_UNJOINED = 0.1

MICROSECOND = 1000


@dataclass(frozen=True)
class Recorded:
    """A model's times as a tool recorded them.

    Attributes
    ----------
    tool
        What recorded them.
    device
        What the model ran on; empty if the file does not say.
    passes
        How often the whole model ran.
    """

    measured: Measured
    tool: str
    device: str
    passes: int


def read_events(path: Path) -> Any:
    """Return the JSON of a trace, which may be compressed by gzip.

    Raises
    ------
    InvalidInputError
        If it is no JSON.
    """
    content = read_bytes(path, "a trace", LARGEST_TRACE)
    with naming(path):
        what = tool_file(content[:MARK_OF_TOOL])
        if what not in (TORCH_TRACE, ONNXRUNTIME_PROFILE, None):
            refuse_tool_file(content, f"{TORCH_TRACE}, or {ONNXRUNTIME_PROFILE}")
        try:
            if content.startswith(b"\x1f\x8b"):
                content = decompressed(content, LARGEST_TRACE)
            return json.loads(content)
        except (ValueError, RecursionError, OSError) as error:
            raise InvalidInputError(
                "expected a trace of torch.profiler or a profile of onnxruntime, as complete JSON; "
                f"found {' '.join(str(error).split())[:200]}."
            ) from error


def onnxruntime_times(events: Any, graph: ComputationGraph) -> Recorded:
    """Return the times in a profile of onnxruntime.

    Raises
    ------
    InvalidInputError
        If the document is none, or the time of other operators than the model's is a part of all
        that is larger than `MOST_UNJOINED`.
    """
    found: dict[str, list[int]] = {}
    providers = set()
    for event in _complete(events):
        name = event["name"]
        if event.get("cat") == "Node" and name.endswith(KERNEL):
            found.setdefault(name.removesuffix(KERNEL), []).append(event["dur"])
            arguments = event.get("args")
            providers.add(str(arguments.get("provider", "")) if isinstance(arguments, dict) else "")
    if not found:
        raise InvalidInputError(
            "it has no times of nodes; expected a profile of onnxruntime with events 'NODE"
            f"{KERNEL}'."
        )
    known = set(graph.names)
    passes = max((len(times) for name, times in found.items() if name in known), default=0)
    _check_joined(
        {name: sum(times) for name, times in found.items()},
        known,
        "record it with graph_optimization_level = ORT_DISABLE_ALL and the model's own names, or "
        "run `boundmark profile` on that machine",
    )
    absent = [name for name in graph.names if name not in found]
    others = sorted(providers - {PROCESSOR, ""})
    notes = [
        f"Times of {', '.join(others)} are those of launches, unless CUDA_LAUNCH_BLOCKING was set."
    ]
    return Recorded(
        Measured(
            {name: found.get(name, [0]) for name in graph.names},
            untimed=dict.fromkeys(absent, "onnxruntime ran it as part of another one, or not"),
            notes=tuple(notes if others else ()),
        ),
        "profile of onnxruntime",
        "",
        passes,
    )


@dataclass
class _Call:
    """A call of an ATen operator.

    Attributes
    ----------
    shapes
        Of its arguments, if they were recorded.
    time
        Nanoseconds, with those of the calls within it.
    own
        Without these.
    after
        Position of the first call that is not within it, in the order in which they start.
    """

    name: str
    shapes: Any
    time: int
    own: int
    after: int


def torch_times(document: Any, program: "Program") -> Recorded:
    """Return the times in a trace of torch.profiler.

    The time of a call on a GPU is that of the kernels that it launched; that of one on a processor,
    its own. Of views, the time does not count.

    Raises
    ------
    InvalidInputError
        If the document is none, or its calls are not those of the program in their order.
    """
    from boundmark.benchmarks.runtimes.torch_times import Calls, CallTimes, is_timed, of_operators

    calls, is_of_kernels = recorded_calls(document)
    nodes = [node for node in program.module.graph.nodes if is_timed(node)]
    times: dict[Any, list[int]] = {node: [] for node in nodes}
    passes = at = others = waiting = position = 0
    while position < len(calls):
        call = calls[position]
        if call.name != nodes[at].target._schema.name or not _fits(call, nodes[at]):
            # Perhaps one of those within it: the program has fewer layers of calls.
            waiting += call.own
            position += 1
            continue
        times[nodes[at]].append(call.time)
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
            "trace of the module that was exported, in eager mode, or run `boundmark profile` "
            "there."
        )
    for node in nodes:
        del times[node][passes:]
    total = {f"{at}": sum(times[node]) for at, node in enumerate(nodes)}
    _check_joined(
        {**total, "others": others},
        total.keys(),
        "record the module that was exported, in eager mode, or run `boundmark profile` there",
    )
    views = frozenset(node for node in nodes if _is_view(node))
    measured = of_operators(program, Calls(views, {}, {}), CallTimes({**times}), passes)
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


def _complete(events: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the events that have a duration, which is in nanoseconds then."""
    if not isinstance(events, list):
        raise InvalidInputError("it is no list of events; expected a profile of onnxruntime.")
    for event in events:
        if not isinstance(event, dict) or event.get("ph") != "X":
            continue
        name, start, duration = event.get("name"), _number(event, "ts"), _number(event, "dur")
        if not isinstance(name, str) or start is None or duration is None:
            raise InvalidInputError(
                f"an event has the name {quoted(name)}, ts {quoted(event.get('ts'))} and dur "
                f"{quoted(event.get('dur'))}; expected a text and microseconds."
            )
        yield {**event, "dur": round(duration * MICROSECOND), "ts": start * MICROSECOND}


# A day, in microseconds, and a moment until the year 2286.
LONGEST = {"dur": 86_400 * 1e6, "ts": 1e16}


def _number(event: Mapping[str, Any], name: str) -> float | None:
    """Return microseconds; None if they are none."""
    value: Any = event.get(name)
    # Booleans are no numbers, and comparison is false for what is none.
    is_number = type(value) in (int, float) and 0 <= value <= LONGEST[name]
    return value if is_number else None


_ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")


def recorded_calls(document: Any) -> tuple[list[_Call], bool]:
    """Return the calls of the thread that makes most, by start, and whether times are of kernels.

    A call on a GPU takes as long as the kernels that it launches, one on a processor its own time.

    Raises
    ------
    InvalidInputError
        If the document is no trace of torch.profiler.
    """
    if not isinstance(document, dict) or not isinstance(document.get("traceEvents"), list):
        raise InvalidInputError("traceEvents is no list; expected a trace of torch.profiler.")
    events = list(_complete(document["traceEvents"]))
    made = [one for one in events if one.get("cat") == "cpu_op" and one["name"].startswith("aten:")]
    threads = Counter(_thread(one) for one in made)
    if not threads:
        return [], False
    main = max(threads, key=threads.__getitem__)
    made = [one for one in made if _thread(one) == main]
    made.sort(key=lambda one: (one["ts"], -one["dur"]))
    kernels = [one for one in events if one.get("cat") in _ON_GPU]
    launches = {
        _argument(one, "correlation"): _argument(one, "External id")
        for one in events
        if one.get("cat") == "cuda_runtime"
    }
    launched: Counter[Any] = Counter()
    known = {_argument(one, "External id") for one in made}
    for one in kernels:
        by = _argument(one, "External id")
        by = by if by in known else launches.get(_argument(one, "correlation"))
        launched[by] += one["dur"]
    found: list[_Call] = []
    open_calls: list[tuple[float, int]] = []
    for position, one in enumerate(made):
        while open_calls and one["ts"] >= open_calls[-1][0]:
            found[open_calls.pop()[1]].after = position
        time = launched.pop(_argument(one, "External id"), 0) if kernels else one["dur"]
        found.append(_Call(one["name"], _argument(one, "Input Dims"), time, time, len(made)))
        if kernels:
            for _, above in open_calls:
                found[above].time += time
        elif open_calls:
            found[open_calls[-1][1]].own -= time
        open_calls.append((one["ts"] + one["dur"], position))
    return found, bool(kernels)


def _thread(event: Mapping[str, Any]) -> tuple[str, str]:
    return str(event.get("pid")), str(event.get("tid"))


def _argument(event: Mapping[str, Any], name: str) -> Any:
    arguments = event.get("args")
    value = arguments.get(name) if isinstance(arguments, dict) else None
    # Ids are numbers; a forged list must not be a key.
    return value if name == "Input Dims" or isinstance(value, int | str) else None


def _fits(call: _Call, node: Any) -> bool:
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


def _check_joined(times: Mapping[str, int], known: Any, instead: str) -> None:
    """Refuse times most of which belong to something else."""
    total = sum(times.values())
    others = {name: time for name, time in times.items() if name not in known}
    part = sum(others.values()) / total if total else 0.0
    if part > MOST_UNJOINED:
        longest = max(others, key=others.__getitem__)
        raise InvalidInputError(
            f"{part:.0%} of its time are of operators that the model does not have, such as "
            f"{quoted(longest)}; expected less than {MOST_UNJOINED:.0%}: {instead}."
        )
