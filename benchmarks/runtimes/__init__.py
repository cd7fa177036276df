"""Runtimes that time the operators of models."""
