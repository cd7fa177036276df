"""Linear programs that guide the placement of operators."""
