"""Print the answers of each problem."""
