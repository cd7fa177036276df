"""Sections of `microbatch`."""
