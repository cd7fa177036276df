"""Readers of models that several problems solve: a file or a folder each, with its `FORMAT`."""
