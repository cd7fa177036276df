"""docs/python.md: its blocks run, one after the other, as in a notebook."""

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.slow
def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block, and what is asserted there holds."""
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    names: dict[str, Any] = {}
    assert len(BLOCKS) > 8
    for number, block in enumerate(BLOCKS, 1):
        exec(compile(block, f"block {number} of python.md", "exec"), names)
    assert names["answer"].is_optimal
    assert {path.name for path in tmp_path.glob("*.png")} == {"stages.png", "results.png"}
    mpl.pyplot.close("all")
