import sys
from unittest import mock

import pytest
from recording import record

from boundmark.datasets.microbatch import shapes
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import MicrobatchInstance


def errors_without_ortools(method: str) -> list[str]:
    """Return the errors of a method where OR-Tools is not installed."""
    sample = MicrobatchInstance.of(shapes.load("v-4-train"))
    with mock.patch.dict(sys.modules, {"ortools": None}):
        try:
            record(method, sample)
        except UnsupportedError as error:
            return [str(error)]
    return []


@pytest.mark.parametrize("method", ["memory-latency", "modulo", "modulo-tree"])
def test_a_missing_solver_is_named(method: str) -> None:
    """Methods of an installation without OR-Tools say so, instead of failing to import."""
    assert errors_without_ortools(method) == ["solver module ortools is not installed."]
