"""Potentials: what an operator's width costs it, moved to the operators that read its output."""
