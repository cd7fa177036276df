"""`hsdag`: the three models of [HSDAG24], as OpenVINO writes them, on the scale of its Table 2.

The files are OpenVINO's intermediate representation (version 2026.4.1, weights compressed to half
precision) of torchvision's and transformers' models with random weights; the weights are not kept.
As in the paper, every layer is a node, also constants, conversions of constants, the input and the
results, which take no time here and move for nothing.

The other nodes take what the roofline model says on the paper's two devices, times a factor for
each model and device: so that everything on the processor, and everything on the GPU, take the
latencies that the paper has measured. Transfers are those of the cluster `hsdag-two-devices`, since
the paper says nothing of its link. Memory is left out: either device has room for all of a model.
"""

import gzip
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from boundmark.datasets.readers import openvino
from boundmark.problems.arrays import frozen
from boundmark.problems.computation_graph import Tensor
from boundmark.problems.dataset import Dataset
from boundmark.problems.devices import shipped
from boundmark.problems.errors import find
from boundmark.problems.placement import PlacementGraph
from boundmark.problems.placement.costs import placement_graph, transfer_times
from boundmark.problems.ticks import to_nanoseconds

CLUSTER = "hsdag-two-devices"


class Printed(NamedTuple):
    """Seconds that a model takes on one device alone, as the paper's Table 2 has them."""

    processor: float
    gpu: float


PRINTED = {
    "inception-v3": Printed(0.0128, 0.0120),
    "resnet-50": Printed(0.0160, 0.00781),
    "bert-base": Printed(0.00638, 0.00277),
}


def load(member: str) -> PlacementGraph:
    """Return a model's layers with their times on the processor and on the GPU.

    Raises
    ------
    UnknownNameError
        If it is none of the three.
    """
    printed = find("graph in hsdag", member, PRINTED)
    packed = files("boundmark.datasets.placement") / "data" / f"hsdag-{member}.xml.gz"
    layers, edges = openvino.parts(gzip.decompress(packed.read_bytes()))
    cluster = shipped().clusters[CLUSTER]
    costs = placement_graph(openvino.graph_of(layers, edges), cluster)
    seconds = costs.duration * (np.array(printed) / costs.duration.sum(axis=0))
    row = {name: at for at, name in enumerate(costs.names)}
    number = {layer.number: at for at, layer in enumerate(layers)}
    readers: dict[openvino.Port, set[int]] = {}
    for (reader, _), port in edges.items():
        readers.setdefault(port, set()).add(number[reader])
    ports = sorted(readers, key=lambda port: (number[port[0]], port[1]))
    written = [(layers[number[layer]], port) for layer, port in ports]
    moved = [Tensor("", *x.outputs[port]).bytes * (x.name in row) for x, port in written]
    sizes, size = np.unique(moved, return_inverse=True)
    nothing = np.zeros(2)
    return PlacementGraph(
        duration=to_nanoseconds(
            np.array([seconds[row[x.name]] if x.name in row else nothing for x in layers])
        ),
        memory=frozen(np.zeros(len(layers), np.int64)),
        capacity=frozen([int(device.memory_bytes) for device in cluster.devices]),
        producer=frozen([number[layer] for layer, _ in ports]),
        consumers=tuple(tuple(sorted(readers[port])) for port in ports),
        size=frozen(size),
        times=transfer_times(sizes, cluster),
        names=tuple(layer.name for layer in layers),
        device_names=cluster.members,
        tick="ns",
        op_types=tuple(map(openvino.op_type, layers)),
        output_shapes=tuple(next(iter(layer.outputs.values()), ((), ""))[0] for layer in layers),
    )


DATASET = Dataset(
    name="hsdag",
    source=PlacementGraph,
    summary="Three models as OpenVINO writes them, with latencies on the scale of [HSDAG24].",
    members=lambda: tuple(PRINTED),
    load=load,
)
