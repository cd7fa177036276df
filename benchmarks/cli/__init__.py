"""The command `boundmark`. Each subcommand is a module here that imports its layers when called."""

from boundmark.benchmarks.cli.group import main

__all__ = ["main"]
