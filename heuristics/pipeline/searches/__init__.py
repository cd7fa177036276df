"""Searches over orders and over partitions."""
