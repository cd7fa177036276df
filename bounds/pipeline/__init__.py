"""Lower bounds and exact methods for `pipeline`."""

from boundmark.bounds.pipeline.methods import METHODS

__all__ = ["METHODS"]
