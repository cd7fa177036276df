"""Topological orders: from priorities, and near a partition."""
