"""Settings for all tests."""

from hypothesis import settings

# How long an example takes says nothing about correctness. Examples are the same in every run, so
# that a commit is judged by what it changes; `nox -s properties` looks for new ones.
settings.register_profile("boundmark", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("search", deadline=None, print_blob=True, max_examples=500)
settings.load_profile("boundmark")
