"""Plots of the report of `slicing`."""
