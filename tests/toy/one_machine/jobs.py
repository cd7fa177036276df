"""The data set `jobs`: random ones by seed."""

import random

from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import UnknownNameError
from one_machine.problem import JobSet


def load(member: str) -> JobSet:
    """Return eight jobs, drawn with the seed in a name such as ``"random-3"``."""
    kind, _, seed = member.partition("-")
    if kind != "random" or not seed.isdecimal():
        raise UnknownNameError(f"there are no jobs {member!r}; expected random-SEED.")
    generator = random.Random(int(seed))
    rows = [[1 + int(most * generator.random()) for _ in range(8)] for most in (99, 20, 99)]
    return JobSet(*map(tuple, rows))


DATASET = Dataset(
    name="jobs",
    source=JobSet,
    summary="Eight random jobs, any seed.",
    members=lambda: ("random-1", "random-2", "random-3"),
    load=load,
)
