"""Modulo scheduling with CP-SAT: steady states, what is before and after them, makespans."""
