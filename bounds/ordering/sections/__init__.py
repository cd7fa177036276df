"""Stops that optimal orders pass, and the sections between them."""
