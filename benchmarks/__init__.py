"""Suites, the runner that keeps their limits, and the command line."""
