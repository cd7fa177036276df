"""What answers questions in tests."""

import pytest

from boundmark.heuristics.microbatch.time_optimal import ENCODINGS, Find, finder
from boundmark.problems.method import Budget


@pytest.fixture(scope="session")
def find() -> Find:
    """Answers by Z3, with the faster encoding of memory."""
    return finder(Budget(600), seed=1, memory="pairs")


@pytest.fixture(params=ENCODINGS)
def encoding(request: pytest.FixtureRequest) -> str:
    """Each encoding of memory."""
    return str(request.param)
