"""Numbers that producers have to know: what the searches of one certificate may take."""

# Of all searches of a certificate together; the rest of a check's steps is for prices and stops.
MOST_SEARCH_STEPS = 2**25

# Of down-sets of one size and the next, for a section of so many operators.
MOST_LEVEL_BYTES = 2**28


def set_steps(operators: int) -> int:
    """Return what a step spends on its down-sets, as numbers of so many bits."""
    return operators // 4096


def state_bytes(operators: int) -> int:
    """Return what a down-set of a section takes in a table."""
    return 400 + operators // 2
