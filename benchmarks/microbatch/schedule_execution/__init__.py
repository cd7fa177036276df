"""A small network trained by processes that follow the instruction lists of a schedule.

This shows that lists are right where it counts: nobody waits for ever, blocks run in the order and
only after what they wait for, and the gradients are those of a single process.
"""
