"""Compiled inner loops."""
