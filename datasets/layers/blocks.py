"""Parts of a transformer: weight matrices, attention and recurrences, blocks, and its ends."""

from dataclasses import dataclass

from boundmark.problems.layers import Operation

# Of what passes between operations, and of an unquantised parameter.
ACTIVATION_BYTES = 2


@dataclass(frozen=True)
class Matrix:
    """A weight matrix, or one for each of several experts.

    Attributes
    ----------
    name
        Its module within the layer, such as ``"self_attn.q_proj"``.
    inputs, outputs
        Dimensions of what it reads and writes.
    size
        Bytes of all copies as they are stored, scales and zero points included.
    copies, active
        How many experts have one, and how many of these a token meets.
    parts
        Over how many devices it can be split; more of them have copies. 0 for any number.
    biases
        Numbers that are added to the results of all copies; part of a block's vectors.
    """

    name: str
    inputs: int
    outputs: int
    size: int
    copies: int = 1
    active: int = 1
    parts: int = 0
    biases: int = 0

    @property
    def parameters(self) -> int:
        """Numbers in all copies."""
        return self.copies * self.inputs * self.outputs

    @property
    def met(self) -> int:
        """Numbers that a token meets."""
        return self.active * self.inputs * self.outputs

    def read(self, tokens: float) -> float:
        """Return the bytes that tokens read together if all experts are equally likely."""
        if self.copies == 1:
            return self.size
        missed = float(1 - self.active / self.copies) ** tokens
        return self.size * (1 - float(missed))

    def repeated(self, parallel: int) -> int:
        """Return how often devices that work in parallel have it, all of them together."""
        return max(1, parallel // self.parts) if self.parts else 1


@dataclass(frozen=True)
class Latent:
    """Attention with keys and values in a latent space, as in DeepSeek-V2.

    Attributes
    ----------
    rank, rotary
        Dimensions of a token in the cache.
    plain, value
        Dimensions of a head without positions, and of its values.
    """

    rank: int
    rotary: int
    plain: int
    value: int


@dataclass(frozen=True)
class Attention:
    """Softmax attention.

    Attributes
    ----------
    heads, shared
        Heads of queries, and of keys and values.
    key, value
        Dimensions of a head's keys and of its values.
    window
        Tokens that a token attends to at most; 0 for all.
    is_causal, is_crossed
        Whether tokens attend to earlier ones only; whether they attend to an encoder's, too.
    latent
        None for separate keys and values.
    has_own_cache
        Whether it keeps keys and values, instead of reading those of an earlier layer.
    bits
        How many a number in its cache takes, if that is fixed.
    """

    heads: int
    shared: int
    key: int
    value: int
    window: int = 0
    is_causal: bool = True
    is_crossed: bool = False
    latent: Latent | None = None
    has_own_cache: bool = True
    bits: int = 0

    def cached(self, context: int, parallel: int) -> int:
        """Return the numbers in a sequence's cache, on all devices that work in parallel."""
        seen = self.attended(context)
        if self.latent is not None:
            return parallel * seen * (self.latent.rank + self.latent.rotary)
        shared = max(self.shared, parallel)
        return seen * shared * (self.key + self.value) * (2 if self.is_crossed else 1)

    def attended(self, context: int) -> int:
        """Return the largest number of tokens that a token attends to."""
        return min(context, self.window) if self.window else context

    def operation(self, batch: int, context: int, is_decoding: bool, cached: float) -> Operation:
        """Return the work of scores and values, and the traffic with `cached` bytes of cache."""
        tokens, seen = batch * (1 if is_decoding else context), self.attended(context)
        pairs = float(tokens * seen)
        if self.is_causal and not is_decoding:
            # The first tokens of a prompt do not fill the window.
            pairs -= batch * seen * (seen - 1) / 2
        deep = (self.key + self.value) / 2
        if self.latent is not None:
            # Decoding multiplies with the latent space, which is as wide for every head.
            one = self.latent
            wide = (one.rank + one.rotary, one.plain + one.rotary)
            deep = wide[0] if is_decoding else wide[1]
        crossed = 2 if self.is_crossed else 1
        through = 2 * tokens * ACTIVATION_BYTES * self.heads * self.key
        return Operation(4.0 * pairs * self.heads * deep * crossed, batch * cached + through)


@dataclass(frozen=True)
class Recurrence:
    """A state-space layer, whose memory of a sequence does not grow.

    Attributes
    ----------
    state
        Numbers that it keeps for a sequence.
    work
        Operations for each token besides its matrices.
    bits
        How many a number in its state takes, whatever the cache of attention has.
    """

    state: int
    work: int
    bits: int = 16
    has_own_cache: bool = True

    def cached(self, context: int, parallel: int) -> int:
        """Return the numbers that it keeps for a sequence."""
        return self.state

    def operation(self, batch: int, context: int, is_decoding: bool, cached: float) -> Operation:
        """Return the work of a pass, and its traffic with `cached` bytes of state."""
        tokens = batch * (1 if is_decoding else context)
        return Operation(float(tokens * self.work), 2 * batch * cached)


@dataclass(frozen=True)
class Block:
    """One layer: attention or a recurrence, and a feed-forward network; either may be missing.

    Attributes
    ----------
    name
        As the model's own code calls it.
    width
        Dimensions of a token.
    mixer
        What makes tokens see each other; None for a layer without.
    projections, network
        Matrices around the mixer, the one behind it last; matrices of the network, likewise.
    lanes
        Dimensions within the network that a token meets.
    vectors
        Parameters of normalisations and biases.
    vector_size
        Bytes of these.
    """

    name: str
    width: int
    mixer: Attention | Recurrence | None
    projections: tuple[Matrix, ...]
    network: tuple[Matrix, ...]
    lanes: int
    vectors: int = 0
    vector_size: int = 0

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """All matrices."""
        return (*self.projections, *self.network)

    @property
    def parameters(self) -> int:
        """All parameters."""
        return sum(one.parameters for one in self.matrices) + self.vectors

    @property
    def active_parameters(self) -> int:
        """Parameters that a token meets."""
        return sum(one.met for one in self.matrices) + self.vectors

    @property
    def size(self) -> int:
        """Bytes of all parameters as they are stored."""
        return sum(one.size for one in self.matrices) + self.vector_size

    def kept(self, parallel: int) -> tuple[int, int]:
        """Return the parameters and bytes that devices in parallel have, all of them together."""
        more = [(one, one.repeated(parallel) - 1) for one in self.matrices]
        return (
            self.parameters + sum(times * one.parameters for one, times in more),
            self.size + sum(times * one.size for one, times in more),
        )


@dataclass(frozen=True)
class Outer:
    """What stands before or behind the blocks: an embedding, or scores of all words.

    Attributes
    ----------
    name
        As the model's own code calls it.
    multiplied
        Parameters of a matrix that each scored token is multiplied with; 0 if rows are looked up.
    parameters
        All of its parameters.
    size
        Bytes of these as they are stored.
    matrix_size
        Bytes of that matrix alone, which scores and an embedding may share.
    """

    name: str
    multiplied: int
    parameters: int
    size: int
    matrix_size: int = 0
