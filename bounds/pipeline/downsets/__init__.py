"""Exact methods for graphs with few down-sets, or few in each of two branches."""
