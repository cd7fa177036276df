"""Bounds from the cheapest sets around single nodes, which maximum flows prove."""
