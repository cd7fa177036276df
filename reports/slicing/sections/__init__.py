"""Sections of the report of `slicing`."""
