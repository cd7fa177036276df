"""Bounds and exact methods by the programs of the MTPP paper, and trees of their relaxations."""
