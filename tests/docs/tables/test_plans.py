"""The table of published configurations follows from the stored rows, and these from the search."""

from pathlib import Path

import pandas as pd
import plans
import pytest
from page import ROOT


def test_the_page_has_the_table() -> None:
    """As it was stored; no published choice is faster than the certified bound."""
    rows = pd.read_csv(plans.STORED)
    assert plans.table(rows) in (ROOT / "docs" / "plan.md").read_text()
    assert len(rows) >= 10
    assert (rows["theirs_rate"] <= rows["bound_rate"]).all()
    assert rows["theirs_optimal"].all()


@pytest.mark.parametrize("name", ["vLLM issue 2280"])
def test_rows_are_found_again(name: str, tmp_path: Path) -> None:
    """A short one, to the last digit."""
    (one,) = (one for one in plans.PUBLISHED if name in one.name)
    stored = pd.read_csv(plans.STORED).set_index("model").loc[one.name]
    found = plans.compared(one, tmp_path, 60.0)
    for column in ("theirs", "theirs_rate", "best", "best_rate", "bound_rate"):
        assert found[column] == stored[column]
