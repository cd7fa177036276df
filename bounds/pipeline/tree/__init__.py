"""Branch and bound at a threshold, with a checkable linear inequality at every leaf."""
