"""Limits and seeds as users write them down."""

import math
from typing import Any

import pytest

from boundmark.benchmarks.running.settings import GIB, RunSettings
from boundmark.problems.errors import InvalidInputError

GOOD: dict[str, Any] = {"time_limit_seconds": 1, "memory_limit_gib": 0.5}


def test_good_settings() -> None:
    """Memory is given in GiB; threads and seeds have defaults."""
    assert RunSettings.checked(**GOOD) == RunSettings(1, GIB // 2, 1, (1,))


def test_other_limits() -> None:
    """What is not given stays."""
    settings = RunSettings(5.0, 3 * GIB + 1, 2, (4, 5))
    assert settings.with_limits(None, None) == settings
    assert settings.with_limits(7.0, None).time_limit_seconds == 7.0
    assert settings.with_limits(None, 1).memory_limit_bytes == GIB


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("time_limit_seconds", math.nan),
        ("time_limit_seconds", math.inf),
        ("time_limit_seconds", 1e300),
        ("time_limit_seconds", 10**4000),
        ("time_limit_seconds", 0),
        ("time_limit_seconds", -1),
        ("time_limit_seconds", True),
        ("time_limit_seconds", "9"),
        ("time_limit_seconds", None),
        ("memory_limit_gib", math.nan),
        ("memory_limit_gib", 1e300),
        ("memory_limit_gib", [1]),
        ("threads", 0.5),
        ("threads", 0),
        ("threads", 10**9),
        ("threads", "2\x1b[31m"),
        ("seeds", [10**30]),
        ("seeds", [-1]),
        ("seeds", [1.0]),
        ("seeds", [[[]]]),
    ],
)
def test_bad_settings(name: str, value: object) -> None:
    """The sentence names what is wrong; it is short and printable."""
    with pytest.raises(InvalidInputError, match=name) as caught:
        RunSettings.checked(**{**GOOD, name: value})
    assert "expected" in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 200
