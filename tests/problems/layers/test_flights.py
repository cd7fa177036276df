"""Micro-batches in flight: rules, memory, and virtual stages that take turns."""

import random
from dataclasses import replace

import pytest
from brute_force_layers import interleaved_peak as run_every_step
from tiny_layers import LARGER

from boundmark.datasets.layers.language_models import load
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import PROBLEM, LayersInstance
from boundmark.problems.layers.flights import held, interleaved_peak, read_in_flight


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (3, [3, 3, 3, 3, 3]),
        ("stages", [4, 4, 4, 4, 4]),
        ("1f1b", [4, 4, 3, 2, 1]),
        ("zb-h2", [4, 4, 4, 3, 1]),
    ],
)
def test_what_stages_hold(rule: int | str, expected: list[int]) -> None:
    """Of five stages, with four micro-batches."""
    assert [held(rule, 4, stage, 5) for stage in range(5)] == expected


@pytest.mark.parametrize("value", ["3", 3])
def test_numbers_are_read(value: object) -> None:
    """As the command line gives them, and as Python does."""
    assert read_in_flight(value) == 3


@pytest.mark.parametrize("value", [0, -1, True, 2.0, None, "all", "0", "9" * 5000, 2**21, [], ""])
def test_what_is_no_rule(value: object) -> None:
    """Refused, with what was expected."""
    with pytest.raises(InvalidInputError, match=r"in_flight is .*; expected an integer from 1"):
        read_in_flight(value)


@pytest.mark.parametrize("ranks", [2, 3, 4, 5])
@pytest.mark.parametrize("virtual", [2, 3, 5])
def test_the_peak_of_an_interleaved_schedule(virtual: int, ranks: int) -> None:
    """The first turns show what all steps do, for each device and number of micro-batches."""
    dice = random.Random(virtual + 10 * ranks)
    for groups in (1, 2, 3, 7):
        for rank in range(ranks):
            sizes = [dice.randint(0, 9) for _ in range(virtual)]
            expected = run_every_step(sizes, rank, ranks, groups * ranks)
            assert interleaved_peak(sizes, rank, ranks, groups * ranks) == expected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"virtual_stages": 2, "in_flight": 1}, "goal is 'makespan' with 2 virtual stages"),
        ({"in_flight": "interleaved"}, "in_flight is 'interleaved' with 1 virtual stage;"),
        (
            {"virtual_stages": 2, "goal": "bottleneck"},
            "in_flight is '1f1b' with 2 virtual stages; expected interleaved",
        ),
        ({"virtual_stages": 0}, "virtual_stages is 0; expected 1 to 64"),
        ({"virtual_stages": 65}, "virtual_stages is 65; expected 1 to 64"),
    ],
)
def test_rules_that_do_not_go_together(changed: dict[str, object], expected: str) -> None:
    """Each has its sentence."""
    with pytest.raises(InvalidInputError, match=expected):
        replace(LARGER, **changed)  # type: ignore[arg-type]


def made(**given: int | str) -> LayersInstance:
    """Return Llama 3 70B on four A100, decoding."""
    found = PROBLEM.maker(load("llama-3-70b"))(
        {"devices": "4xA100-80GB", "phase": "decode", "batch": 64, "context": 4096, **given}
    )
    assert isinstance(found, LayersInstance)
    return found


def test_caches_of_all_sequences_in_flight() -> None:
    """Four micro-batches of 64 sequences: 20 GiB of cache each on a quarter of the layers.

    A stage of 20 layers has 31.9 GiB of weights and 80 GiB of caches, where one micro-batch alone
    would fit.
    """
    with pytest.raises(InvalidInputError, match="for 1 micro-batch in flight"):
        made()
    alone = made(in_flight="1")
    assert alone.chain.memory(1, 21, 1) / 2**30 == pytest.approx(31.9 + 20, rel=0.001)
    assert alone.chain.memory(1, 21, 4) / 2**30 == pytest.approx(31.9 + 80, rel=0.001)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "stages"),
        ({"goal": "latency"}, 1),
        ({"goal": "makespan"}, "stages"),
        ({"phase": "training", "devices": "64xA100-80GB", "batch": 1}, "1f1b"),
        (
            {"phase": "training", "devices": "64xA100-80GB", "batch": 1, "virtual_stages": 2,
             "tensor_parallel": 8},
            "interleaved",
        ),
        ({"in_flight": "2"}, 2),
    ],
)  # fmt: skip
def test_what_fits_the_objective(given: dict[str, int | str], expected: int | str) -> None:
    """A pipeline in steady state has as many micro-batches as stages; one input is alone."""
    assert made(**{"batch": 8, **given}).in_flight == expected


def test_stored_instances_keep_their_rule() -> None:
    """And may be changed, as other parameters of their own."""
    sample = made(batch=8)
    again = LayersInstance.from_json(sample.to_json())
    assert again.sha256 == sample.sha256
    assert again.in_flight == "stages"
    assert again.with_parameters({"in_flight": "2"}).in_flight == 2
    with pytest.raises(InvalidInputError, match="in_flight is '2'; expected"):
        LayersInstance.from_json({**sample.to_json(), "in_flight": "2"})
