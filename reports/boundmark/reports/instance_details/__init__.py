"""What a page unfolds of one instance: every task, its curve over time, and the files behind it."""
