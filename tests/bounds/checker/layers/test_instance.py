"""Which documents are instances, and which are refused."""

from typing import Any

import pytest
from tiny_layers import LARGER

from boundmark.bounds import checker
from boundmark.bounds.checker.layers.instance import MOST_MICRO_BATCHES, memory, read_instance
from boundmark.bounds.checker.layers.limits import MOST_DEVICES, MOST_LAYERS
from boundmark.bounds.checker.values import LARGEST_COST

Document = dict[str, Any]


def document(**changed: Any) -> Document:
    """Return the larger instance with other fields."""
    found = LARGER.to_json()
    return {n: v for n, v in found.items() if n not in ("format", "problem")} | changed


def smallest(**changed: Any) -> Document:
    """Return an instance of one layer on one device, with other fields."""
    return document(
        time=[[0]], weights=[0], held=[0], tied=[], joined=[], transfer=[[]], link=[[0]],
        devices=[0], capacity=[0], sizes=[0], outer=[1, 0],
    ) | changed  # fmt: skip


def long(layers: int, devices: int) -> Document:
    """Return an instance of layers that cost nothing."""
    zeros = [0] * layers
    return smallest(
        time=[zeros],
        weights=zeros,
        held=zeros,
        transfer=[[0] * (layers - 1)],
        devices=[0] * devices,
        sizes=zeros,
    )


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"micro_batches": MOST_MICRO_BATCHES + 1}, "micro_batches is not an integer from 1"),
        ({"in_flight": "interleaved"}, "in_flight of the instance is not a number or stages or"),
        ({"virtual_stages": 2}, "in_flight of the instance is not a number or stages or inter"),
        ({"virtual_stages": 0}, "virtual_stages is not an integer from 1"),
        ({"virtual_stages": 65}, "virtual_stages is not an integer from 1"),
        ({"virtual_stages": 2, "in_flight": 1}, "virtual stages, and its goal is not bottleneck"),
        ({"weights": [LARGEST_COST + 1] * 10}, "weights of the instance"),
        ({"held": [LARGEST_COST + 1] * 10}, "held of the instance"),
        ({"capacity": [16, 9, LARGEST_COST + 1]}, "capacity of the instance"),
        ({"weights": [], "held": []}, "has no layers"),
        ({"sizes": [LARGEST_COST + 1]}, "sizes of the instance"),
        ({"tied": [[0, 9]]}, "not two layers, in no other entry, and bytes"),
        ({"tied": [[3, 3, 1]]}, "not two layers"),
        ({"tied": [[0, 10, 1]]}, "not two layers"),
        ({"tied": [[-1, 3, 1]]}, "an entry of tied"),
        ({"tied": [[0, 9, 1], [9, 5, 1]]}, "not two layers"),
        ({"tied": [[0, 3, 1], [3, 9, 1]]}, "not two layers"),
        ({"tied": [[0, 3, 1], [0, 9, 1]]}, "not two layers"),
        ({"tied": [[0, 3, 1], [1, 3, 1]]}, "not two layers"),
        ({"tied": [[0, 1, 3]]}, "more bytes than its layers"),
        ({"tied": [[1, 2, 3]]}, "more bytes than its layers"),
        ({"time": [[LARGEST_COST // 10] * 10] * 3}, "times of the instance are too large"),
        ({"transfer": [[0] * 9, [LARGEST_COST - 70, *[0] * 8]]}, "times of the instance are too"),
    ],
)  # fmt: skip
def test_documents_that_are_none(changed: Document, expected: str) -> None:
    """Each is refused for its own reason."""
    with pytest.raises(checker.Rejected, match=expected):
        read_instance(document(**changed))


SMALL = {"transfer": [[0]], "joined": [], "tied": [], "sizes": [0, 0], "outer": [0, 0]}
TWO = {**SMALL, "time": [[0, 0]], "link": [[0]], "devices": [0, 0], "in_flight": 1}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"weights": [5, 1], "held": [0, 0], "capacity": [4]}, "a layer of the instance fits on"),
        ({"weights": [1, 3], "held": [0, 2], "capacity": [4]}, "a layer of the instance fits on"),
        ({"weights": [3, 2], "held": [1, 2], "capacity": [4], "devices": [0]}, "more memory than"),
        ({"weights": [3, 3], "held": [1, 1], "capacity": [6], "devices": [0],
          "tied": [[0, 1, 1]]}, "more memory than there is"),
        ({"weights": [LARGEST_COST, 1], "held": [0, 0], "capacity": [LARGEST_COST]}, "more than 2"),
        ({"weights": [LARGEST_COST, 0], "held": [0, 1], "capacity": [LARGEST_COST]}, "more than 2"),
        ({"weights": [0, 0], "held": [0, 2**33 + 1], "capacity": [LARGEST_COST],
          "in_flight": 2**20}, "the bytes of the instance add up to more than 2"),
        ({"weights": [0, 0], "held": [0, 2**51 + 1], "capacity": [LARGEST_COST],
          "in_flight": "1f1b", "micro_batches": 9}, "the bytes of the instance add up to more"),
        ({"weights": [0, 0], "held": [0, 2**52 + 1], "capacity": [LARGEST_COST],
          "in_flight": "1f1b", "micro_batches": 2}, "the bytes of the instance add up to more"),
        ({"weights": [0, 0], "held": [0, 2**50 + 1], "capacity": [LARGEST_COST],
          "in_flight": "interleaved", "virtual_stages": 2, "goal": "bottleneck",
          "micro_batches": 8}, "the bytes of the instance add up to more"),
        ({"weights": [0, 0], "held": [0, 0], "capacity": [0], "time": [[2**45, 1]],
          "goal": "makespan", "micro_batches": 2**16}, "take more than 2.61 ticks"),
    ],
)  # fmt: skip
def test_sums_and_room(changed: Document, expected: str) -> None:
    """What is too large for some arithmetic, or for all devices, is refused."""
    with pytest.raises(checker.Rejected, match=expected):
        read_instance(document(**{**TWO, **changed}))


@pytest.mark.parametrize(
    "changed",
    [
        {"weights": [2, 4], "held": [2, 0], "capacity": [4]},
        {"weights": [3, 3], "held": [1, 1], "capacity": [7], "devices": [0], "tied": [[0, 1, 1]]},
        {"weights": [LARGEST_COST - 1, 0], "held": [0, 1], "capacity": [LARGEST_COST]},
        {"weights": [0, 0], "held": [0, 2**33], "capacity": [LARGEST_COST], "in_flight": 2**20},
        {"weights": [0, 0], "held": [0, 2**51], "capacity": [LARGEST_COST],
         "in_flight": "1f1b", "micro_batches": 9},
        {"weights": [0, 0], "held": [0, 2**52], "capacity": [LARGEST_COST],
         "in_flight": "1f1b", "micro_batches": 2},
        {"weights": [0, 0], "held": [0, 2**50], "capacity": [LARGEST_COST],
         "in_flight": "interleaved", "virtual_stages": 2, "goal": "bottleneck",
         "micro_batches": 8},
        {"weights": [0, 0], "held": [0, 0], "capacity": [0], "time": [[2**45, 0]],
         "goal": "makespan", "micro_batches": 2**16},
        {"weights": [0, 0], "held": [0, 0], "capacity": [0], "time": [[2**45, 1]],
         "goal": "latency", "micro_batches": 2**16},
    ],
)  # fmt: skip
def test_sums_and_room_that_suffice(changed: Document) -> None:
    """One less is read."""
    read_instance(document(**{**TWO, **changed}))


@pytest.mark.parametrize(
    "changed",
    [
        {"micro_batches": MOST_MICRO_BATCHES},
        {"weights": [LARGEST_COST], "capacity": [LARGEST_COST]},
        {"held": [LARGEST_COST], "capacity": [LARGEST_COST], "in_flight": 1},
        {"capacity": [LARGEST_COST]},
        {"sizes": [LARGEST_COST]},
        {"outer": [0, 1]},
        {"outer": [0, 0]},
        {"made_of": {"phase": "decode", "batch": 1}},
        {"time": [[2**45]], "micro_batches": 2**16, "goal": "makespan"},
        {"time": [[LARGEST_COST]]},
        {"in_flight": 2**20},
        {"virtual_stages": 64, "in_flight": "interleaved", "goal": "bottleneck"},
    ],
)
def test_the_largest_numbers(changed: Document) -> None:
    """They are read as they are."""
    found = read_instance(smallest(**changed))
    assert (found.weights, found.held, found.capacity, found.time) == (
        changed.get("weights", [0]), changed.get("held", [0]), changed.get("capacity", [0]),
        changed.get("time", [[0]]),
    )  # fmt: skip


def test_limits_on_sizes() -> None:
    """As many layers and devices as the limits say, and not one more."""
    assert len(read_instance(long(MOST_LAYERS, 1)).weights) == MOST_LAYERS
    assert len(read_instance(long(2, MOST_DEVICES)).devices) == MOST_DEVICES
    with pytest.raises(checker.Rejected, match="has no layers, too many"):
        read_instance(long(MOST_LAYERS + 1, 1))
    with pytest.raises(checker.Rejected, match="has no devices, too many"):
        read_instance(long(2, MOST_DEVICES + 1))


@pytest.mark.parametrize(
    ("changed", "adds", "rounds", "cases", "is_free"),
    [
        ({"goal": "bottleneck", "micro_batches": 3}, 0, 1, [((1, 2, 3), 6, 3)], True),
        ({"goal": "latency", "micro_batches": 5}, 1, 0, [((1, 2, 3, 4, 5), 6, 5)], True),
        ({"goal": "makespan", "micro_batches": 9}, 1, 8, [((1, 2, 3, 4, 5), 6, 5)], True),
        ({"in_flight": 4, "device_order": "given"}, 1, 7, [((4,), 6, 1)], False),
        ({"in_flight": "zb-h2", "micro_batches": 4}, 1, 3, [((1, 3, 4), 6, 3)], True),
        (
            {"in_flight": "stages", "micro_batches": 3}, 1, 2,
            [((3,), 6, 1), ((2,), 2, 2), ((1,), 1, 1)], True,
        ),
        ({"in_flight": "stages", "held": [0] * 10}, 1, 7, [((1,), 6, 1)], True),
    ],
)  # fmt: skip
def test_what_is_read(
    changed: Document, adds: int, rounds: int, cases: list[tuple[Any, ...]], is_free: bool
) -> None:
    """What counts, micro-batches in flight, devices by type, and where stages begin."""
    found = read_instance(document(**changed))
    assert (found.adds, found.rounds, list(map(tuple, found.cases)), found.is_free) == (
        adds, rounds, cases, is_free,
    )  # fmt: skip
    assert found.members == [[0, 1], [2, 3], [4]]
    assert found.apart == [at != 5 for at in range(10)]
    assert found.partner == {0: (9, 3)}


def test_memory_of_a_stage() -> None:
    """Tied layers count once if both are there, what is held as often as it is in flight."""
    one = read_instance(document())
    assert memory(one, 0, 10, 1) == 27 - 3 + 5
    assert memory(one, 0, 10, 4) == 27 - 3 + 20
    assert memory(one, 0, 9, 2) == 23 + 10
    assert memory(one, 1, 10, 2) == 23 + 8
    assert memory(one, 4, 5, 3) == 2 + 3


def test_reading_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps and bytes, before they are taken."""
    from boundmark.bounds.checker import budget

    with pytest.raises(checker.TooLarge), budget.limited("an instance", 10 * (3 + 2 + 8)):
        read_instance(document())
    with budget.limited("an instance", 10 * (3 + 2 + 8) + (5 + 3) * 3):
        read_instance(document())
    monkeypatch.setattr(budget, "MOST_CHECK_BYTES", 100 * (10 * 5 + 9) - 1)
    with pytest.raises(checker.TooLarge, match="memory"):
        read_instance(document())
