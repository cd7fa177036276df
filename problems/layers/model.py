"""Models as chains of layers with operations, traffic and memory, before a device is chosen."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from boundmark.problems.errors import InvalidInputError

PREFILL, DECODE, TRAINING = "prefill", "decode", "training"
AS_GIVEN = "as-given"
PHASES = (AS_GIVEN, PREFILL, DECODE, TRAINING)

# A backward pass takes twice the arithmetic of a forward pass.
TRAINING_FACTOR = 3


@dataclass(frozen=True)
class Workload:
    """The workload of a model: those of its options that the user has given.

    Attributes
    ----------
    phase
        One of `PHASES`.
    batch
        Sequences of a micro-batch; 0 if nobody says.
    context
        Tokens of a sequence: all of them in prefill and training, those in the cache in decoding; 0
        if nobody says.
    weight_bits, cache_bits
        Bits of a parameter and of an entry of the cache; 0 for what the model's file says, and for
        16.
    measured_on
        Names of devices for which measured times are asked for; none for those of the roofline.
    pattern
        Regular expression of what operators of one layer have in their names, for graphs; empty for
        layers between places that a single tensor passes.
    tensor_parallel, smallest_tensor_parallel
        Over how many devices each layer is split: the most and the fewest of any type of devices.
    """

    phase: str = AS_GIVEN
    batch: int = 0
    context: int = 0
    weight_bits: int = 0
    cache_bits: int = 0
    measured_on: tuple[str, ...] = ()
    pattern: str = ""
    tensor_parallel: int = 1
    smallest_tensor_parallel: int = 1

    def require(self, needs_context: bool = True) -> None:
        """Refuse a workload without an option that a transformer's costs depend on.

        Raises
        ------
        InvalidInputError
            For the first of phase, batch and context that is missing.
        """
        if self.phase == AS_GIVEN:
            raise InvalidInputError(
                "phase is not given; expected prefill, decode or training for a model's "
                "configuration."
            )
        if self.batch == 0:
            raise InvalidInputError("batch is not given; expected the sequences of a micro-batch.")
        if self.context == 0 and needs_context:
            raise InvalidInputError("context is not given; expected the tokens of a sequence.")


class Operation(NamedTuple):
    """Arithmetic operations, and bytes read and written, of something that is launched."""

    flops: float
    moved: float


@dataclass(frozen=True)
class LayerFacts:
    """The operations, traffic and memory of a layer in one pass.

    Attributes
    ----------
    operations
        One after another.
    weights
        Bytes that stay: parameters, state of an optimiser, cache.
    held
        Bytes for each micro-batch in flight.
    output
        Bytes that go to the next layer, in all directions together.
    parameters
        Bytes of its parameters alone, as a tool that loads it counts them.
    seconds
        By name of a device: measured times, which count instead of operations.
    operators
        Names of a graph's operators in it, for devices with measured times of operators.
    reductions
        All-reduces of a pass, if the layer is split over several devices (tensor parallelism).
    reduced
        Bytes of the tensors that they add up, all of them together.
    """

    name: str
    operations: tuple[Operation, ...]
    weights: int
    held: int
    output: int
    parameters: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    operators: tuple[str, ...] = ()
    reductions: int = 0
    reduced: float = 0.0


class LayerModel(ABC):
    """A model, as read from a file, whose layers depend on the workload.

    Attributes
    ----------
    dtype
        In which it computes.
    notes
        What was taken for granted, as sentences.
    """

    dtype: str = "float16"
    notes: tuple[str, ...] = ()

    @property
    def has_times(self) -> bool:
        """Whether its layers come with times on devices."""
        return False

    @property
    def outer(self) -> tuple[int, int]:
        """The number of layers before and after the repeated ones."""
        return (0, 0)

    def outer_in(self, workload: Workload) -> tuple[int, int]:
        """Return the same for a workload, if it depends on one."""
        return self.outer

    def usual_workload(self) -> Workload | None:
        """Return what is taken of the workload where nobody says; None if it has its own."""
        return None

    def describe(self) -> dict[str, str]:
        """Return what people ask of the model before they run it, in words; may be empty."""
        return {}

    @abstractmethod
    def layers(self, workload: Workload) -> tuple[LayerFacts, ...]:
        """Return the layers in their order.

        Raises
        ------
        InvalidInputError
            If the workload leaves something open, or the model cannot do it.
        """

    def tied(self, workload: Workload) -> tuple[tuple[int, int, int], ...]:
        """Return pairs of layers that share parameters, with the number of bytes."""
        return ()

    def joined(self) -> tuple[int, ...]:
        """Return the layers that have to share a stage with the layer before them."""
        return ()
