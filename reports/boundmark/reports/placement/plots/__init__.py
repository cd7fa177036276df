"""Plots of placements."""
