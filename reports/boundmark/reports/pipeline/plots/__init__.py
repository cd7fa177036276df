"""Plots of `pipeline`."""
