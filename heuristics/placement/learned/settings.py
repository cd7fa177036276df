"""Hyper-parameters of HSDAG ([HSDAG24], Table 6) and of its variant."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from boundmark.heuristics.placement.learned.features import FeatureChoice
from boundmark.problems.errors import InvalidInputError


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters of training: all it depends on beside graph, seed and budget.

    Attributes
    ----------
    evaluations
        Most placements that are simulated; Table 6 has 100 episodes of 20.
    steps
        Placements between updates ("update_timestep").
    updates
        Updates with each of these batches ("K_epochs").
    learning_rate
        Of Adam.
    hidden
        Size of embeddings ("hidden_channel").
    dropped_edges
        Share of the edges that are left out, at random, when groups are formed ("dropout_network").
    discount
        Gamma of Equation 14, which the paper leaves open.
    entropy
        Weight of the entropy bonus, of the variant only.
    types, structure, shapes, positions
        Which features nodes have.
    raw_shapes
        Whether extents of output shapes are features as they are, or their logarithms.
    shared_columns
        Whether features have columns for whatever graph, so that a policy can place others, or for
        this one only; a loaded policy keeps its own.
    load, save
        Files to start from and to keep the policy in; empty for none.
    train
        Whether there are updates; otherwise a loaded policy places as it is.
    """

    evaluations: int
    steps: int
    updates: int
    learning_rate: float
    hidden: int
    dropped_edges: float
    types: bool
    structure: bool
    shapes: bool
    positions: bool
    raw_shapes: bool
    shared_columns: bool
    load: str
    save: str
    train: bool
    discount: float = 1.0
    entropy: float = 0.0

    def __post_init__(self) -> None:
        for name in ("evaluations", "steps", "updates", "hidden"):
            _check(name, getattr(self, name) >= 1, getattr(self, name), "at least 1")
        for name in ("dropped_edges", "discount"):
            value = getattr(self, name)
            _check(name, 0 <= value <= 1, value, "a number from 0 to 1")
        _check("learning_rate", self.learning_rate > 0, self.learning_rate, "a positive number")
        _check("entropy", self.entropy >= 0, self.entropy, "a number of at least 0")
        if not (self.types or self.structure or self.shapes or self.positions):
            raise InvalidInputError("all features are left out; expected at least one sort.")
        if not self.train and not self.load:
            raise InvalidInputError(
                "train is false and load is empty; expected a checkpoint to place with."
            )

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> "Settings":
        """Return the settings in a method's parameters; others are left out."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in params.items() if name in names})

    @property
    def features(self) -> FeatureChoice:
        """Which features nodes have."""
        return FeatureChoice(self.types, self.structure, self.shapes, self.positions)


def _check(name: str, is_right: bool, value: object, expected: str) -> None:
    if not is_right:
        raise InvalidInputError(f"{name} is {value!r}; expected {expected}.")
