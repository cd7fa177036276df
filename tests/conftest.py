"""Settings for all tests."""

from hypothesis import settings

# How long an example takes says nothing about correctness.
settings.register_profile("boundmark", deadline=None, print_blob=True)
settings.load_profile("boundmark")
