"""Costs of layers on the host, computed by hand, and the devices that a tool then has."""

import pytest

from boundmark.bounds import checker
from boundmark.problems.devices import Device, Link
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import (
    LayerFacts,
    LayerModel,
    LayersInstance,
    Operation,
    Workload,
)
from boundmark.problems.layers.chain import LayerChain
from boundmark.problems.layers.costs import chain_of
from boundmark.problems.layers.fleet import Fleet, read_fleet
from boundmark.problems.layers.host import check_goal, unused, with_host
from boundmark.problems.layers.tools.formats import under_rules

MB = 10**6

# Of 40 MB of parameters in the last operation, 30 are of experts; of these, a token meets 3.
FIRST = Operation(0.0, 6.0 * MB, 5.0 * MB)
LAST = Operation(0.0, 14.0 * MB, 13.0 * MB)
EXPERTS = Operation(0.0, 4.0 * MB, 3.0 * MB)


class Sparse(LayerModel):
    """An embedding, three layers with experts, and scores."""

    @property
    def outer(self) -> tuple[int, int]:
        """One layer at each end."""
        return (1, 1)

    def layers(self, workload: Workload) -> tuple[LayerFacts, ...]:
        """Return the same layers for each workload."""
        block = LayerFacts(
            "block", (FIRST, LAST), 45 * MB, MB, 2 * MB, 45 * MB, reductions=1,
            experts=EXPERTS, expert_weights=30 * MB,
        )  # fmt: skip
        end = LayerFacts("end", (), 2 * MB, 0, 2 * MB, 2 * MB)
        return (end, block, block, block, end)


def fleet(*, cards: int = 1, degree: int = 1, memory: int = 200 * MB) -> Fleet:
    """Return cards of 1 TB/s at 20 GB/s from a host of 50 GB/s, which stands last."""
    rates = {"float16": 1e15}
    card = Device("card", rates, 1e12, 100 * MB, 0.0, "made up")
    host = Device("host", rates, 5e10, memory, 1e-5, "made up", is_computer=True)
    pcie, fast = Link(2e10, 0.0, "made up"), Link(1e11, 0.0, "made up")
    return Fleet(
        (card, host), (0,) * cards + (1,), (*(f"card#{at}" for at in range(cards)), "host#0"),
        {(0, 0): fast, (0, 1): pcie, (1, 0): pcie}, (degree, 1),
        (fast if degree > 1 else None, None),
    )  # fmt: skip


def chain(tool: str, workload: Workload, **given: int) -> LayerChain:
    """Return the layers as a tool has them with a host."""
    devices, host = with_host(fleet(**given), tool)
    assert host is not None
    return under_rules(chain_of(Sparse(), workload, devices, 100, host), tool)


DECODE, PREFILL = Workload("decode", 1, 64), Workload("prefill", 1, 64)


def test_experts_on_the_host_by_hand() -> None:
    """The card reads what is left at 1 TB/s, the host its experts at 50 GB/s; 2 MB go both ways."""
    found = chain("llama.cpp", DECODE)
    assert found.split is not None
    assert (found.first, found.split.host) == ((1,), (1,))
    assert found.device_names == ("host#0", "card#0")
    assert found.time[0].tolist() == [0, 20_000, 20_000, 20_000, 0]
    # On the card 6 MB and 14 - 3, on the host 4 MB and a launch, over the link 4 MB.
    assert found.split.time[0, 1] == 6_000 + 11_000 + 80_000 + 10_000 + 200_000
    # Whole layers on the host take 20 MB and two launches.
    assert found.time[1, 1] == found.split.time[1, 1] == 400_000 + 2 * 10_000
    assert found.split.bytes.tolist() == [0, 30 * MB, 30 * MB, 30 * MB, 0]
    # The embedding is on the host, too.
    assert (found.split.room, found.capacity[1]) == (198 * MB, 198 * MB)
    assert found.split.most == 3


def test_experts_of_many_tokens_are_copied() -> None:
    """From 32 tokens on, the card multiplies: 3 MB of experts come at 20 GB/s, or all matrices."""
    found = chain("llama.cpp", PREFILL)
    assert found.split is not None
    assert found.split.time[0, 1] == 20_000 + 150_000
    assert found.time[1, 1] == 20_000 + 250_000 + 650_000
    assert chain("llama.cpp", Workload("decode", 32, 64)).split.time[0, 1] == 170_000  # type: ignore[union-attr]
    assert chain("llama.cpp", Workload("decode", 31, 64)).split.time[0, 1] == 307_000  # type: ignore[union-attr]


def test_parameters_that_are_read_from_the_host() -> None:
    """Of each operation, parameters come at 20 GB/s, the rest at 1 TB/s; a group has two links."""
    found = chain("vllm", DECODE)
    assert found.split is not None
    assert found.split.time[0, 1] == 250_000 + 1_000 + 650_000 + 1_000
    assert (found.device_names, found.split.host, found.first) == (("card#0",), (), ())
    assert found.split.bytes.tolist() == [0, 45 * MB, 45 * MB, 45 * MB, 0]
    assert found.split.room == 200 * MB
    assert not found.split.is_joined
    group = chain("vllm", DECODE, degree=2)
    assert group.split is not None
    assert group.split.time[0, 1] == 125_000 + 500 + 325_000 + 500


def test_layers_that_are_copied_from_the_host() -> None:
    """All 45 MB come before the layer runs, into the room that cards keep for one layer."""
    found = chain("device-map", DECODE, cards=2)
    assert found.split is not None
    assert found.split.time[0, 1] == 20_000 + 2_250_000
    assert found.capacity.tolist() == [55 * MB]
    assert found.split.is_joined


def test_what_no_tool_does_is_refused() -> None:
    """Several hosts, training, and vLLM's stages."""
    two = fleet()
    two = Fleet(two.kinds, (0, 1, 1), ("a", "b", "c"), two.links, two.degrees, two.inner)
    with pytest.raises(InvalidInputError, match="devices have several hosts; expected one"):
        with_host(two, "llama.cpp")
    with pytest.raises(InvalidInputError, match="beside the host, and vLLM offloads the first"):
        with_host(fleet(cards=2), "vllm")
    with pytest.raises(InvalidInputError, match="phase is 'training', and a host is among"):
        chain("llama.cpp", Workload("training", 1, 64))


def test_one_token_after_the_other() -> None:
    """The host's processor cannot be in several stages at a time, and its memory can."""
    _, computing = with_host(fleet(), "llama.cpp")
    _, remembering = with_host(fleet(), "vllm")
    with pytest.raises(InvalidInputError, match="goal is 'bottleneck', and a host is among the"):
        check_goal(computing, "bottleneck")
    check_goal(computing, "latency")
    check_goal(remembering, "bottleneck")
    check_goal(None, "makespan")
    # Where no tool says what it is for, there is a hint.
    assert [bool(unused(fleet(), tool)) for tool in ("none", "megatron", "vllm")] == [
        True, True, False
    ]  # fmt: skip
    assert unused(read_fleet("2xcpu"), "none") == unused(read_fleet("A100"), "none") == ()


def test_virtual_stages_have_no_first_one() -> None:
    """Here and in the checker."""
    with pytest.raises(InvalidInputError, match="devices that can only have the first stage"):
        LayersInstance(chain("llama.cpp", DECODE), virtual_stages=2)
    alone = LayersInstance(chain("llama.cpp", DECODE)).to_json()
    with pytest.raises(checker.Rejected, match="virtual stages and types for the first stage"):
        checker.check_instance({**alone, "virtual_stages": 2})


def test_where_there_is_no_host() -> None:
    """Processors alone are devices, as they are for other tools."""
    for devices, tool in ((fleet(), "megatron"), (read_fleet("2xcpu"), "llama.cpp")):
        assert with_host(devices, tool) == (devices, None)
