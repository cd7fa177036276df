"""Measure how long a model's operators and stages take on this machine."""
