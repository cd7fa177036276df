"""Sections of a page that any problem can have, each with its plots."""
