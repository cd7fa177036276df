"""What the checker accepts of questions, against all configurations and assignments."""

import random
from dataclasses import replace
from typing import Any

import pytest
from brute_force_layers import (
    assignment,
    assignments,
    drawn,
    host_costs,
    split_cost,
    with_host,
)

from boundmark.bounds import checker
from boundmark.bounds.checker.layers import read
from boundmark.bounds.checker.layers.instance import NoRoom
from boundmark.bounds.checker.layers.questions import Question, floor
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import LayersInstance
from boundmark.problems.layers.instance import GOALS, ORDERS
from boundmark.problems.problem import solution_document

Document = dict[str, Any]


def samples(seeds: range) -> list[tuple[Document, dict[int, float]]]:
    """Return questions, and the least cost for each number of split layers."""
    found = []
    for seed in seeds:
        dice = random.Random(seed)
        sample = drawn(dice, GOALS[seed % 3], ORDERS[seed // 3 % 2], 5)
        if sample is not None:
            question = with_host(sample, dice)
            found.append((question.to_json(), host_costs(question)))
    return found


def certified(question: Document, bound: int) -> Document:
    """Return the certificate of a bound, with searches that have no prices."""
    table = {name: question[name] for name in question if name not in ("format", "problem")}
    asked = read(table)
    assert isinstance(asked, Question)
    prices = [0] * len(question["capacity"])
    payload = {"bound": bound, "prices": prices, "largest": 0, "largest_prices": prices}
    if question["goal"] == "bottleneck":
        payload["largest"] = bound
    certificates = []
    for one in asked.configurations():
        try:
            if floor(one.read()) >= bound:
                continue
        except NoRoom:
            continue
        certificates.append(
            {"configuration": list(one.name), "kind": "layer-reach/1", "payload": payload}
        )
    return {
        "format": "boundmark-certificate/1", "problem": "layers", "producer": "test",
        "instance_sha256": checker.instance_sha256(question), "kind": "layer-choices/1",
        "bound": bound, "payload": {"bound": bound, "certificates": certificates},
    }  # fmt: skip


def test_the_best_configuration_and_no_more() -> None:
    """The bound is proven, one more is not, and no certificate can be left out or exchanged."""
    left_out, asked = 0, samples(range(420))
    assert len(asked) >= 300
    for question, costs in asked:
        best = min(costs.values())
        if best == float("inf"):
            assert checker.check_certificate(question, certified(question, 10**6)) == 10**6
            continue
        document = certified(question, int(best))
        assert checker.check_certificate(question, document) == best
        with pytest.raises(checker.Rejected):
            checker.check_certificate(question, certified(question, int(best) + 1))
        certificates = document["payload"]["certificates"]
        for at, one in enumerate(certificates):
            forged = {
                **document,
                "payload": {
                    "bound": int(best),
                    "certificates": certificates[:at] + certificates[at + 1 :],
                },
            }
            expected = f"configuration {one['configuration'][0]} may cost less"
            with pytest.raises(checker.Rejected, match=expected):
                checker.check_certificate(question, forged)
            left_out += 1
    assert left_out > 250


def test_what_a_solution_costs_in_its_configuration() -> None:
    """As defined, here and in the checker; what does not fit is refused by both."""
    accepted = refused = 0
    for seed in range(60):
        dice = random.Random(seed)
        sample = drawn(dice, GOALS[seed % 3], "free", 4)
        if sample is None:
            continue
        question = with_host(sample, dice)
        document = question.to_json()
        assert LayersInstance.from_json(document).to_json() == document
        for count in question.splits:
            for ends, used in assignments(question):
                cost = split_cost(question, count, ends, used)
                solution = replace(assignment(ends, used), configuration=(count,))
                written = solution_document(question, solution, int(cost or 0))
                if cost is None:
                    with pytest.raises(checker.Rejected):
                        checker.check_solution(document, written)
                    with pytest.raises(InvalidInputError, match="expected"):
                        question.objective(solution)
                    refused += 1
                else:
                    assert checker.check_solution(document, written) == cost
                    assert question.objective(solution) == cost
                    accepted += 1
    assert accepted > 100
    assert refused > 100


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {"question": "cloud"},
            "question of the instance is not one of host, parallel, but 'cloud'",
        ),
        ({"question": 1}, "question of the instance is not one of"),
        ({"room": -1}, "room of the instance is not an integer from 0"),
        ({"host": [7]}, "an entry of host of the instance is not an integer"),
        ({"host": [0]}, "more than one device that is the host"),
        ({"split_time": [[1]]}, "split_time of the instance is not a list for each type"),
        ({"split_time": [[1], [2]]}, "not as long as it should be"),
        ({"split_bytes": [9] * 4}, "split_bytes of the instance are more than the weights"),
        ({"most_split": 5}, "most_split of the instance is not an integer from 0 to 4"),
        ({"split_joined": 2}, "split_joined of the instance is not an integer from 0 to 1"),
        ({"split_joined": None}, "split_joined of the instance is not an integer"),
        ({"more": 1}, "it has 'more'"),
        ({"first": []}, "first of the instance is empty"),
        ({"first": [1, 1]}, "first of the instance is empty or not ascending"),
        ({"weights": [1]}, "the instance has no layers, too many, or not as many"),
    ],
)
def test_what_is_no_question(changed: Document, expected: str) -> None:
    """Is refused by a sentence that names the field."""
    question = hosted()
    checker.check_instance(question)
    with pytest.raises(checker.Rejected, match=expected):
        checker.check_instance({**question, **changed})


def hosted() -> Document:
    """Return a question of four layers on two devices and a host."""
    return {
        "format": "boundmark-instance/1", "problem": "layers", "question": "host",
        "goal": "latency", "device_order": "free", "micro_batches": 1, "in_flight": 1,
        "virtual_stages": 1, "made_of": {}, "time": [[2] * 4, [9] * 4], "weights": [4] * 4,
        "held": [1] * 4, "tied": [], "joined": [], "transfer": [[1] * 3], "link": [[0, 0], [0, 0]],
        "devices": [1, 0, 0], "capacity": [6, 0], "sizes": [4] * 4, "outer": [0, 0],
        "first": [1], "host": [1], "room": 12, "split_time": [[5] * 4, [9] * 4],
        "split_bytes": [3] * 4, "most_split": 4, "split_joined": 0,
    }  # fmt: skip


def test_the_first_stage_only() -> None:
    """Types that can have no later stage are refused there, in bounds as well."""
    question = hosted()
    plain = {name: value for name, value in question.items() if name not in HOST_FIELDS}
    document = {**plain, "capacity": [99, 99]}
    solution = {
        "format": "boundmark-solution/1", "problem": "layers", "objective": 17,
        "instance_sha256": checker.instance_sha256(document), "devices": [0, 1, 1, 2],
    }  # fmt: skip
    assert checker.check_solution(document, solution) == 17
    with pytest.raises(checker.Rejected, match="can only have the first stage has a later one"):
        checker.check_solution(document, {**solution, "devices": [1, 0, 0, 0]})


HOST_FIELDS = ("question", "host", "room", "split_time", "split_bytes", "most_split",
               "split_joined")  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"payload": {"bound": 1}}, "it lacks certificates"),
        ({"payload": {"bound": 1, "certificates": {}}}, "certificates of the payload is not a"),
        ({"kind": "layer-reach/1"}, "the kind proves something of one instance"),
        ({"bound": 99}, "the certificate's bound is more than it proves"),
    ],
)
def test_malformed_certificates(changed: Document, expected: str) -> None:
    """Are refused by a sentence."""
    question = hosted()
    document = certified(question, 5)
    assert checker.check_certificate(question, document) == 5
    with pytest.raises(checker.Rejected, match=expected):
        checker.check_certificate(question, {**document, **changed})


def test_certificates_that_nobody_needs() -> None:
    """Are refused, as are kinds that are none and those of other configurations."""
    question = hosted()
    document = certified(question, 18)
    assert checker.check_certificate(question, document) == 18
    payload, (first, *others) = document["payload"], document["payload"]["certificates"]
    for certificates, expected in (
        ([first, *others, first], "certificates that no configuration needs"),
        ([{**first, "kind": "node-cut/1"}, *others], "the kind of a certificate is not one of"),
        ([*others, first], "the next certificate is for another"),
        ([{**first, "payload": {**first["payload"], "bound": 3}}, *others], "is not proven to"),
    ):
        forged = {**document, "payload": {**payload, "certificates": certificates}}
        with pytest.raises(checker.Rejected, match=expected):
            checker.check_certificate(question, forged)
