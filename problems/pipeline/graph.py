"""A model's graph with its costs in ticks, as pipeline partitioning needs it."""

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boundmark.problems.arrays import IntArray, frozen, non_negative_integers
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.problem import NodeCosts
from boundmark.problems.ticks import check_total

# What passes through the stages; as given, that is training if a graph or profile has it.
AS_GIVEN, TRAINING, INFERENCE = "as-given", "training", "inference"


@dataclass(frozen=True, eq=False)
class PipelineGraph:
    """A graph with the costs of pipeline partitioning, all in the same tick ([MTPP24], 2.1).

    Attributes
    ----------
    dag
        n nodes, edges from producer to consumer.
    work
        Ticks to run each node, shape (n,).
    transfer
        Ticks to move each node's output across the interconnect, shape (n,).
    param_load
        Ticks to stream each node's parameters, shape (n,).
    cache
        Ticks' worth of parameters that fit into one device.
    names
        One name per node, for people; not part of an instance's identity.
    tick
        What one tick is, e.g. ``"ns"``; ``"unit"`` for synthetic costs.
    phase
        `TRAINING` if each node runs forward and backward, `INFERENCE` if it could and runs forward
        only; empty if nobody says.
    inference
        The same graph in inference, if its source has the times of both phases.
    item
        What passes through the stages at a time, for people: one input, or a minibatch of them.
    notes
        What was taken for granted, as sentences.
    """

    dag: Dag
    work: IntArray
    transfer: IntArray
    param_load: IntArray
    cache: int
    names: tuple[str, ...]
    tick: str = "unit"
    phase: str = ""
    inference: "PipelineGraph | None" = None
    item: str = "input"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.dag.nodes == 0:
            raise InvalidInputError("the graph has no nodes; expected at least one.")
        if len(self.names) != self.dag.nodes:
            raise InvalidInputError(
                f"names has {len(self.names)} values; expected one for each of the "
                f"{self.dag.nodes} nodes."
            )
        for field in ("work", "transfer", "param_load"):
            array = non_negative_integers(getattr(self, field), field, self.names)
            object.__setattr__(self, field, array)
        if type(self.cache) is not int or self.cache < 0:
            raise InvalidInputError(
                f"cache is {self.cache!r}; expected a non-negative integer number of ticks."
            )
        check_total(
            self.work.tolist(), self.transfer.tolist(), self.param_load.tolist(), [self.cache]
        )

        # Some kernels add a transfer once per edge.
        consumers = np.diff(self.dag.consumer_start).tolist()
        if sum(map(operator.mul, self.transfer.tolist(), consumers)) >= 2**62:
            raise InvalidInputError(
                "transfer times the number of consumers adds up to 2^62 ticks or more; "
                "expected less, so use a coarser tick."
            )

    @classmethod
    def without_parameters(
        cls,
        dag: Dag,
        work: IntArray,
        transfer: IntArray,
        names: tuple[str, ...],
        tick: str = "unit",
    ) -> "PipelineGraph":
        """Build a graph whose parameters always fit."""
        return cls(dag, work, transfer, frozen([0] * dag.nodes), 0, names, tick)

    @cached_property
    def is_cached(self) -> bool:
        """Whether all parameters fit into one device, so that no stage can overflow."""
        return int(self.param_load.sum()) <= self.cache


def graph_with_costs(
    dag: Dag, costs: Mapping[str, IntArray], names: tuple[str, ...], cache: int | None
) -> PipelineGraph:
    """Return the graph of nodes that have `work`, `transfer` and perhaps `param_load`."""
    if "param_load" in costs and cache is None:
        raise InvalidInputError(
            "param_load is given without cache; expected cache=TICKS, the parameters that fit into "
            "one device."
        )
    if "param_load" not in costs and cache is not None:
        raise InvalidInputError("cache is given, but nodes have no param_load; expected both.")
    load = costs.get("param_load", frozen([0] * len(names)))
    return PipelineGraph(dag, costs["work"], costs["transfer"], load, cache or 0, names)


NODE_COSTS = NodeCosts(("work", "transfer"), ("param_load",), graph_with_costs)
