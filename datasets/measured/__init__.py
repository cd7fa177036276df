"""Measured graphs in the JSON files of other planners."""
