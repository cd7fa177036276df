"""Branch and bound at a fixed threshold, whose every leaf is a linear inequality to be checked."""
