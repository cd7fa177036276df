"""Cutting a topological order into stages."""
