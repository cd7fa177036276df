"""Rules for layers and experts on the host, on chains whose answers are computed by hand."""

import pytest
from recording import Recorder

from boundmark.heuristics.layers import llama_cpp_host
from boundmark.problems.arrays import frozen
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.layers import LayerChain, LayersInstance
from boundmark.problems.layers.chain import Split
from boundmark.problems.method import Budget

GIB = 2**30


def chain(cards: list[int], *, experts: bool = True, dense: int = 0) -> LayerChain:
    """Return an input, eight layers of 1 + 3 GiB and an output of 1 GiB, on cards and a host.

    The first `dense` layers have no experts, and take 4 GiB on cards.
    """
    n, types = 10, 1 + len(cards)
    moved = [0] * (1 + dense) + [3 * GIB] * (8 - dense) + [0]
    split = Split((0,), 64 * GIB, frozen([[2] * n] * types), frozen(moved), 8)
    return LayerChain(
        time=frozen([[9] * n, *[[1] * n] * len(cards)]),
        weights=frozen([0, *[4 * GIB] * 8, GIB]),
        held=frozen([0] * n),
        tied=(),
        joined=(1,),
        transfer=frozen([[0] * (n - 1)]),
        link=frozen([[0] * types] * types),
        devices=tuple(range(types)),
        capacity=frozen([64 * GIB, *(size * GIB for size in cards)]),
        sizes=frozen([0, *[4 * GIB] * 8, GIB]),
        outer=(1, 1),
        names=tuple(map(str, range(n))),
        device_names=("host", *(f"card{at}" for at in range(len(cards)))),
        first=(0,),
        split=split if experts else None,
    )


def placed(rule: str, given: LayerChain) -> tuple[list[int], tuple[int, ...]]:
    """Return how many layers the host and the cards have, and how many of these are split."""
    recorder = Recorder()
    instance = LayersInstance(given, "latency")
    getattr(llama_cpp_host, rule)(instance, Budget(1.0), 1, recorder)
    (solution,) = recorder.solutions
    devices = solution.devices.tolist()  # type: ignore[attr-defined]
    counts = [devices.count(at) for at in range(len(given.devices))]
    return counts, solution.configuration  # type: ignore[attr-defined]


def test_all_experts_on_the_host() -> None:
    """All eight, and layers by memory: places 0 to 8 in ninths, with 2/3 and 1/3."""
    assert placed("all_experts", chain([20])) == ([0, 10], (8,))
    assert placed("all_experts", chain([20, 10])) == ([0, 7, 3], (8,))
    with pytest.raises(UnsupportedError, match="there are no experts"):
        placed("all_experts", chain([40], experts=False))


def test_as_many_layers_as_fit() -> None:
    """20 GiB have the output and four layers; two cards share what fits by their memory."""
    assert placed("most_layers", chain([20])) == ([5, 5], (0,))
    assert placed("most_layers", chain([20], experts=False)) == ([5, 5], ())
    assert placed("most_layers", chain([40])) == ([0, 10], (0,))
    # Six slots in thirds: four whole layers, and one with the output.
    assert placed("most_layers", chain([16, 8])) == ([4, 4, 2], (0,))


def test_fit() -> None:
    """With 1 GiB free on each card."""
    # All that fits is left alone.
    assert placed("fit", chain([34])) == ([0, 10], (0,))
    # 33 GiB less 1 lack 1: dense 9, and of 23 GiB left seven times 3.
    assert placed("fit", chain([33])) == ([0, 10], (1,))
    assert placed("fit", chain([20])) == ([0, 10], (5,))
    # The first layers have none, so that one with experts is the third.
    assert placed("fit", chain([33], dense=2)) == ([0, 10], (3,))
    # Not even all layers without experts: three, and the output.
    assert placed("fit", chain([5])) == ([6, 4], (8,))
    # Dense models are filled from the last card on.
    assert placed("fit", chain([10, 10], experts=False)) == ([5, 2, 3], ())
    assert placed("fit", chain([40], experts=False)) == ([0, 10], ())
    with pytest.raises(UnsupportedError, match="--fit leaves experts of the last layers of each"):
        placed("fit", chain([10, 10]))


def test_instances_without_a_host_are_refused() -> None:
    """Other rules are for those."""
    from tiny_layers import LARGER

    for rule in ("all_experts", "most_layers", "fit"):
        with pytest.raises(UnsupportedError, match="no device is a host whose layers"):
            getattr(llama_cpp_host, rule)(LARGER, Budget(1.0), 1, Recorder())
