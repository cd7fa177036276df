"""Plots: what one is, how all look, and how they are drawn and written as SVG and PNG."""
