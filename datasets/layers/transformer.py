"""Operations, traffic and memory of a transformer's layers, from its dimensions.

Arithmetic is 2 operations for each parameter that a token meets, and 4 for each pair of a token and
one that it attends to, in each dimension of the heads; a causal prompt attends to half of itself.
Memory traffic is all parameters that are met, the cache that is read or written, and what passes
between operations, in 16 bits. Each layer launches three operations: projections, attention, and
the rest. In training, backward passes take twice the arithmetic and traffic; each parameter keeps
16 bytes (mixed precision with Adam, [ZERO20], Section 3.1), and each token of a layer 34 bytes per
dimension for the backward pass, without the attention matrix ([KORTHIKANTI23], Section 4, Equation
1).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import LayerFacts, LayerModel, Operation, Workload
from boundmark.problems.layers.model import DECODE, PREFILL, TRAINING, TRAINING_FACTOR

# Bytes of what passes between operations, and bits of the cache if nobody says.
ACTIVATION_BYTES = 2
CACHE_BITS = 16

ADAM_BYTES = 16
KEPT_BYTES = 34


@dataclass(frozen=True)
class Latent:
    """Attention with keys and values in a latent space, as in DeepSeek-V2.

    Attributes
    ----------
    rank, rotary
        Dimensions of a token in the cache.
    query_rank
        Dimensions that queries are compressed to; 0 if they are not.
    plain, value
        Dimensions of a head without positions, and of its values.
    """

    rank: int
    rotary: int
    query_rank: int
    plain: int
    value: int


@dataclass(frozen=True)
class Block:
    """One layer of attention and feed-forward network.

    Attributes
    ----------
    name
        As the model's own code calls it.
    width, heads, shared, head
        Dimensions of a token; heads of queries, and of keys and values; dimensions of a head.
    inner
        Dimensions within the feed-forward network, or within each expert.
    is_gated
        Whether the network has three matrices instead of two.
    experts, active, common
        Number of experts, 0 for a network without; those that a token meets; dimensions within the
        network that all tokens meet beside.
    window
        Tokens that a token attends to at most; 0 for all.
    is_causal, is_crossed
        Whether tokens attend to earlier ones only; whether they attend to an encoder's, too.
    latent
        None for attention with separate keys and values.
    """

    name: str
    width: int
    heads: int
    shared: int
    head: int
    inner: int
    is_gated: bool = True
    experts: int = 0
    active: int = 0
    common: int = 0
    window: int = 0
    is_causal: bool = True
    is_crossed: bool = False
    latent: Latent | None = None

    @property
    def attention_parameters(self) -> int:
        """Parameters of all projections around attention."""
        one = self.latent
        if one is None:
            own = 2 * self.width * self.head * (self.heads + self.shared)
            return own * (2 if self.is_crossed else 1)
        query = self.heads * (one.plain + one.rotary)
        queries = (
            self.width * one.query_rank + one.query_rank * query
            if one.query_rank
            else self.width * query
        )
        return (
            queries
            + self.width * (one.rank + one.rotary)
            + one.rank * self.heads * (one.plain + one.value)
            + self.heads * one.value * self.width
        )

    @property
    def expert_parameters(self) -> int:
        """Parameters of the feed-forward network, or of one expert."""
        return (3 if self.is_gated else 2) * self.width * self.inner

    @property
    def common_parameters(self) -> int:
        """Parameters of the router and of the shared experts."""
        return self.width * self.experts + (3 if self.is_gated else 2) * self.width * self.common

    @property
    def parameters(self) -> int:
        """All parameters; those of normalisations, some thousandths, are left out."""
        networks = max(1, self.experts) * self.expert_parameters
        return self.attention_parameters + self.common_parameters + networks

    @property
    def cache_entries(self) -> int:
        """Numbers in the cache for each token."""
        if self.latent is not None:
            return self.latent.rank + self.latent.rotary
        return 2 * self.shared * self.head

    def attended(self, context: int) -> int:
        """Return the largest number of tokens that a token attends to."""
        return min(context, self.window) if self.window else context

    def experts_met(self, tokens: int) -> float:
        """Return the mean number of experts that some token uses, if all are equally likely."""
        if not self.experts:
            return 1.0
        return self.experts * (1 - (1 - self.active / self.experts) ** tokens)


@dataclass(frozen=True, eq=False)
class Transformer(LayerModel):
    """An embedding, blocks, and scores of all words.

    Attributes
    ----------
    words
        Size of the vocabulary; 0 where there is none.
    first, last
        Names of embedding and scores.
    first_parameters, last_parameters
        Of both.
    is_tied
        Whether they share their parameters.
    bits
        Of a parameter.
    context
        Tokens of an input, if the model says; 0 if not.
    has_cache
        Whether it generates tokens one by one.
    sizes
        Bytes of the parameters of layers, by their number, where the file says.
    """

    blocks: tuple[Block, ...]
    first: str
    last: str
    first_parameters: int
    last_parameters: int
    is_tied: bool
    bits: float
    dtype: str = "float16"
    context: int = 0
    has_cache: bool = True
    sizes: Mapping[int, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def outer(self) -> tuple[int, int]:
        """The embedding and the scores."""
        return (1, 1)

    def layers(self, workload: Workload) -> tuple[LayerFacts, ...]:
        """Return the embedding, the blocks, and the scores."""
        workload.require(needs_context=not self.context)
        if workload.phase == DECODE and not self.has_cache:
            raise InvalidInputError(
                "phase is 'decode', and the model generates no tokens; expected prefill or "
                "training."
            )
        context = workload.context or self.context
        tokens = workload.batch * (1 if workload.phase == DECODE else context)
        width = self.blocks[0].width
        found = [self._outer(self.first, 0, workload, tokens, width)]
        for number, block in enumerate(self.blocks, 1):
            found.append(self._block(block, number, workload, tokens, context))
        last = len(self.blocks) + 1
        found.append(self._outer(self.last, last, workload, tokens, self.blocks[-1].width))
        if workload.measured_on:
            from boundmark.datasets.layers.kernel_tables import measured

            return measured(self, tuple(found), workload)
        return tuple(found)

    def tied(self, workload: Workload) -> tuple[tuple[int, int, int], ...]:
        """Return embedding and scores if they share parameters."""
        if not self.is_tied:
            return ()
        last = len(self.blocks) + 1
        shared = min(
            self._weights(0, self.first_parameters, workload),
            self._weights(last, self.last_parameters, workload),
        )
        return ((0, last, shared),)

    def scored(self, workload: Workload, tokens: int) -> int:
        """Return the number of tokens that are scored: only the last one of a prompt."""
        return workload.batch if workload.phase == PREFILL and self.has_cache else tokens

    def _weights(self, number: int, parameters: int, workload: Workload) -> int:
        """Return the bytes of a layer's parameters, and in training of all that belongs to them."""
        if workload.phase == TRAINING:
            return ADAM_BYTES * parameters
        return round(self._read(number, parameters, workload))

    def _read(self, number: int, parameters: float, workload: Workload) -> float:
        """Return the bytes of a layer's parameters that a pass reads."""
        if workload.phase == TRAINING:
            return parameters * ACTIVATION_BYTES
        if not workload.weight_bits and number in self.sizes:
            return self.sizes[number]
        return parameters * (workload.weight_bits or self.bits) / 8

    def _outer(
        self, name: str, number: int, workload: Workload, tokens: int, width: int
    ) -> LayerFacts:
        """Return embedding or scores: rows are looked up, or all are multiplied."""
        times, ways = _passes(workload)
        parameters = self.last_parameters if number else self.first_parameters
        if number:
            tokens = self.scored(workload, tokens)
        through = tokens * width * ACTIVATION_BYTES
        if number and parameters:
            read = self._read(number, parameters, workload)
            operation = Operation(times * 2.0 * tokens * parameters, times * (read + through))
        else:
            operation = Operation(0.0, times * 2.0 * through)
        held = 0
        if workload.phase == TRAINING:
            # An input of 16 bits, and scores of 32 bits ([KORTHIKANTI23], Section 4.3).
            scores = parameters // width if number else 0
            held = tokens * (ACTIVATION_BYTES * width + 4 * scores)
        weights = self._weights(number, parameters, workload)
        alone = round(self._read(number, parameters, workload))
        return LayerFacts(name, (operation,), weights, held, ways * through, alone)

    def _block(
        self, block: Block, number: int, workload: Workload, tokens: int, context: int
    ) -> LayerFacts:
        times, ways = _passes(workload)
        is_decoding = workload.phase == DECODE
        seen = block.attended(context)
        pairs = tokens * (seen if is_decoding or not block.is_causal else (seen + 1) / 2)
        # Keys and values in a latent space are as wide as there for all heads.
        deep = block.head if block.latent is None else block.latent.rank + block.latent.rotary
        if block.latent is not None and not is_decoding:
            deep = block.latent.plain + block.latent.rotary
        cache = block.cache_entries * (workload.cache_bits or CACHE_BITS) / 8
        share = self._read(number, 1.0 * block.parameters, workload) / block.parameters
        outside = block.attention_parameters
        met = block.experts_met(tokens) * block.expert_parameters + block.common_parameters
        each = max(1, block.active) if block.experts else 1
        multiplied = each * block.expert_parameters + block.common_parameters
        through = tokens * ACTIVATION_BYTES
        lanes = block.width + block.head * (block.heads + block.shared)
        projections = Operation(2.0 * tokens * outside, outside * share + 2 * through * lanes)
        entries = workload.batch * seen * cache
        crossed = 2 if block.is_crossed else 1
        attention = Operation(
            4.0 * pairs * block.heads * deep * crossed,
            entries * crossed + 2 * through * block.heads * block.head,
        )
        network = Operation(
            2.0 * tokens * multiplied,
            met * share + 2 * through * (block.width + each * block.inner + block.common),
        )
        weights = self._weights(number, block.parameters, workload)
        if workload.phase != TRAINING and self.has_cache:
            weights += round(entries * crossed)
        held = tokens * block.width * KEPT_BYTES if workload.phase == TRAINING else 0
        # What a decoder hands on includes what its encoder has found.
        output = ways * through * block.width * crossed
        operations = (projections, attention, network)
        return LayerFacts(
            block.name,
            tuple(Operation(times * one.flops, times * one.moved) for one in operations),
            weights,
            held,
            round(output),
            round(self._read(number, block.parameters, workload)),
        )


def _passes(workload: Workload) -> tuple[int, int]:
    """Return how many forward passes a pass counts as, and in how many directions tensors go."""
    return (TRAINING_FACTOR, 2) if workload.phase == TRAINING else (1, 1)
