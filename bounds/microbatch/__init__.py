"""Lower bounds for `microbatch`, and searches that prove an optimum."""

from boundmark.bounds.microbatch.methods import METHODS

__all__ = ["METHODS"]
