"""Drawings of placements: what devices run, send and receive, and when."""
