"""Parts of a transformer: weight matrices, attention and recurrences, blocks, and its ends."""

from dataclasses import dataclass, replace

from boundmark.problems.layers import Operation

# Bytes of a number that passes between operations, and of an unquantised parameter.
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
    chosen, index_heads, index_head
        Tokens that a token attends to of all that it sees, 0 for all of these; and heads and their
        dimensions of what chooses them, which keeps one key for each token (DeepSeek-V3.2).
    beside
        A recurrence that reads the same tokens.
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
    chosen: int = 0
    index_heads: int = 0
    index_head: int = 0
    beside: "Recurrence | None" = None

    def cached(self, context: int, parallel: int, bits: int) -> float:
        """Return the bytes in a sequence's cache, on all devices that work in parallel."""
        own = self.beside.cached(context, parallel, bits) if self.beside else 0
        if not self.has_own_cache:
            return own
        seen = self.attended(context)
        return own + (self._kept(seen, parallel) + parallel * seen * self.index_head) * bits / 8

    def _kept(self, seen: int, parallel: int) -> int:
        """Return the numbers that are kept of some tokens, without keys of an index."""
        if self.latent is not None:
            return parallel * seen * (self.latent.rank + self.latent.rotary)
        shared = max(self.shared, parallel)
        return seen * shared * (self.key + self.value) * (2 if self.is_crossed else 1)

    def attended(self, context: int) -> int:
        """Return the largest number of tokens that a token sees."""
        return min(context, self.window) if self.window else context

    def operation(
        self, batch: int, context: int, is_decoding: bool, parallel: int, bits: int
    ) -> Operation:
        """Return the work of scores and values, and the traffic with the cache."""
        tokens, seen = batch * (1 if is_decoding else context), self.attended(context)
        attended = min(seen, self.chosen) if self.chosen else seen
        deep = (self.key + self.value) / 2
        if self.latent is not None:
            # Decoding multiplies with the latent space, which is as wide for every head.
            one = self.latent
            wide = (one.rank + one.rotary, one.plain + one.rotary)
            deep = wide[0] if is_decoding else wide[1]

        def pairs(most: int) -> float:
            # The first tokens of a prompt do not fill the window.
            early = batch * most * (most - 1) / 2 if self.is_causal and not is_decoding else 0
            return float(tokens * most) - early

        crossed = 2 if self.is_crossed else 1
        work = 4.0 * pairs(attended) * self.heads * deep * crossed
        work += 2.0 * pairs(seen) * self.index_heads * self.index_head
        cached = replace(self, has_own_cache=True).cached(context, parallel, bits)
        if is_decoding:
            cached -= (self._kept(seen, parallel) - self._kept(attended, parallel)) * bits / 8
        through = 2 * tokens * ACTIVATION_BYTES * self.heads * self.key
        own = Operation(work, batch * cached + through)
        if self.beside is None:
            return own
        # `cached` counts one of what it reads and writes already.
        more = self.beside.operation(batch, context, is_decoding, parallel, bits)
        return Operation(own.flops + more.flops, own.moved + more.moved / 2)


@dataclass(frozen=True)
class Recurrence:
    """A state-space layer, linear attention or a convolution, whose memory does not grow.

    Attributes
    ----------
    memory
        Numbers that it keeps for a sequence.
    channels, taps
        Size of the convolution before it: it keeps all but one of its tokens in all channels.
    bits, window_bits
        How many these numbers take, whatever the cache of attention has.
    """

    memory: int
    channels: int = 0
    taps: int = 1
    bits: int = 32
    window_bits: int = 16

    def cached(self, context: int, parallel: int, bits: int) -> float:
        """Return the bytes that it keeps for a sequence."""
        window = self.channels * (self.taps - 1)
        return (self.memory * self.bits + window * self.window_bits) / 8

    def operation(
        self, batch: int, context: int, is_decoding: bool, parallel: int, bits: int
    ) -> Operation:
        """Return the work of a pass, and its traffic with what it keeps."""
        tokens = batch * (1 if is_decoding else context)
        # A decay, a product and a sum for each number, once to write and once to read.
        work = 6 * self.memory + 2 * self.channels * self.taps
        return Operation(float(tokens * work), 2 * batch * self.cached(context, parallel, bits))


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
    carried
        Dimensions of a token that pass to the next block; 0 if these are as many as its width.
    like, common, common_size
        The earlier block that has some of the same parameters, -1 for none; how many these are, and
        their bytes.
    """

    name: str
    width: int
    mixer: Attention | Recurrence | None
    projections: tuple[Matrix, ...]
    network: tuple[Matrix, ...]
    lanes: int
    vectors: int = 0
    vector_size: int = 0
    carried: int = 0
    like: int = -1
    common: int = 0
    common_size: int = 0

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
    """A layer before or behind the blocks: an embedding, or scores of all words.

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
