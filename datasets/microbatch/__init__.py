"""Layouts whose micro-batches can be scheduled."""
