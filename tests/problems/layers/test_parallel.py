"""Questions about parallelism as instances: their costs, and what is refused."""

import random
from typing import Any

import pytest
from brute_force_layers import assignments
from brute_force_parallel import drawn, instance, least_costs, names

from boundmark.bounds import checker
from boundmark.problems.catalog import problems
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.layers import LayerAssignment, Question
from boundmark.problems.problem import solution_document


def test_costs_are_those_of_the_checker_and_of_the_definition() -> None:
    """Of all assignments of all configurations: as much as by definition, or none fits."""
    compared = 0
    for seed in range(40):
        table = drawn(random.Random(seed))
        question, least = Question(table), least_costs(table)
        for name, groups in names(table):
            best = float("inf")
            sample = instance(table, name, groups)
            for ends, used in assignments(sample) if sample else ():
                devices = [
                    device
                    for device, first, end in zip(used, [0, *ends], ends, strict=False)
                    for _ in range(first, end)
                ]
                solution = LayerAssignment(devices, name)  # type: ignore[arg-type]
                try:
                    cost = question.objective(solution)
                except InvalidInputError:
                    continue
                document = solution_document(question, solution, cost)
                assert checker.check_solution(question.to_json(), document) == cost
                best, compared = min(best, cost), compared + 1
            assert best == least[name]
    assert compared > 200


def test_documents_are_read_as_they_were_written() -> None:
    """A question is read again as it was, by the problem, whatever configurations it has."""
    question = Question(drawn(random.Random(1)))
    read = problems()["layers"].instance_from_json(question.to_json())
    assert isinstance(read, Question)
    assert read.sha256 == question.sha256
    assert read.nodes == len(question.table["forms"][0]["weights"]) == read.edges + 1


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [((), "is none of the question"), ((99, 1, 1, 1, 1, 0), "is none of the question")],
)
def test_configurations_that_are_none(configuration: tuple[int, ...], expected: str) -> None:
    """A sentence says what a configuration is."""
    question = Question(drawn(random.Random(1)))
    with pytest.raises(InvalidInputError, match=expected):
        question.objective(LayerAssignment([0] * question.layers, configuration))  # type: ignore[arg-type]


def test_what_cannot_be_asked_of_a_question() -> None:
    """Malformed tables and parameters are refused; methods for one instance are told."""
    question = Question(drawn(random.Random(1)))
    document: dict[str, Any] = {**question.to_json(), "unit": 0}
    with pytest.raises(InvalidInputError, match="unit of the instance"):
        Question.from_json(document)
    with pytest.raises(InvalidInputError, match="expected no parameters"):
        question.with_parameters({"goal": "latency"})
    assert question.with_parameters({}) is question
    with pytest.raises(UnsupportedError, match="layer-choices is for both"):
        _ = question.chain
