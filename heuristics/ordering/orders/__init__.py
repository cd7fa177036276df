"""Topological orders, and the best one so far."""
