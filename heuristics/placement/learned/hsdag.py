"""`hsdag`: learn groups of operators and their devices by policy gradients ([HSDAG24]).

Operators are co-located (Appendix G), described by features (Section 2.3), embedded by a graph
convolutional network and grouped by the scores that edges are given; a perceptron draws a device
for each group, and REINFORCE with the buffered loss of Equation 14 trains all of it (Algorithm 1,
Table 6). The reward comes from the simulator that all heuristics share. The first placements are
those of a random policy.

As printed, where the text says how, although it is not always for the best:

- A step's weight is its own reward times gamma to the power of its number in the buffer, without a
  baseline: every placement that is seen becomes likelier, good ones a little more.
- Embeddings chain through the 20 steps of a buffer; the first step begins with the features again.
- Updates repeat with one buffer although the policy has moved (K_epochs).
- Convolution is along the edges' direction, and output shapes are features as they are.

Where the text is silent: gamma is 0.99; a position has 16 features; scores are trained through the
weight that nodes have in their group; a group's embedding is a mean; dropout leaves out edges when
groups are formed and nowhere else; distances for the fractal dimension ignore directions.
"""

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from boundmark.heuristics.placement.learned.graphs import FeatureChoice, FeatureLayout
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import InvalidInputError, quoted


@dataclass(frozen=True)
class HsdagSettings:
    """Hyper-parameters of training ([HSDAG24], Table 6)."""

    # Most placements that are simulated; Table 6 has 100 episodes of 20.
    evaluations: int
    # Placements between updates ("update_timestep").
    steps: int
    # Updates with each of these batches ("K_epochs").
    updates: int
    # Learning rate of Adam.
    learning_rate: float
    # Size of embeddings ("hidden_channel").
    hidden: int
    # Share of the edges that are left out, at random, when groups are formed ("dropout_network").
    dropped_edges: float
    # Gamma of Equation 14, which the paper leaves open.
    discount: float
    # Which features nodes have.
    types: bool
    structure: bool
    shapes: bool
    positions: bool
    # Whether extents of output shapes are features as they are, or their logarithms.
    raw_shapes: bool
    # Whether features have columns for any graph, so that a policy can place others, or for this
    # one only; a loaded policy keeps its own.
    shared_columns: bool
    # Files to start from and to keep the policy in; empty for none.
    load: str
    save: str
    # Whether there are updates; otherwise a loaded policy places as it is.
    train: bool

    def __post_init__(self) -> None:
        for name in ("evaluations", "steps", "updates", "hidden"):
            _check(name, getattr(self, name) >= 1, getattr(self, name), "at least 1")
        for name in ("dropped_edges", "discount"):
            value = getattr(self, name)
            _check(name, 0 <= value <= 1, value, "a number from 0 to 1")
        _check("learning_rate", self.learning_rate > 0, self.learning_rate, "a positive number")
        if not (self.types or self.structure or self.shapes or self.positions):
            raise InvalidInputError("all features are left out; expected at least one sort.")
        if not self.train and not self.load:
            raise InvalidInputError(
                "train is false and load is empty; expected a checkpoint to place with."
            )

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> "HsdagSettings":
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


Scores = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Parse:
    """A partition of the N nodes of a graph."""

    # The group of each node, shape (N,): the assignment matrix of Equation 10, a number per row.
    # Groups are numbered as Algorithm 2 finds them, those with the highest score first.
    group_of: IntArray
    # The edge that each node keeps, shape (N,); -1 for nodes without any.
    kept: IntArray

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.group_of.max()) + 1


def parse(nodes: int, edges: IntArray, scores: Scores) -> Parse:
    """Return the groups that follow from the scores of edges ([HSDAG24], Equations 9-11).

    Every node keeps the edge to the neighbour with the highest score, whichever way the edge
    points, and the components of these edges are the groups. Stages 1 and 2 of Algorithm 2 find the
    same: from the best edge that is left, a group grows along kept edges until nothing is added.
    Nodes without edges are groups of their own (stage 3). Edges are rows (source, target), shape
    (m, 2), without those that were dropped; of equal scores, in [0, 1], the first counts.
    """
    best = np.full(nodes, -1, dtype=np.int64)
    # The last one to be written stays, so the best one comes last.
    for edge in np.argsort(-scores, kind="stable")[::-1].tolist():
        best[edges[edge]] = edge
    return _grouped(nodes, edges, scores, best)


def _grouped(nodes: int, edges: IntArray, scores: Scores, kept: IntArray) -> Parse:
    used = np.unique(kept[kept >= 0])
    ends = edges[used].reshape(-1, 2)
    graph = csr_array((np.ones(len(used)), (ends[:, 0], ends[:, 1])), shape=(nodes, nodes))
    count, label = connected_components(graph, directed=False)
    # A group without edges has this score, below all others.
    highest = np.full(count, -1.0)
    np.maximum.at(highest, label[ends[:, 0]], scores[used])
    rank = np.empty(count, dtype=np.int64)
    rank[np.argsort(-highest, kind="stable")] = np.arange(count)
    return Parse(rank[label].astype(np.int64), kept)


CHECKPOINT_FORMAT = "boundmark-policy/1"

_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    RecursionError,
    zipfile.BadZipFile,
)


@dataclass(frozen=True)
class Checkpoint:
    """A trained policy."""

    # Name of the kind of policy, e.g. ``"hsdag"``.
    policy: str
    # Number of devices that it chooses among, in the order of the instance.
    devices: int
    # The columns of the features that it reads.
    layout: FeatureLayout
    # Arrays by name.
    parameters: Mapping[str, npt.NDArray[np.float32]]

    def save(self, path: Path) -> None:
        """Write the file, a ZIP archive of NumPy arrays."""
        head = {
            "format": CHECKPOINT_FORMAT,
            "policy": self.policy,
            "devices": self.devices,
            "layout": self.layout.to_json(),
        }
        arrays: dict[str, Any] = dict(self.parameters)
        try:
            with path.open("wb") as file:
                np.savez(file, head=np.array(json.dumps(head)), **arrays)
        except OSError as error:
            raise InvalidInputError(f"{path}: the policy cannot be written: {error}.") from error

    def require(self, policy: str, devices: int) -> None:
        """Check the kind of policy and the number of devices."""
        if self.policy != policy:
            raise InvalidInputError(
                f"the checkpoint holds a policy of {self.policy!r}; expected one of {policy!r}."
            )
        if self.devices != devices:
            raise InvalidInputError(
                f"the checkpoint's policy chooses among {self.devices} devices; the instance has "
                f"{devices}."
            )


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint that `Checkpoint.save` wrote."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        head = json.loads(str(arrays.pop("head")))
        return _checkpoint(head, arrays)
    except _UNREADABLE as error:
        raise InvalidInputError(
            f"{path}: cannot be read as a policy: {error}; expected a file that a learned method "
            "has saved."
        ) from error


def _checkpoint(head: Any, arrays: dict[str, Any]) -> Checkpoint:
    if head.get("format") != CHECKPOINT_FORMAT:
        raise InvalidInputError(
            f"format of the checkpoint is {quoted(head.get('format'))}; expected "
            f"{CHECKPOINT_FORMAT!r}."
        )
    layout = FeatureLayout.from_json(head["layout"])
    return Checkpoint(head["policy"], int(head["devices"]), layout, arrays)
