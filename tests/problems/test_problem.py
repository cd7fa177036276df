import dataclasses

import pytest
from graphs import ROUND_DEVICE, small_graph

from boundmark.problems.catalog import problems
from boundmark.problems.dag import Dag
from boundmark.problems.devices import default_device
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.parameter import IntegerParameter
from boundmark.problems.pipeline.graph import PipelineGraph

PROBLEM = problems()["pipeline"]
GRAPH = PipelineGraph.without_parameters(Dag.from_edges(2, [(0, 1)]), [3, 4], [1, 0], ("a", "b"))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"name": "Two Words"}, "a problem is called 'Two Words'; expected lower-case letters"),
        ({"name": "../up"}, "a problem is called"),
        ({"parameters": (IntegerParameter("n", "one", 0, 0),) * 2}, "has two parameters 'n'"),
        ({"sources": ("PipelineGraph",)}, "is about 'PipelineGraph'; expected types in `sources`"),
        ({"sources": (PipelineGraph,)}, "has a cost model and no graphs without costs; expected"),
    ],
)
def test_what_cannot_be_a_problem(changes: dict[str, object], expected: str) -> None:
    """A third party learns of it when its package is loaded, not when results are written."""
    with pytest.raises(InvalidInputError, match=expected):
        dataclasses.replace(PROBLEM, **changes)


def test_texts_of_parameters_are_read() -> None:
    """Only what is given; defaults come later."""
    assert PROBLEM.read_parameters({"k": "3"}) == {"k": 3}
    assert problems()["microbatch"].read_parameters({}) == {}
    with pytest.raises(InvalidInputError, match="memory is no parameter of problem 'pipeline'"):
        PROBLEM.read_parameters({"memory": "3"})


def test_a_graph_makes_instances() -> None:
    """One for each set of parameters; one that is missing is named."""
    make = PROBLEM.maker(GRAPH)
    assert [make({"k": k}).parameters["k"] for k in (1, 2)] == [1, 2]
    with pytest.raises(InvalidInputError, match="k is missing; problem 'pipeline' needs it"):
        make({})
    with pytest.raises(InvalidInputError, match="k is 0; expected an integer of at least 1"):
        make({"k": 0})


def test_an_instance_keeps_what_is_not_given() -> None:
    """What is stored already has all parameters."""
    stored = PROBLEM.maker(GRAPH)({"k": 2})
    make = PROBLEM.maker(stored)
    assert make({}).sha256 == stored.sha256
    assert make({"k": 1}).parameters == {"k": 1}
    with pytest.raises(InvalidInputError, match="k is 'x'; expected an integer"):
        make({"k": "x"})


def test_sources_of_another_problem() -> None:
    """The sentence says what was given, and what the problem is about."""
    other = problems()["microbatch"]
    assert not other.suits(GRAPH)
    with pytest.raises(
        InvalidInputError,
        match="a PipelineGraph was given; problem 'microbatch' is about BlockLayout",
    ):
        other.maker(GRAPH)
    with pytest.raises(InvalidInputError, match="an instance of 'pipeline' was given"):
        other.maker(PROBLEM.maker(GRAPH)({"k": 2}))


def test_a_graph_without_costs_gets_those_of_a_device() -> None:
    """Of the one named, or else of the default one, which then is the same as naming it."""
    graph = small_graph()
    assert PROBLEM.needs_device(graph)
    assert PROBLEM.device_for(graph) is default_device()
    assert PROBLEM.device_for(graph, ROUND_DEVICE) is ROUND_DEVICE
    named = PROBLEM.maker(graph, ROUND_DEVICE)({"k": 2})
    assert named.to_json()["work"] == [5020, 820, 0]
    usual = PROBLEM.maker(graph)({"k": 2})
    assert usual.sha256 == PROBLEM.maker(graph, default_device())({"k": 2}).sha256
    assert usual.sha256 != named.sha256


def test_costs_that_there_are_remain() -> None:
    """A device that would make no difference is a mistake and not ignored."""
    stored = PROBLEM.maker(GRAPH)({"k": 2})
    for source, name in ((GRAPH, "a PipelineGraph"), (stored, "an instance of 'pipeline'")):
        assert not PROBLEM.needs_device(source)
        assert PROBLEM.device_for(source) is None
        with pytest.raises(
            InvalidInputError,
            match=f"device is 'round', but {name} comes with costs; expected no device",
        ):
            PROBLEM.maker(source, ROUND_DEVICE)


def test_some_problems_need_no_device() -> None:
    """Then naming one is a mistake, too."""
    free = dataclasses.replace(PROBLEM, cost_model=None)
    assert free.device_for(small_graph()) is None
    with pytest.raises(
        InvalidInputError,
        match="device is 'round', but a ComputationGraph needs none for 'pipeline'; expected no",
    ):
        free.device_for(small_graph(), ROUND_DEVICE)
