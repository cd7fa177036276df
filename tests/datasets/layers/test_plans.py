"""The data set of questions, and the suites that ask them."""

import pytest
from recording import Recorder

from boundmark.benchmarks.running.suite_file import load_suite
from boundmark.datasets.layers.language_models import public_name
from boundmark.datasets.layers.plans import DATASET, load
from boundmark.problems.catalog import methods
from boundmark.problems.errors import UnknownNameError
from boundmark.problems.layers import Question
from boundmark.problems.method import Budget


def test_suites() -> None:
    """24 questions, six of them every night; each has devices and a wish that go together."""
    assert len(DATASET.members()) == len(set(DATASET.members())) == 24
    (group,) = load_suite("paper-style/plans").instances
    assert tuple(group.sources.members()) == DATASET.members()
    nightly = list(load_suite("nightly/plans").load_instances())
    assert len(nightly) == 6
    for named in nightly:
        assert isinstance(named.instance, Question)
        assert len(named.instance.configurations) >= 40


def test_rules_of_thumb_beside_the_optimum() -> None:
    """What they choose is what their names say, and costs more than the optimum where it does."""
    question, found = load("llama-3-70b-2x8xh100"), {}
    for name in ("layer-choices", "plan-vllm", "plan-megatron", "plan-replicas"):
        recorder = Recorder()
        methods()[name].run(question, Budget(60.0), 0, recorder)
        best = recorder.solutions[-1]
        found[name] = best.configuration, question.objective(best)
        if name == "layer-choices":
            assert recorder.bounds[-1].bound == found[name][1]
    optimum = found["layer-choices"][1]
    # Tensor parallelism over all of a host: one replica over both hosts, or one on each.
    assert found["plan-vllm"][0][:2] == (8, 1)
    assert found["plan-megatron"] == ((8, 2, 1, 1, 32, 0), optimum)
    # 70 billion parameters of two bytes do not fit on one of them.
    assert found["plan-replicas"][0][:2] == (2, 8)
    assert optimum < found["plan-vllm"][1] < found["plan-replicas"][1]


def test_what_tools_call_models() -> None:
    """Members by their public names, a configuration by its folder, other files as they are."""
    assert public_name("language-models/llama-3-70b") == "meta-llama/Meta-Llama-3-70B"
    assert public_name("models/mine/config.json") == "models/mine"
    assert public_name("mine.gguf") == "mine.gguf"
    assert public_name("language-models/unknown") == "language-models/unknown"


def test_names_that_no_question_has() -> None:
    """An error names those that there are."""
    with pytest.raises(UnknownNameError, match="llama-3-70b-2x8xh100"):
        load("llama-3-70b-3x8xh100")
