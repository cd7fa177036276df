"""Least shares of a stage that nodes take, and the stages that these leave to each node."""
