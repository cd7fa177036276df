"""Searches of the down-sets of a section."""
