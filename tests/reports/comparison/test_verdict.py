"""The verdict on the page of a run that was compared: the worst first, and since when."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from boundmark.problems.errors import StoreError
from boundmark.reports.comparison.compare import Comparison, read_verdict


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Return a function that writes a comparison as the command does."""

    def write(found: Comparison) -> Path:
        path = tmp_path / "comparison.json"
        path.write_text(json.dumps(found.to_json()))
        return path

    return write


def nights(*gaps: float) -> pd.DataFrame:
    """Return the history of a method, a night after the other."""
    starts = pd.date_range("2026-11-01", periods=len(gaps), tz="UTC")
    return pd.DataFrame(
        {"problem": "pipeline", "method": "brkga", "started_at": starts, "mean_gap": gaps,
         "commit": [f"{at:040d}" for at in range(len(gaps))]}
    )  # fmt: skip


def test_the_worst_comes_first(compared: Any, write: Any) -> None:
    """With both documents, the commits between, and what has been so since when."""
    found = compared(a1={"objective": 40}, a2={"objective": 23})
    sentence, *lines = read_verdict(write(found), found.new, nights(0.2, 0.1, 0.3, 0.3))
    assert sentence.startswith("NEW is worse: brkga (objective 2).")
    assert "Commits: " in sentence
    assert "40 now" in lines[0]
    assert "23 now (4.55 % higher) (BASE solution " in lines[1]
    assert lines[1].endswith("; its mean gap is 30.0 % since 2026-11-03 00:00, commit 000000000000")


@pytest.mark.parametrize(
    ("gaps", "expected"),
    [
        ((0.1, 0.2), "is 20.0 % since 2026-11-02"),
        ((0.2, 0.2), "since the history begins"),
        ((), ""),
    ],
)
def test_since_when(compared: Any, write: Any, gaps: tuple[float, ...], expected: str) -> None:
    """The first of the last nights that were as bad."""
    found = compared(a2={"objective": 23})
    line = read_verdict(write(found), found.new, nights(*gaps))[1]
    assert expected in line
    assert ("mean gap" in line) == bool(gaps)


def test_nothing_worse_is_one_sentence(compared: Any, write: Any) -> None:
    """Which says so."""
    found = compared()
    assert read_verdict(write(found), found.new, None) == (
        "NEW is same or better: none of 6 compared tasks is worse.",
    )


def test_a_comparison_of_another_run_is_refused(compared: Any, write: Any, tmp_path: Path) -> None:
    """As is a file that is none, or is not there."""
    found = compared()
    path = write(found)
    with pytest.raises(StoreError, match="compares another run; expected one whose NEW is this"):
        read_verdict(path, compared(a1={"suite": "other"}).new, None)
    path.write_text("[]")
    with pytest.raises(StoreError, match=r"is no comparison; expected comparison\.json from"):
        read_verdict(path, found.new, None)
    with pytest.raises(StoreError, match="does not exist"):
        read_verdict(tmp_path / "no.json", found.new, None)
