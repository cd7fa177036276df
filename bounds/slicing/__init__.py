"""Lower bounds for `slicing`."""

from boundmark.bounds.slicing.methods import METHODS

__all__ = ["METHODS"]
