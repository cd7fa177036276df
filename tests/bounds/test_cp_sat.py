"""CP-SAT as methods call it."""

import pytest
from other_process import call
from refused_model import refusal


def test_a_model_that_is_refused_is_no_model_without_solutions() -> None:
    """Sums beyond 64 bits end in an error, and not in bounds or in nothing."""
    with pytest.raises(AssertionError, match="overflow"):
        call(refusal)
