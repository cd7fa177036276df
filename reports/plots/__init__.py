"""Plots: their data, their style, and how they are drawn and written as SVG and PNG."""
