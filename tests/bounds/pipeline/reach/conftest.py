from collections.abc import Callable

import pytest

from boundmark.bounds import checker
from boundmark.bounds.pipeline.reach.attempt import Setting
from boundmark.bounds.pipeline.reach.prefixes import Closure
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance


@pytest.fixture(scope="session")
def setting() -> Callable[..., Setting]:
    """Return a maker of settings with time enough."""

    def make(sample: PipelineInstance, seconds: float = 60.0) -> Setting:
        closure = Closure.of(sample.graph.dag)
        checked = checker.check_instance(sample.to_json())
        return Setting(sample, closure, checked, None, Budget(seconds))

    return make
