"""A results folder on disk: rows, traces, and documents named after the hash of their content."""
