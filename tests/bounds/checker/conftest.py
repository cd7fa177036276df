"""Documents in files, as a results folder holds them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from boundmark.bounds import checker
from boundmark.bounds.checker import budget
from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.reports.stored.store import write_document

Document = dict[str, Any]


class UnexpectedError(Exception):
    """The checker failed on a file, and no test is about that."""


@pytest.fixture(autouse=True, scope="module")
def failures_are_no_verdicts() -> Iterator[None]:
    """Let an error inside of a check end the test: it is a rejection for users only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "CheckFailed", UnexpectedError)
        yield


@pytest.fixture
def failures_are_rejections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an error inside of a check be what it is for users."""
    monkeypatch.setattr(budget, "CheckFailed", checker.CheckFailed)


@pytest.fixture(scope="session")
def large(random_graph: Callable[..., PipelineGraph]) -> tuple[PipelineInstance, Document]:
    """Return an instance and a certificate whose payload goes into a file of its own."""
    sample = PipelineInstance(random_graph(200, 1), 4)
    return sample, share_table(sample.graph).certificate(sample, "fractional-load").to_json()


@pytest.fixture
def folder(
    tmp_path: Path, large: tuple[PipelineInstance, Document]
) -> tuple[Path, str, PipelineInstance]:
    """Store both; return the folder and the certificate's hash too."""
    sample, document = large
    write_document(tmp_path, sample.to_json())
    return tmp_path, write_document(tmp_path, document), sample
