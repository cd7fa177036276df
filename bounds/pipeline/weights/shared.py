"""Weights and heavy sets that methods hand to each other: `packing` and `cut-tree`.

Both solve about the same linear program, for a quarter of their time. A method that finds the
weights of another begins near the threshold that those are for, and with sets that bound them.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from boundmark.problems.pipeline import Partition


@dataclass(frozen=True, eq=False)
class Found:
    """Weights that a method has found.

    Attributes
    ----------
    threshold
        About the largest threshold that they refute.
    weights
        Of nodes, shape (n,).
    sets
        Sets of nodes that are heavy under them, as bits, heaviest first: a stage's nodes, connected
        or not.
    """

    threshold: int
    weights: npt.NDArray[np.float64]
    sets: tuple[int, ...]


@dataclass(eq=False)
class SharedWeights:
    """What methods on one instance have found; each reads it when it begins.

    Attributes
    ----------
    start
        A good partition, whose stages weights have to reckon with.
    most_sets
        Number of sets that a method hands over, at most.
    """

    start: Partition | None = None
    most_sets: int = 3_000
    _found: dict[bool, Found] = field(default_factory=dict)

    def tell(self, is_loaded: bool, found: Found) -> None:
        """Hand over weights and the first of their sets, which are the heaviest.

        Parameters
        ----------
        is_loaded
            Whether parameters count as work, as they do in `tensors.loaded`.
        """
        self._found[is_loaded] = replace(found, sets=found.sets[: self.most_sets])

    def found(self, is_loaded: bool) -> Found | None:
        """Return what another method has found; None if nothing."""
        return self._found.get(is_loaded)
