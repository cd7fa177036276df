import sys

import pytest
from chains import chain
from recording import record

from boundmark.problems.errors import UnsupportedError


def test_a_missing_package_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which names it, as for solvers."""
    monkeypatch.setitem(sys.modules, "brkga_mp_ipr", None)
    with pytest.raises(UnsupportedError, match=r"^module brkga_mp_ipr is not installed"):
        record("brkga-100", chain(6, 2))
