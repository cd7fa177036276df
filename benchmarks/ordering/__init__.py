"""Answers of `ordering` on the command line."""
