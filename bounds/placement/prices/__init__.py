"""Prices of paths, work and memory: a linear program, and its dual as a certificate."""
