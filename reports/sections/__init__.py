"""Sections that any problem can have; each module turns tables of numbers into what a page says."""
