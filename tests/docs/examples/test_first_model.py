"""docs/examples/first_model.ipynb: from `import boundmark` to a certified plot, in a kernel."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[3] / "docs" / "examples" / "first_model.ipynb"
HAS_KERNEL = all(importlib.util.find_spec(name) for name in ("nbclient", "ipykernel"))


def test_it_is_kept_without_outputs() -> None:
    """What it shows is computed anew."""
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_KERNEL, reason="nbclient or ipykernel is not installed")
@pytest.mark.filterwarnings("ignore")
def test_it_runs(tmp_path: Path) -> None:
    """Answers are tables, the bound is proven, and there is a picture."""
    import nbclient
    import nbformat

    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [
        output.data
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output.output_type in ("display_data", "execute_result")
    ]
    tables = "".join(data.get("text/html", "") for data in shown)
    assert "proven optimal" in tables
    assert "at most" in tables
    assert sum("image/png" in data for data in shown) == 1
    errors = [
        o for cell in notebook.cells for o in cell.get("outputs", ()) if o.get("name") == "stderr"
    ]
    assert not errors
