"""`pipedream`: the layer graphs that PipeDream's authors measured.

The files are profiler/*/profiles/*/graph.txt of msr-fiddle/pipedream ([PIPEDREAM19]), renamed to
the model's name. A line is a node, ``ID -- DESCRIPTION -- KEY=VALUE, ...``, or an edge,
``<tab>ID -- ID``. Times are milliseconds, sizes bytes; a node with several outputs lists their
sizes, ``[1.0; 2.0]``. What PipeDream's planner writes has ``-- stage_id=N`` behind each node.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from boundmark.datasets.file_format import FileFormat
from boundmark.datasets.resolve import published_file
from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.dataset import Dataset
from boundmark.problems.devices import default_device
from boundmark.problems.errors import InvalidInputError, find
from boundmark.problems.files import naming, read_bytes
from boundmark.problems.pipeline.costs import stage_hardware
from boundmark.problems.pipeline.graph import INFERENCE, TRAINING, PipelineGraph
from boundmark.problems.ticks import NANOSECONDS

MEMBERS = ("alexnet", "vgg16", "squeezenet1_0", "resnet18", "resnet50", "resnext50", "gnmt")


def load(member: str) -> PipelineGraph:
    """Read a profile from the user's folder of published data.

    Raises
    ------
    UnknownNameError
        If it is none of the seven.
    InvalidInputError
        If the file is not there, or not what it should be.
    """
    name = find("graph in pipedream", member, {name: f"{name}.txt" for name in MEMBERS})
    return load_profile(published_file("pipedream", name))


DATASET = Dataset(
    name="pipedream",
    source=PipelineGraph,
    summary="Seven models measured by PipeDream's profiler; the files are not included.",
    members=lambda: MEMBERS,
    load=load,
)


FIELDS = ("forward_compute_time", "backward_compute_time", "activation_size", "parameter_size")
LARGEST_NUMBER = 1e12


def is_profile(content: bytes) -> bool:
    """Whether a text begins with a line of a profile."""
    return re.match(rb"\s*\w+ -- ", content) is not None


def load_profile(path: str | Path) -> PipelineGraph:
    """Read a graph; ticks are nanoseconds, and nodes keep the order of the file.

    In training, work is the time of both passes, tensors pass both ways, and a stage keeps
    gradients and activations of one minibatch. In inference, and if no backward pass takes any
    time, work is the forward time. A tensor takes its bytes over the link of the default device,
    and parameters likewise; what fits into that device's memory is cached, which is more than the
    parameters of any published profile. Each is rounded once. A node with several outputs has one
    tensor, as large as all of them together; one without consumers is transferred nowhere.

    Sources that are called Input are left out, as PipeDream's planner does: their time is that of
    loading the minibatch, which the first stage has at hand. A note tells how much that was.
    """
    path = Path(path)
    content = read_bytes(path)
    with naming(path):
        return _parsed(content)


def _parsed(content: bytes) -> PipelineGraph:
    try:
        lines = content.decode().splitlines()
    except UnicodeDecodeError as error:
        raise InvalidInputError("expected a profile as text, found other bytes.") from error
    number: dict[str, int] = {}
    names, values = [], []
    edges = []
    is_planned = False
    for row, line in enumerate(lines, 1):
        parts = line.strip().split(" -- ")
        with naming(f"line {row}"):
            if not line.startswith("\t") and re.fullmatch(r"stage_id=\d{1,9}", parts[-1]):
                is_planned = True
                parts.pop()
            if line.startswith("\t") and len(parts) == 2:
                edges.append((row, parts[0], parts[1]))
            elif len(parts) == 3 and not line.startswith("\t"):
                node, description, fields = parts
                if node in number:
                    raise InvalidInputError(f"node {node!r} is listed before; expected unique ids.")
                number[node] = len(number)
                names.append(f"{node} {description.partition('(')[0]}".strip())
                values.append(_values(node, fields))
            elif line.strip():
                raise InvalidInputError(
                    "expected a node, 'ID -- DESCRIPTION -- KEY=VALUE, ...', or an edge, "
                    "'<tab>ID -- ID'."
                )
    for row, *ends in edges:
        for node in ends:
            if node not in number:
                raise InvalidInputError(
                    f"line {row}: the edge names {node!r}; expected the id of a node."
                )
    # The whole file is checked, since errors name its nodes.
    Dag.from_edges(len(names), [(number[u], number[w]) for _, u, w in edges], tuple(names))
    targets = {number[w] for _, _, w in edges}
    kept = [v for v in range(len(names)) if v in targets or not _is_input(names[v])]
    table = np.array(values, dtype=float).reshape(-1, len(FIELDS))
    notes = [_PLANNED] if is_planned else []
    if len(kept) < len(names):
        left_out = len(names) - len(kept)
        seconds = math.fsum(table[v][0] for v in set(range(len(names))) - set(kept)) / 1000
        notes.append(
            f"{left_out} input{'s' * (left_out > 1)} with {seconds:.3g} s of loading "
            f"{'are' if left_out > 1 else 'is'} left out, as PipeDream's planner does"
        )
    return _graph(names, table, [(number[u], number[w]) for _, u, w in edges], kept, notes)


_PLANNED = "the stages in the file, which PipeDream's planner has chosen, are not used"


def _is_input(name: str) -> bool:
    return name.partition(" ")[2].startswith("Input")


def _graph(
    all_names: Sequence[str],
    all_values: npt.NDArray[np.float64],
    all_edges: Sequence[tuple[int, int]],
    kept: Sequence[int],
    notes: Sequence[str],
) -> PipelineGraph:
    """Return the graph of the nodes that are kept."""
    number = {v: at for at, v in enumerate(kept)}
    names = tuple(all_names[v] for v in kept)
    edges = [(number[u], number[w]) for u, w in all_edges if u in number]
    dag = Dag.from_edges(len(names), edges, names)
    table = all_values[list(kept)]
    forward, backward, activation, parameters = table.T
    device, link = stage_hardware(default_device())
    to_ticks = NANOSECONDS / link.bandwidth
    moved = np.rint(np.where(np.diff(dag.consumer_start) > 0, activation, 0) * to_ticks)
    made = PipelineGraph(
        dag=dag,
        work=frozen(np.rint(forward * (NANOSECONDS / 1000))),
        transfer=frozen(moved),
        param_load=frozen(np.rint(parameters * to_ticks)),
        cache=int(device.memory_bytes * to_ticks),
        names=names,
        tick="ns",
        item="minibatch",
        notes=tuple(notes),
    )
    if not backward.any():
        return made
    return replace(
        made,
        work=frozen(np.rint((forward + backward) * (NANOSECONDS / 1000))),
        transfer=frozen(2 * moved),
        param_load=frozen(np.rint((2 * parameters + activation) * to_ticks)),
        phase=TRAINING,
        inference=replace(made, phase=INFERENCE),
    )


def _values(node: str, text: str) -> list[float]:
    """Return the node's numbers in the order of FIELDS."""
    given = {}
    for entry in text.split(", "):
        key, _, value = entry.partition("=")
        given[key.strip()] = value.strip()
    if sorted(given) != sorted(FIELDS):
        raise InvalidInputError(
            f"node {node!r} has the fields {', '.join(given)}; expected {', '.join(FIELDS)}."
        )
    return [_number(node, field, given[field]) for field in FIELDS]


def _number(node: str, field: str, text: str) -> float:
    """Return a number, or the sum of those in ``[a; b]``."""
    several = text.startswith("[") and text.endswith("]") and field == "activation_size"
    try:
        numbers = [float(part) for part in (text[1:-1].split(";") if several else [text])]
    except ValueError:
        numbers = [math.nan]
    # Larger ones may be beyond 64 bits as nanoseconds.
    if not all(0 <= value <= LARGEST_NUMBER for value in numbers):
        raise InvalidInputError(
            f"{field} of node {node!r} is {text!r}; expected a number from 0 to 10^12."
        )
    return math.fsum(numbers)


FORMAT = FileFormat("PipeDream profile", (".txt",), load_profile, is_profile)
