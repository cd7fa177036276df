"""Plans to start from, and the best one so far."""
