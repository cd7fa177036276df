"""Plots that any problem can have, and how plots are drawn and stored.

Each plot is a function of data and axes, and can be used alone.
"""
