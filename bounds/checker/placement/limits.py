"""Limits on the searches of `series` that producers have to know."""

# Operators, tensors' consumers and intervals in between, and devices.
MOST_MODULE_OPERATORS = 128
MOST_MODULE_ARCS = 512
MOST_MODULE_DEVICES = 16

# From so many devices on, a step of a search takes longer and is spent several times.
DEVICES_OF_A_STEP = 5

# Steps of all searches of a certificate; the rest of a check's steps is for the intervals.
MOST_SEARCH_STEPS = 3 * 2**24


def step_price(devices: int) -> int:
    """Return how many steps of a check a step of a search counts for."""
    return max(1, devices // DEVICES_OF_A_STEP)
