import dataclasses
import itertools
import random
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from graphs import ROUND_DEVICE, ROUND_LINK, small_graph

from boundmark.datasets.resolve import load_member
from boundmark.problems.arrays import frozen
from boundmark.problems.computation_graph import ComputationGraph, Operator, Tensor
from boundmark.problems.dag import Dag
from boundmark.problems.devices import Cluster, Device, Link, default_device
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.pipeline import PROBLEM, Partition, PipelineInstance
from boundmark.problems.pipeline.costs import (
    folded,
    grouped,
    homes_of,
    pipeline_graph,
    stage_hardware,
    with_costs,
    within_memory,
)
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.roofline import operation_seconds
from boundmark.problems.ticks import to_nanoseconds

OTHER_DEVICE = dataclasses.replace(ROUND_DEVICE, name="other")


def pair(first: Device, second: Device, forth: float = 1e8, back: float = 1e8) -> Cluster:
    """Connect two devices."""
    links = {
        ("a", "b"): Link(forth, ROUND_LINK.latency, ""),
        ("b", "a"): Link(back, ROUND_LINK.latency, ""),
    }
    return Cluster.from_links("pair", {"a": first, "b": second}, links, "made up")


def test_costs_by_hand() -> None:
    """Work is the larger of the two roofs plus the overhead; the last tensor is never sent."""
    costs = with_costs(small_graph(), ROUND_DEVICE, ROUND_LINK)
    assert costs.work.tolist() == [5000 + 20, 800 + 20, 0]
    assert costs.transfer.tolist() == [4000 + 100, 4000 + 100, 0]
    assert costs.param_load.tolist() == [2000, 0, 0]
    assert costs.cache == 10_000
    assert costs.tick == "ns"


def test_devices_and_clusters_of_equal_devices_give_the_same_costs() -> None:
    """A cluster only says how the devices are connected."""
    alone = pipeline_graph(small_graph(), ROUND_DEVICE)
    connected = pipeline_graph(small_graph(), pair(ROUND_DEVICE, ROUND_DEVICE))
    assert alone.work.tolist() == connected.work.tolist()
    assert alone.transfer.tolist() == connected.transfer.tolist()


@pytest.mark.parametrize(
    ("hardware", "expected"),
    [
        (
            dataclasses.replace(ROUND_DEVICE, link=None),
            "device 'round' has no link to others of its kind; problem 'pipeline' needs one, "
            "[devices.round.link] in a file.",
        ),
        (
            pair(ROUND_DEVICE, OTHER_DEVICE),
            "cluster 'pair' has other, round; problem 'pipeline' needs devices of one kind.",
        ),
        (
            pair(ROUND_DEVICE, ROUND_DEVICE, back=2e8),
            "cluster 'pair' has 2 kinds of links; problem 'pipeline' needs one kind.",
        ),
        (
            Cluster.from_links("lonely", {"a": ROUND_DEVICE}, {}, ""),
            "cluster 'lonely' has no kinds of links; problem 'pipeline' needs one kind.",
        ),
    ],
)
def test_hardware_of_several_kinds_is_refused(hardware: Device | Cluster, expected: str) -> None:
    """All stages have the same device and the same link, so there must be one of each."""
    with pytest.raises(InvalidInputError, match=re.escape(expected)):
        stage_hardware(hardware)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"memory_bandwidth": 1e-9},
            "entry [0] of times in nanoseconds is 7e+20; expected an integer of 64 bits.",
        ),
        (
            {"link": dataclasses.replace(ROUND_LINK, bandwidth=1e-305)},
            "of times in nanoseconds is inf; expected an integer of 64 bits.",
        ),
        (
            {"memory_bytes": 2**62},
            "the costs add up to 1.8e+16 ticks; expected at most 2^53, so use a coarser tick.",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_absurd_hardware_is_refused(changes: dict[str, Any], expected: str) -> None:
    """Costs that would not be exact end in a sentence."""
    with pytest.raises(InvalidInputError, match=re.escape(expected)):
        pipeline_graph(small_graph(), dataclasses.replace(ROUND_DEVICE, **changes))


def test_the_next_wider_type() -> None:
    """A device without a rate for the model's type uses a wider one; without that, it is named."""
    wide = replace(ROUND_DEVICE, peak_rate={"float64": 5e8})
    assert pipeline_graph(small_graph(), wide).work.tolist() == [10020, 820, 0]
    with pytest.raises(InvalidInputError, match="no peak rate for float32; expected one of int8"):
        pipeline_graph(small_graph(), replace(ROUND_DEVICE, peak_rate={"int8": 1e9}))


def drawn(dice: random.Random, nodes: int) -> PipelineGraph:
    """Return a random graph."""
    edges = [(u, w) for u, w in itertools.combinations(range(nodes), 2) if dice.random() < 0.4]
    work, transfer = ([dice.randint(0, 9) for _ in range(nodes)] for _ in range(2))
    names = tuple("abcdefgh"[:nodes])
    return PipelineGraph.without_parameters(
        Dag.from_edges(nodes, edges), frozen(work), frozen(transfer), names
    )


def costs(graph: PipelineGraph, k: int) -> list[tuple[tuple[int, ...], int]]:
    """Return all partitions of a graph, and what they cost."""
    sample, found = PipelineInstance(graph, k), []
    for stages in itertools.product(range(k), repeat=graph.dag.nodes):
        try:
            found.append((stages, sample.objective(Partition(np.array(stages)))))
        except InvalidInputError:
            continue
    return found


@pytest.mark.parametrize("seed", range(25))
def test_groups_share_a_stage(seed: int) -> None:
    """The optimum is that of all partitions in which they do."""
    dice = random.Random(seed)
    graph = drawn(dice, 6)
    groups = [dice.randrange(4) for _ in range(6)]
    best = min(
        cost
        for stages, cost in costs(graph, 2)
        if len(set(zip(groups, stages, strict=True))) == len(set(groups))
    )
    found = grouped(graph, groups)
    assert min(cost for _, cost in costs(found, 2)) == best
    assert int(found.work.sum()) == int(graph.work.sum())


@pytest.mark.parametrize("seed", range(25))
def test_memory_is_never_exceeded(seed: int) -> None:
    """The optimum is that of all partitions that fit; where none does, it is above all work."""
    dice = random.Random(seed)
    graph = drawn(dice, 5)
    sizes = np.array([dice.randint(0, 2**40) for _ in range(5)])
    capacity = int(sizes.sum()) * dice.randint(45, 80) // 100
    fitting = [
        cost
        for stages, cost in costs(graph, 2)
        if max(np.bincount(stages, sizes, minlength=2)) <= capacity - 2**10
    ]
    found = min(cost for _, cost in costs(within_memory(graph, sizes, capacity), 2))
    total = int(graph.work.sum() + graph.transfer.sum())
    assert found == min(fitting) if fitting else found > total
    assert within_memory(graph, sizes, int(sizes.sum())) is graph


def test_a_chain_folded_by_hand() -> None:
    """Work adds up, tensors pass twice, and gradients read what their homes have."""
    # a -> b -> loss -> b' -> a', where b' reads what a hands on.
    dag = Dag.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 3)])
    names = ("a", "b", "loss", "b'", "a'")
    graph = PipelineGraph.without_parameters(
        dag, frozen([1, 2, 1, 4, 3]), frozen([5, 6, 7, 5, 0]), names
    )
    one = folded(graph, frozen([0, 1, 2, 1, 0]), frozen([5, 0, 0, 0, 0]), frozen([0] * 5))
    assert one.names == ("a", "b", "loss")
    assert one.dag.edge_pairs().tolist() == [[0, 1], [1, 2]]
    assert one.work.tolist() == [4, 6, 1]
    assert one.transfer.tolist() == [10, 6, 0]


def test_models_of_the_zoo_are_folded() -> None:
    """Gradients run with the operators that they belong to, and no arithmetic is lost."""
    graph = load_member("zoo/gpt-2-training")
    homes = homes_of(graph)
    assert homes is not None
    home = {name: graph.names[homes[v]] for v, name in enumerate(graph.names)}
    layer = "transformer.h.3"
    assert home[f"{layer}.mlp.c_fc/grad/MatMul_2"] == f"{layer}.mlp.c_fc/Gemm"
    assert home[f"{layer}.attn/grad/SoftmaxGrad"] == f"{layer}.attn/Softmax"
    assert home[f"{layer}.attn/Softmax"] == f"{layer}.attn/Softmax"
    assert all("grad" not in name.split("/") for name in home.values())
    one = PROBLEM.maker(graph)({"k": 4})
    assert isinstance(one, PipelineInstance)
    assert one.parameters == {"k": 4, "phase": "training"}
    assert one.nodes == sum("grad" not in name.split("/") for name in graph.names)
    device = default_device()
    assert one.graph.work.sum() == to_nanoseconds(operation_seconds(graph, device)).sum()
    (note,) = one.notes
    assert note.startswith("backward operators are on the stages of their forward operators")
    with pytest.raises(InvalidInputError, match="phase is 'inference', and the graph has a backwa"):
        PROBLEM.maker(graph)({"k": 4, "phase": "inference"})


def test_a_stored_instance_keeps_its_phase() -> None:
    """It has the costs of one."""
    sample = PipelineInstance(replace(drawn(random.Random(1), 4), phase="training"), 2)
    stored = PipelineInstance.from_json(sample.to_json())
    assert stored.sha256 == sample.sha256
    assert stored.with_parameters({"k": 3}).parameters == {"k": 3, "phase": "training"}
    assert stored.with_parameters({"phase": "training"}).sha256 == sample.sha256
    with pytest.raises(InvalidInputError, match="'inference', and the stored instance has 'train"):
        stored.with_parameters({"phase": "inference"})
    with pytest.raises(InvalidInputError, match="phase is 'x'; expected 'training' or 'inference'"):
        PipelineInstance.from_json({**sample.to_json(), "phase": "x"})
    without = PipelineInstance(drawn(random.Random(1), 4), 2)
    assert without.parameters == {"k": 2}
    assert without.sha256 != sample.sha256
    with pytest.raises(InvalidInputError, match="and the stored instance has none; expected"):
        without.with_parameters({"phase": "training"})


@pytest.mark.parametrize("phase", ["training", "inference"])
def test_a_graph_without_phases(phase: str) -> None:
    """Nobody says what its times are of."""
    with pytest.raises(InvalidInputError, match=f"'{phase}', and the graph has neither gradients"):
        PROBLEM.maker(load_member("onnx-light/alexnet"))({"k": 2, "phase": phase})


def chain(*named: tuple[str, str]) -> ComputationGraph:
    """Return a chain of operators with these names and types."""
    operators = [
        Operator(name, kind, 8, (at,), (at + 1,), {}) for at, (name, kind) in enumerate(named)
    ]
    tensors = [Tensor(f"t{at}", (4,), "float32") for at in range(len(named) + 1)]
    return ComputationGraph(tuple(operators), tuple(tensors), frozenset(), (len(named),))


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ([("a/Relu", "Relu"), ("a/ReluGrad", "ReluGrad")], "'a/ReluGrad' (ReluGrad) is of a back"),
        ([("a", "Relu"), ("gradients/a_grad/Mul", "Mul")], "'gradients/a_grad/Mul' (Mul) is of a"),
        ([("a/grad/Mul", "Mul"), ("b/grad/Mul", "Mul")], "all nodes are of the backward pass; ex"),
    ],
)
def test_gradients_of_nothing(named: list[tuple[str, str]], expected: str) -> None:
    """What cannot be folded is refused."""
    with pytest.raises(InvalidInputError, match=re.escape(expected)):
        PROBLEM.maker(chain(*named))


@pytest.mark.parametrize("name", ["gradients/a_grad/Mul", "gradients_1/a", "h.0/grad/MatMul"])
def test_gradients_with_costs_are_refused(name: str) -> None:
    """A node with costs does not say whose gradient it computes."""
    graph = replace(drawn(random.Random(1), 2), names=("a", name))
    with pytest.raises(InvalidInputError, match=f"node '{name}' is of a backward pass"):
        PROBLEM.maker(graph)
    PROBLEM.maker(replace(graph, names=("stop_gradients/a", "gradients")))
