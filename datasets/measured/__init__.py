"""`measured`: models whose operators were timed on a device, by this project and by others.

There is a folder for each device below ``data``, and a file for each model, compressed with gzip.
`boundmark profile --out` writes these files (see `problems.devices.measured_times`, which reads the
times only). Nobody can be asked years later how they were measured, so a file has to say it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np

from boundmark.datasets.json_fields import Fields
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.computation_graph import ELEMENT_BITS
from boundmark.problems.dag import Dag
from boundmark.problems.dataset import Dataset
from boundmark.problems.devices import TIMES_FORMAT, Device, shipped
from boundmark.problems.devices.device_file import link_between
from boundmark.problems.devices.measured_times import LONGEST
from boundmark.problems.errors import InvalidInputError, UnknownNameError, find, quoted
from boundmark.problems.files import decompressed, naming
from boundmark.problems.json_documents import check_edges, check_format, json_object
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.operator_types import FREE_OP_TYPES
from boundmark.problems.roofline import transfer_seconds
from boundmark.problems.ticks import to_nanoseconds

# The operators, one by one, take this many times what the whole model takes, or as many times less:
# what is further apart was not measured on the same program.
FACTOR = 2

# Largest number of bytes and operations; JSON readers keep larger integers only in part.
LARGEST = 2**53

SIZES = ("flops", "read_bytes", "output_bytes", "param_bytes")

MODES = ("eager", "compiled")

# Where a file lay on somebody's machine.
_PATH = re.compile(r"(^|[\s'\"(=])(~|/[\w.+-]+)/|\b[A-Za-z]:\\")

Value = TypeVar("Value")


@dataclass(frozen=True)
class Measurement:
    """The device and settings with which a model's operators were measured.

    Attributes
    ----------
    runtime
        The program that ran the model, with its version.
    device
        As it calls itself.
    driver, clocks
        Driver and clocks of the device, in words; empty if nobody wrote them down.
    dtype
        Type of the elements.
    threads
        Threads of the runtime, 0 if it does not matter.
    repeats
        Number of measurements that a time is the median of.
    date
        Day of the measurement, ``YYYY-MM-DD``.
    mode
        One of `MODES`.
    whole_ns
        Nanoseconds of the whole model in one piece, launched like its operators.
    eager_wall_ns
        Nanoseconds of the whole model as its program launches it, if that takes longer; 0 if not
        measured.
    compiled_whole_ns
        Nanoseconds of the whole model when compiled; 0 if not measured.
    unattributed_ns
        Nanoseconds of a compiled model that count for no operator; 0 if not measured.
    """

    runtime: str
    device: str
    driver: str
    clocks: str
    dtype: str
    threads: int
    repeats: int
    date: str
    mode: str
    whole_ns: int
    eager_wall_ns: int
    compiled_whole_ns: int
    unattributed_ns: int


@dataclass(frozen=True, eq=False)
class MeasuredModel:
    """A model's operators, with what they compute and how long they took on a device.

    Attributes
    ----------
    name
        Name of the member, e.g. ``"h100/resnet-50-b32"``.
    model
        What the model is called where it was measured.
    base
        The device, whose link and memory go with the times.
    source
        What was measured and how, as a sentence.
    names, op_types
        Names and types of the n operators.
    dag
        Edges from producer to consumer.
    measured_ns
        Nanoseconds of each operator by itself, shape (n,).
    flops, read_bytes, output_bytes, param_bytes
        Integers of each operator, shape (n,), as in a `ComputationGraph`.
    untimed
        Why operators have no time, by name.
    notes
        What else one has to know about the times, as sentences.
    """

    name: str
    model: str
    base: Device
    source: str
    names: tuple[str, ...]
    op_types: tuple[str, ...]
    dag: Dag
    measured_ns: IntArray
    flops: IntArray
    read_bytes: IntArray
    output_bytes: IntArray
    param_bytes: IntArray
    measurement: Measurement
    untimed: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def dtype(self) -> str:
        """Type of the elements."""
        return self.measurement.dtype

    @property
    def edges(self) -> IntArray:
        """Pairs of a producer and a consumer, shape (m, 2)."""
        return self.dag.edge_pairs()

    @property
    def sum_to_whole(self) -> float:
        """Times of all operators together, divided by that of the whole model."""
        return float(self.measured_ns.sum()) / self.measurement.whole_ns


def read_model(content: bytes, name: str) -> MeasuredModel:
    """Return the model in a file's text."""
    with naming(name):
        document = json_object(content)
        check_format(document, TIMES_FORMAT)
        fields = Fields(document)
        fields.skip("format", "rank_correlation", "intervals")
        model, source = fields.text("model"), fields.text("source")
        base = _one_of("device", fields.text("base"), shipped().devices)
        times, untimed = fields.object("operators") or {}, fields.object("untimed") or {}
        measured = Fields(fields.object("measurement") or {}, "measurement.")
        measurement = _measurement(measured)
        graph = Fields(fields.object("graph") or {}, "graph.")
        notes = fields.texts("notes")
        names, op_types = tuple(times), graph.texts("op_types")
        if not names or len(op_types) != len(names):
            raise InvalidInputError(
                f"there are {len(names)} operators and {len(op_types)} op_types; expected as many, "
                "and at least one."
            )
        edges = graph.value("edges")
        if not isinstance(edges, list):
            raise InvalidInputError("graph.edges is not a list; expected pairs of numbers.")
        check_edges(edges, "numbers of operators")
        flops, read_bytes, output_bytes, param_bytes = (
            _sizes(graph, field, len(names)) for field in SIZES
        )
        each = Fields(times, "operators.")
        found = MeasuredModel(
            name=name,
            model=model,
            base=base,
            source=source,
            names=names,
            op_types=op_types,
            dag=Dag.from_edges(len(names), edges, names),
            measured_ns=frozen([each.integer(one, low=0, high=LONGEST) for one in names]),
            flops=flops,
            read_bytes=read_bytes,
            output_bytes=output_bytes,
            param_bytes=param_bytes,
            measurement=measurement,
            untimed=untimed,
            notes=notes,
        )
        unknown = (*fields.unused(), *measured.unused(), *graph.unused())
        if unknown:
            raise InvalidInputError(f"{unknown[0]} is not known; expected fields of the format.")
        _check_untimed(found)
        _check_times(found)
        if not all((model, source, measurement.runtime, measurement.device)):
            raise InvalidInputError("model, source, runtime or device is empty; expected texts.")
        _check_texts((model, source, *notes, *untimed.values(), *vars(measurement).values()))
        return found


def _one_of(what: str, name: str, among: Mapping[str, Value]) -> Value:
    """Return the value of a name as `find` does; unknown ones are errors of the file."""
    try:
        return find(what, name, among)
    except UnknownNameError as error:
        raise InvalidInputError(str(error)) from error


def _measurement(fields: Fields) -> Measurement:
    day = fields.text("date")
    try:
        is_day = date.fromisoformat(day).isoformat() == day
    except ValueError:
        is_day = False
    if not is_day:
        raise InvalidInputError(f"measurement.date is {quoted(day)}; expected YYYY-MM-DD.")
    dtype, mode = fields.text("dtype"), fields.text("mode")
    _one_of("dtype in measurement", dtype, ELEMENT_BITS)
    _one_of("mode in measurement", mode, dict.fromkeys(MODES))
    return Measurement(
        runtime=fields.text("runtime"),
        device=fields.text("device"),
        driver=fields.text("driver", default=""),
        clocks=fields.text("clocks", default=""),
        dtype=dtype,
        threads=fields.integer("threads", low=0, high=1024, default=0),
        repeats=fields.integer("repeats", low=1, high=LARGEST),
        date=day,
        mode=mode,
        whole_ns=fields.integer("whole_ns", low=1, high=LONGEST),
        eager_wall_ns=fields.integer("eager_wall_ns", low=0, high=LONGEST, default=0),
        compiled_whole_ns=fields.integer("compiled_whole_ns", low=0, high=LONGEST, default=0),
        unattributed_ns=fields.integer("unattributed_ns", low=0, high=LONGEST, default=0),
    )


def _sizes(graph: Fields, field: str, count: int) -> IntArray:
    found = graph.integers(field, low=0, high=LARGEST)
    if len(found) != count:
        raise InvalidInputError(
            f"graph.{field} has {len(found)} values; expected one for each of {count} operators."
        )
    return frozen(found, field)


def _check_untimed(model: MeasuredModel) -> None:
    for name, reason in model.untimed.items():
        if name not in model.names:
            raise InvalidInputError(f"untimed names {quoted(name)}; expected operators.")
        if not isinstance(reason, str):
            raise InvalidInputError(
                f"{quoted(reason)} stands for a reason in untimed; expected a sentence."
            )


def _check_times(model: MeasuredModel) -> None:
    """Refuse times that cannot be those of the model on the device."""
    for name, op_type, time in zip(model.names, model.op_types, model.measured_ns, strict=True):
        if not time and op_type not in FREE_OP_TYPES and name not in model.untimed:
            raise InvalidInputError(
                f"operator {quoted(name)}, a {op_type}, took 0 ns; expected a positive time, or a "
                "reason in untimed."
            )
    if not 1 / FACTOR <= model.sum_to_whole <= FACTOR:
        raise InvalidInputError(
            f"the operators take {model.sum_to_whole:.2f} times measurement.whole_ns together; "
            f"expected from {1 / FACTOR} to {FACTOR}."
        )
    parameters = int(model.param_bytes.sum())
    if parameters > model.base.memory_bytes:
        raise InvalidInputError(
            f"parameters take {parameters:,} bytes; expected them to fit into {model.base.name}."
        )


def _check_texts(texts: Iterable[Any]) -> None:
    for text in texts:
        if _PATH.search(str(text)):
            raise InvalidInputError(
                f"{quoted(text)} names a folder of a machine; expected no such path."
            )


_DATA = files("boundmark.datasets.measured") / "data"

_SUFFIX = ".json.gz"

# As many as one computer often has; no file says.
DEVICES = 8


@cache
def measured_models() -> tuple[str, ...]:
    """Return the names of all models, e.g. ``"h100/resnet-50-b32"``, in the order of tables."""
    return tuple(
        f"{folder.name}/{file.name.removesuffix(_SUFFIX)}"
        for folder in sorted(_DATA.iterdir(), key=lambda one: one.name)
        if folder.is_dir()
        for file in sorted(folder.iterdir(), key=lambda one: one.name)
        if file.name.endswith(_SUFFIX)
    )


def measured_model(name: str) -> MeasuredModel:
    """Return a model with the times of its operators.

    Examples
    --------
    >>> model = measured_model("h100/resnet-50-b32")
    >>> model.op_types[0], int(model.measured_ns[0])
    ('Conv', 182416)
    """
    find("model in measured", name, dict.fromkeys(measured_models()))
    try:
        content = decompressed(_DATA.joinpath(f"{name}{_SUFFIX}").read_bytes())
    except OSError as error:
        raise InvalidInputError(f"{name}{_SUFFIX}: {error}; expected a file of gzip.") from error
    return read_model(content, name)


def load(member: str) -> MeasuredGraph:
    """Return a model with its costs: measured times, and tensors over the link of its device.

    Raises as `measured_model` does. Parameters fit into one device, on which they were measured.
    Where a problem needs to know how many devices there are, there are `DEVICES`. A device keeps
    the parameters and outputs of its operators.
    """
    return graph_of(measured_model(member))


def graph_of(model: MeasuredModel) -> MeasuredGraph:
    """Return a model with its costs, as `load` does for a member."""
    link, how = link_between(model.base, model.base), model.measurement
    has_consumers = np.diff(model.dag.consumer_start) > 0
    seconds = np.where(has_consumers, transfer_seconds(model.output_bytes, link), 0.0)
    return MeasuredGraph(
        dag=model.dag,
        accelerator=model.measured_ns,
        on_accelerator=(True,) * len(model.names),
        processor=frozen([0] * len(model.names)),
        transfer=to_nanoseconds(seconds),
        memory=frozen(model.param_bytes + model.output_bytes),
        accelerators=DEVICES,
        processors=0,
        capacity=int(model.base.memory_bytes),
        names=model.names,
        notes=model.notes,
        costs=f"times measured on {how.device} ({how.runtime}, {how.dtype}, {how.mode}, "
        f"{how.date}), {link.bandwidth / 1e9:.3g} GB/s links",
    )


def about(member: str) -> Mapping[str, Any]:
    """Return how a model was measured; raises as `measured_model` does."""
    model = measured_model(member)
    known = {name: value for name, value in asdict(model.measurement).items() if value}
    shares = {"sum_to_whole": round(model.sum_to_whole, 3)}
    return {"source": model.source, "configuration": {"model": model.model} | known | shares}


DATASET = Dataset(
    name="measured",
    source=MeasuredGraph,
    summary="Models with operator times measured on a device; anyone can contribute theirs.",
    members=measured_models,
    load=load,
    about=about,
)
