"""What devices have to do, fractionally: linear programs over assignments, and where to ask."""
