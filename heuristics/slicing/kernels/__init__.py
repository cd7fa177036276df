"""Compiled evaluation of plans, and the steps of local search.

Compiled when first imported, and kept on disk. Tests compare them with `latency`, in plain Python.
"""
