"""Titles of report pages."""

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from boundmark.reports.overview import title


@pytest.mark.parametrize(
    ("suites", "expected"),
    [
        (["demo/layers", "demo/pipeline", "demo/layers"], "boundmark: demo"),
        (["paper-mtpp/small"], "boundmark: paper-mtpp/small"),
        (["nightly/ordering", "nightly/slicing", "smoke"], "boundmark: nightly, smoke"),
        ([None], "boundmark"),
    ],
)
def test_parts_of_a_suite_have_its_name(suites: list[str | None], expected: str) -> None:
    """A part alone keeps its own name."""
    folder: Any = SimpleNamespace(tasks=pd.DataFrame({"suite": suites}))
    assert title(folder) == expected
