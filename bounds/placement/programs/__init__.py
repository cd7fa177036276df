"""Placement and schedule as one program: mixed-integer linear, or of constraints."""
