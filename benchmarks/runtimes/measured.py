"""What a runtime measured of a model, whichever runtime it was."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Measured:
    """Times of a model's operators, and of the model in one piece.

    Attributes
    ----------
    samples
        Nanoseconds of each operator in each run, by name.
    whole
        Nanoseconds of the whole model in each run, without clocks in between.
    eager_wall
        The same as its program launches it, where that is something else.
    unattributed
        Nanoseconds in each run that are part of no operator, if that is known.
    untimed
        Why operators have no time of their own, by name, a sentence each.
    failed
        Those of them that could not be timed at all, and have no samples.
    notes
        What else one has to know about the times, as sentences.
    """

    samples: Mapping[str, Sequence[int]]
    whole: Sequence[int] = ()
    eager_wall: Sequence[int] = ()
    unattributed: Sequence[int] = ()
    untimed: Mapping[str, str] = field(default_factory=dict)
    failed: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
