from collections.abc import Callable

import pytest

from boundmark.bounds import checker
from boundmark.bounds.pipeline.prefixes.attempt import Context
from boundmark.bounds.pipeline.prefixes.windows import Closure
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance


@pytest.fixture(scope="session")
def context() -> Callable[..., Context]:
    """Return a maker of contexts with time enough."""

    def make(sample: PipelineInstance, seconds: float = 60.0) -> Context:
        closure = Closure.of(sample.graph.dag)
        checked = checker.check_instance(sample.to_json())
        return Context(sample, closure, checked, Budget(seconds))

    return make
