"""`measured`: models whose operators were timed on a device, by this project and by others.

There is a folder for each device below ``data``, and a file for each model, compressed with gzip
(see `times_file`).
"""

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from boundmark.datasets.measured.times_file import MeasuredModel, read_model
from boundmark.problems.arrays import frozen
from boundmark.problems.dataset import Dataset
from boundmark.problems.devices.device_file import link_between
from boundmark.problems.errors import InvalidInputError, find
from boundmark.problems.files import decompressed
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.roofline import transfer_seconds
from boundmark.problems.ticks import to_nanoseconds

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

    Raises
    ------
    UnknownNameError
        If there is none of this name.
    InvalidInputError
        If its file is not as the format asks.

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
    model = measured_model(member)
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
