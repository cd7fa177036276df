"""Ask for solvers, which are packages that may be missing."""

import importlib.util

from boundmark.problems.errors import UnsupportedError


def require_module(name: str) -> None:
    """Raise `UnsupportedError` unless a solver's module can be imported; do not import it."""
    if importlib.util.find_spec(name) is None:
        raise UnsupportedError(f"solver module {name} is not installed.")
