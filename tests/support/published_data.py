"""Where tests find published inputs, which are not part of the repository."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def published_data() -> Path:
    """Return the folder of published inputs; skip the test if there is none."""
    folder = Path(os.environ.get("BOUNDMARK_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "pipedream").is_dir():
        pytest.skip(f"no published inputs in {folder}; set BOUNDMARK_DATA to their folder")
    return folder
