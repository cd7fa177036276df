"""Micro-benchmarks, run by asv."""
