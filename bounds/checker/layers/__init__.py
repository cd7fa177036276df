"""Checks `layers`: a chain cut into stages for devices that differ.

The instance: layers in their order and devices of some types. A solution gives each layer a device;
the layers of a device are contiguous. A stage on a device of type d takes the `time` of its layers
on d, and `transfer` of its last layer over the kind of `link` from d to the type of the next
stage's device; together, its load. It holds the `weights` of its layers, the bytes that `tied`
layers share once, and `held` of its layers as often as there are micro-batches `in_flight`: a
number, or the least of `micro_batches` and a number of stages: of all ("stages"), of those from
it to the end ("1f1b"), or twice these less one ("zb-h2"). That is at most the `capacity` of d.
`joined` layers are in the stage of the layer before them. If `device_order` is given, stages are on
devices in that order; some devices may stay empty. Types in `first` can only have the first stage.
OPT is the least possible largest load (`goal` bottleneck), sum of loads (latency), sum of loads and
`micro_batches` - 1 times the largest (makespan), or the larger one of the sum and `micro_batches`
times the largest (round).

With `virtual_stages` v > 1, each of p devices has v stages, which go round the devices in one
order; its load is the sum of theirs, and it holds what they hold together ("interleaved": what
Megatron's schedule has in flight at most, see `assignment`). Two kinds for OPT >= bound:

layer-reach/1
    The checker's own search finds no assignment that costs less than the bound (`reach` says which
    states it leaves out, and why). Prices of the types of devices are given, which make it short.
    A bound of more than all layers on their slowest devices, with all their slowest transfers, says
    that no assignment fits into the memory.
layer-load/1
    All layers do not fit into the time of all devices, however they are divided (`load` says how
    that is shown). For the bottleneck, with virtual stages or without.
layer-choices/1
    Of a question: each of its instances costs as much, by the first two kinds or because it does
    not fit into the memory.
"""

from typing import Any

from . import host, parallel
from .instance import Instance, read_instance
from .questions import KINDS, Question, cost, read_question

# By name of a space: what reads its tables.
SPACES = {"host": host.read, "parallel": parallel.read}

SOLUTION_FIELDS = frozenset({"devices"})

# Solutions of questions may have these fields.
OPTIONAL_FIELDS = ("configuration",)


def read(document: dict[str, Any]) -> Instance | Question:
    """Return an instance or a question; raise `Rejected` if it is malformed."""
    if "question" in document:
        return read_question(document, SPACES)
    return read_instance(document)


__all__ = ["KINDS", "OPTIONAL_FIELDS", "SOLUTION_FIELDS", "cost", "read"]
