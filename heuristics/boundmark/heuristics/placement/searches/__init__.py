"""Searches over devices."""
