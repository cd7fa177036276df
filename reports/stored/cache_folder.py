"""Where reports remember things between runs: the user's cache folder, never a results folder."""

import os
from pathlib import Path


def cache_folder(name: str) -> Path:
    """Return a folder of this package below the user's cache folder; it need not exist.

    Nobody can send what lies there along with results. A relative ``XDG_CACHE_HOME`` is passed
    over, as its specification demands: in a results folder, it could lead into that folder.
    """
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    cache = chosen if os.path.isabs(chosen) else os.path.expanduser("~/.cache")
    return Path(cache, "boundmark", name)
