"""Lower bounds for `placement`."""

from boundmark.bounds.placement.methods import METHODS

__all__ = ["METHODS"]
