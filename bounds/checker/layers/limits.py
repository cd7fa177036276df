"""Limits on instances that producers have to know."""

MOST_LAYERS = 2**14
MOST_DEVICES = 2**10
MOST_PRICE = 2**60
MOST_STEPS = 2**20
