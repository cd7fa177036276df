import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from brute_force_microbatch import instances, layout, optimum, v_shape
from hypothesis import given
from hypothesis import strategies as st
from mutation import JSON, mutants
from other_process import call
from recording import record

from boundmark.bounds import checker
from boundmark.datasets.microbatch import shapes
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import MicrobatchInstance

Document = dict[str, Any]

IN_TWO_PARTS = layout(
    [("F", 1, 2, (0,)), ("S", 2, 0, (1,)), ("B", 1, -1, (0,)), ("B", 1, -1, (0,))],
    [(0, 1), (1, 2), (2, 3)],
    2,
)

# Instances on which a method's bound is the optimum, so that nothing better can be proved.
TIGHT = {
    "device-load": ("device-load", MicrobatchInstance.of(v_shape(), memory=2)),
    "device-load, makespan": (
        "device-load",
        MicrobatchInstance.of(v_shape(), memory=2, micro_batches=3),
    ),
    "device-load, last block": (
        "device-load",
        MicrobatchInstance.of(
            layout(
                [("F", 3, 0, (0,)), ("F", 2, 0, (1,)), ("S", 1, 0, (1,))], [(0, 1)], 2
            ),
            micro_batches=2,
        ),
    ),
    "memory-latency": ("memory-latency", MicrobatchInstance.of(v_shape(), memory=1)),
    "memory-latency, makespan": (
        "memory-latency",
        MicrobatchInstance.of(v_shape(), memory=1, micro_batches=2),
    ),
    "memory-latency, amounts": ("memory-latency", MicrobatchInstance.of(IN_TWO_PARTS, memory=2)),
    "modulo-tree": ("modulo-tree", MicrobatchInstance.of(v_shape(), memory=1)),
    "memory-latency, unit": (
        "memory-latency",
        MicrobatchInstance.of(
            layout([("F", 2, 2, (0,)), ("S", 3, 0, (1,)), ("B", 1, -2, (0,))],
                      [(0, 1), (1, 2)], 2),
            memory=3,
        ),
    ),
}  # fmt: skip


def certificate(name: str) -> Document:
    """Return the certificate that a method reports, as a JSON reader returns it."""
    method, sample = TIGHT[name]
    bound: Any = call(record, method, sample).bounds[-1]
    document: Document = json.loads(json.dumps(bound.to_json()))
    return document


@pytest.fixture(scope="module")
def certificates() -> dict[str, Document]:
    """Return the certificate of each sample."""
    return {name: certificate(name) for name in TIGHT}


@pytest.mark.parametrize("name", TIGHT)
def test_tight_bound_is_the_optimum(name: str, certificates: dict[str, Document]) -> None:
    """The samples are what the tests below take them for."""
    sample, document = TIGHT[name][1], certificates[name]
    assert document["bound"] == optimum(sample)
    assert checker.check_certificate(sample.to_json(), document) == document["bound"]


@pytest.mark.parametrize("name", TIGHT)
def test_one_tick_more_is_rejected(name: str, certificates: dict[str, Document]) -> None:
    """No kind proves more than the optimum."""
    document = certificates[name]
    with pytest.raises(checker.Rejected, match="is more than it proves"):
        checker.check_certificate(
            TIGHT[name][1].to_json(), {**document, "bound": document["bound"] + 1}
        )


@pytest.mark.parametrize("name", TIGHT)
def test_mutants_prove_nothing_false(name: str, certificates: dict[str, Document]) -> None:
    """Whatever is changed, the certificate is rejected, or what it proves is still true."""
    sample = TIGHT[name][1]
    document = sample.to_json()
    best = optimum(sample)
    rejected = 0
    for mutant in mutants(certificates[name]):
        # As greedy as can be: a mutant that proves anything at all claims all of the optimum.
        for changed in (mutant, {**mutant, "bound": best + 1}):
            try:
                assert checker.check_certificate(document, changed) <= best
            except checker.Rejected:
                rejected += 1
    assert rejected > 50


def pairs_of(document: Document) -> Iterator[Document]:
    """Yield the certificate without one of its pairs, or with less of it."""
    for number, (_, _, amount) in enumerate(document["payload"]["pairs"]):
        less = copy.deepcopy(document)
        del less["payload"]["pairs"][number]
        yield less
        less = copy.deepcopy(document)
        less["payload"]["pairs"][number][2] = amount + 1
        yield less


@given(instances((0,)))
def test_trees_prove_nothing_false(sample: MicrobatchInstance) -> None:
    """Whatever periods are refuted are below the optimum, and the checker agrees."""
    for bound in call(record, "modulo-tree", sample).bounds:
        document: Any = bound
        assert bound.bound <= optimum(sample)
        assert checker.check_certificate(sample.to_json(), document.to_json()) == bound.bound


@pytest.mark.parametrize(("member", "memory", "period"), [("m-4-train", 4, 7), ("v-4-train", 3, 8)])
def test_trees_prove_what_memory_costs(member: str, memory: int, period: int) -> None:
    """With little memory, periods without bubbles are refuted, up to the optimum."""
    sample = MicrobatchInstance.of(shapes.load(member), memory=memory)
    assert call(record, "modulo-tree", sample).bounds[-1].bound == period
    assert call(record, "modulo", sample).bounds[-1].bound == period


@pytest.mark.parametrize("name", [name for name in TIGHT if name.startswith("memory")])
def test_pairs_are_all_that_a_device_holds(name: str, certificates: dict[str, Document]) -> None:
    """A pair less, or an amount more, is rejected."""
    for changed in pairs_of(certificates[name]):
        with pytest.raises(checker.Rejected):
            checker.check_certificate(TIGHT[name][1].to_json(), changed)


@pytest.mark.parametrize(
    ("name", "payload", "reason"),
    [
        ("device-load", {}, "the payload is not an object with the fields blocks, device"),
        ("device-load", {"device": 2, "blocks": [0]}, "device of the payload is not an integer"),
        ("device-load", {"device": 0, "blocks": []}, "repeated, or there are none"),
        ("device-load", {"device": 0, "blocks": [0, 0]}, "repeated, or there are none"),
        ("device-load", {"device": 0, "blocks": [1]}, "is not on the device"),
        ("memory-latency", {"device": 0, "pairs": 1}, "not a list of triples"),
        ("memory-latency", {"device": 0, "pairs": [[0, 3]]}, "not a list of triples"),
        ("memory-latency", {"device": 0, "pairs": []}, "not all that the device allocates"),
        ("memory-latency", {"device": 0, "pairs": [[3, 0, 1]]}, "not an allocation and a release"),
        ("memory-latency", {"device": 0, "pairs": [[1, 2, 1]]}, "not an allocation and a release"),
        ("memory-latency", {"device": 0, "pairs": [[0, 3, 2]]}, "not an allocation and a release"),
        ("memory-latency", {"device": 0, "pairs": [[0, 3, -1]]}, "amount of a pair is not an int"),
        ("modulo-tree", {"bound": 6, "order": [0], "pairs": []}, "not have every block once"),
        ("modulo-tree", {"bound": 6, "order": [0, 1, 2, 3], "pairs": []}, "one list for each"),
        (
            "modulo-tree",
            {"bound": 7, "order": [0, 1, 2, 3], "pairs": [[[0, 3, 1]], [[1, 2, 1]]]},
            "the tree does not refute a period",
        ),
        (
            "modulo-tree",
            {"bound": 10**6, "order": [0, 1, 2, 3], "pairs": [[], []]},
            "bound of the payload is not an integer from 1 to 1024",
        ),
    ],
)
def test_malformed_payloads(
    name: str, payload: Any, reason: str, certificates: dict[str, Document]
) -> None:
    """Each is rejected with the reason."""
    document = {**certificates[name], "payload": payload}
    with pytest.raises(checker.Rejected, match=reason):
        checker.check_certificate(TIGHT[name][1].to_json(), document)


def test_a_release_has_to_wait_for_its_allocation() -> None:
    """Without a path between them, nothing is known of how long a device holds something."""
    free = layout([("F", 1, 1, (0,)), ("B", 1, -1, (0,))], [], 1)
    sample = MicrobatchInstance.of(free, memory=1)
    with pytest.raises(UnsupportedError, match="no device holds what a later block"):
        call(record, "memory-latency", sample)
    document = {
        "format": "boundmark-certificate/1",
        "instance_sha256": sample.sha256,
        "problem": "microbatch",
        "kind": "memory-latency/1",
        "bound": 1,
        "payload": {"device": 0, "pairs": [[0, 1, 1]]},
        "producer": "nobody",
    }
    with pytest.raises(checker.Rejected, match="does not wait for the allocation"):
        checker.check_certificate(sample.to_json(), document)


PAIR = st.lists(st.integers(-1, 5), min_size=3, max_size=3)
PAYLOAD = (
    JSON
    | st.fixed_dictionaries({"device": st.integers(-1, 2), "blocks": st.lists(st.integers(-1, 5))})
    | st.fixed_dictionaries({"device": st.integers(-1, 2), "pairs": st.lists(PAIR) | JSON})
    | st.fixed_dictionaries(
        {
            "bound": st.integers(0, 9),
            "order": st.permutations(range(4)) | st.permutations(range(3)) | JSON,
            "pairs": st.lists(st.lists(PAIR, max_size=2), max_size=2),
        }
    )
)
KINDS = sorted(kind for kind, problem in checker.KINDS.items() if problem == "microbatch")


@given(sample=instances(), payload=PAYLOAD, kind=st.sampled_from(KINDS))
def test_arbitrary_payloads_are_rejected_or_true(
    sample: MicrobatchInstance, payload: Any, kind: str
) -> None:
    """Nothing but a rejection comes of nonsense, and nothing false is proved."""
    document = {
        "format": "boundmark-certificate/1",
        "instance_sha256": sample.sha256,
        "problem": "microbatch",
        "kind": kind,
        "bound": 0,
        "payload": payload,
        "producer": "nobody",
    }
    try:
        proved = checker.check_certificate(sample.to_json(), document)
    except checker.Rejected:
        return
    assert proved <= optimum(sample)
