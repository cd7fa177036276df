"""Commands about partitions of models into stages."""

from boundmark.benchmarks.pipeline.commands.split import split

__all__ = ["split"]
