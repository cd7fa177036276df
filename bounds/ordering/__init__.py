"""Lower bounds and exact methods for `ordering`."""

from boundmark.bounds.ordering.methods import METHODS

__all__ = ["METHODS"]
