"""Cheapest sets around a node, by minimum cuts."""
