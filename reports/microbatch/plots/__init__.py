"""Plots of `microbatch`."""
