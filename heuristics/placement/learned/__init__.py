"""Policies that learn to place operators ([HSDAG24], [PLACETO19], [MIRHOSEINI17]).

Everything that computes gradients needs JAX (extra `learned`) and imports it inside functions;
graphs, features and the parsing of graphs need NumPy only.
"""
