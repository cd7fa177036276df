"""What a tick is, as far as labels tell it."""

from pathlib import Path

import pandas as pd
import pytest

from boundmark.reports.folder_results import with_ticks
from boundmark.reports.stored.store import ResultStore


@pytest.mark.parametrize(
    ("text", "tick"),
    [('{"tick": "ns"}', "ns"), ('{"tick": 1}', ""), ("[]", ""), ("{", ""), (None, "")],
)
def test_ticks_are_words_for_people(tmp_path: Path, text: str | None, tick: str) -> None:
    """No number depends on them: what cannot be read is empty, and stops nothing."""
    store = ResultStore.create_or_open(tmp_path)
    if text is not None:
        (store.labels / "x.json").write_text(text)
    table = with_ticks(pd.DataFrame({"device": ["d"], "instance_sha256": ["x"]}), store)
    assert table.columns.tolist() == ["device", "tick", "instance_sha256"]
    assert table["tick"].tolist() == [tick]
