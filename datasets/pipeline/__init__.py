"""Graphs with the costs of pipeline stages: generated, measured, and in published formats."""
