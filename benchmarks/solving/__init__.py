"""Solve one instance: rounds of methods, their answer, and a user's own solution or method."""
