"""Details of one instance that a page unfolds: every task, its curve over time, and its files."""
