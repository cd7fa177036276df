"""Limits on the searches of a certificate that producers have to know."""

# Of all searches of a certificate together; the rest of a check's steps is for breakpoints and
# their prices.
MOST_SEARCH_STEPS = 2**25

# Of down-sets of one size and the next, for a section of so many operators.
MOST_LEVEL_BYTES = 2**28


def set_steps(operators: int) -> int:
    """Return the extra steps to spend on operations with sets of so many operators."""
    return operators // 4096


def state_bytes(operators: int) -> int:
    """Return the bytes of a down-set of so many operators in a table."""
    return 400 + operators // 2
