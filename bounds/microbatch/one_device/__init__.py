"""Bounds from what a single device runs and holds."""
