"""Operations, traffic and memory of a transformer's layers, from its weight matrices.

Arithmetic is 2 operations for each parameter of a matrix that a token meets, and 4 for each pair of
a token and one that it attends to, in each dimension of the heads; a causal prompt attends to half
of itself. Memory traffic is all parameters that are met, with their scales, the cache that is read
or written, and what passes between operations, in 16 bits. Each layer launches three operations:
projections, attention (or a recurrence), and the feed-forward network.

A layer keeps its parameters and, for each micro-batch in flight, its cache: keys and values of the
tokens that its window leaves, or a recurrence's state. In training, backward passes take twice the
arithmetic and traffic; each parameter keeps 16 bytes (mixed precision with Adam, [ZERO20], Section
3.1), and each token of a layer what `activation_bytes` says for the backward pass. Where the
forward pass runs again before it, a layer keeps its input only, and takes another forward pass.
Experts may be divided among replicas of the model, which exchange tokens twice in a pass.

Devices that work in parallel on each layer split its matrices and heads; results are summed up
over them once behind each attention and once behind the network ([MEGATRON21], Section 2.3), and
once behind the embedding. What each of them does whole counts once for each: a latent cache with
its projections, routers of experts, and tokens at full width, before and behind the matrices. Heads
of keys and values that are fewer than the devices are on several, with their projections.
Normalisations and biases, at most 1.5 thousandths of a published model's layer, count as split. In
training, activations are kept split, as with sequence parallelism ([KORTHIKANTI23], Section 4.2).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from boundmark.datasets.layers.blocks import (
    ACTIVATION_BYTES,
    Attention,
    Block,
    Matrix,
    Outer,
    Recurrence,
)
from boundmark.datasets.layers.families import ALIASES, FAMILIES
from boundmark.datasets.layers.kernel_tables import with_measured_seconds
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import LayerFacts, LayerModel, Operation, Workload
from boundmark.problems.layers.model import (
    DECODE,
    OPTIMIZER_BYTES,
    PARAMETER_BYTES,
    PREFILL,
    TRAINING,
    TRAINING_FACTOR,
    USUAL,
)

# Bits of a number in the cache if nobody says.
CACHE_BITS = 16

# Tokens of a sequence if nobody says.
USUAL_CONTEXT = 4096

# Recurrences in megatron/core/models/hybrid/hybrid_layer_allocation.py.
_LETTERS = {"mamba": "M", "mamba2": "M", "delta": "G"}


@dataclass(frozen=True)
class Totals:
    """The size of a model.

    Attributes
    ----------
    parameters, active
        All parameters, tied ones once; those without the experts that a token does not meet.
    size
        Bytes of all parameters as they are stored, tied ones once.
    cache
        Bytes of the cache for each further token of a long sequence; None if there is none.
    state
        Bytes of a sequence's cache that do not grow: windows that are full, states of recurrences.
    """

    parameters: int
    active: int
    size: int
    cache: int | None
    state: int


@dataclass(frozen=True, eq=False)
class Transformer(LayerModel):
    """An embedding, blocks, and scores of all words.

    Attributes
    ----------
    first, last
        Embedding and scores.
    is_tied
        Whether they share their parameters.
    dtype
        In which it computes.
    predicting
        Blocks behind the others that predict further words in training ([DEEPSEEK24], Section
        2.2); inference does without.
    cache_bits
        Bits of a number in the cache, if the model says; else 16.
    context
        Tokens of an input, if the model says; 0 if not.
    has_cache
        Whether it generates tokens one by one.
    kind
        What the file calls the architecture.
    coming
        How many layers the file has that predict further words, known here or not.
    beside
        Modules with parameters that are none of these, before the blocks and behind.
    """

    blocks: tuple[Block, ...]
    first: Outer
    last: Outer
    is_tied: bool
    dtype: str = "float16"
    predicting: tuple[Block, ...] = ()
    cache_bits: int = 0
    context: int = 0
    has_cache: bool = True
    kind: str = ""
    notes: tuple[str, ...] = ()
    coming: int = 0
    beside: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @property
    def pattern(self) -> tuple[str, ...]:
        """Each block in the letters of Megatron-LM's patterns; empty if these have none."""
        family = FAMILIES.get(ALIASES.get(self.kind, self.kind))
        recurrent = _LETTERS.get(family.recurrence, "") if family else ""
        found = [_in_letters(block, recurrent) for block in self.blocks]
        return () if "" in found else tuple(found)

    @property
    def outer(self) -> tuple[int, int]:
        """The embedding and the scores."""
        return (1, 1)

    def outer_in(self, workload: Workload) -> tuple[int, int]:
        """Return how many layers are before and behind the repeated ones in a phase."""
        return (1, 1 + len(self.predicting) * (workload.phase == TRAINING))

    def unused(self, workload: Workload) -> int:
        """Return how many layers that predict further words a phase does without."""
        return self.coming - len(self._predicting(workload))

    @cached_property
    def totals(self) -> Totals:
        """The size of the model for inference, as its file has it."""
        return self.totals_in(USUAL)

    def totals_in(self, workload: Workload) -> Totals:
        """Return the size of the model with the bits of a workload: the bytes that layers have."""
        ends = (self.first, self.last)
        blocks = (*self.blocks, *self._predicting(workload))
        outer = sum(one.parameters for one in ends) - self.last.multiplied * self.is_tied
        parts: tuple[Outer | Block, ...] = (*ends, *blocks)
        read = sum(round(_read(one.parameters, one.size, workload)) for one in parts)
        shared = _read(self.last.multiplied, self.last.matrix_size, workload) * self.is_tied
        again = [one for one in self.blocks if one.like >= 0]
        outer -= sum(one.common for one in again)
        shared += sum(_read(one.common, one.common_size, workload) for one in again)
        far, bits = 2**32, self._bits(workload)
        grown = fixed = 0.0
        for mixer in (one.mixer for one in blocks if one.mixer is not None):
            more = mixer.cached(far, 1, bits) - mixer.cached(far - 1, 1, bits)
            grown += more
            fixed += mixer.cached(far, 1, bits) - far * more
        return Totals(
            parameters=outer + sum(block.parameters for block in blocks),
            active=outer + sum(block.active_parameters for block in blocks),
            size=read - round(shared),
            cache=round(grown) if self.has_cache else None,
            state=round(fixed) if self.has_cache else 0,
        )

    def _predicting(self, workload: Workload) -> tuple[Block, ...]:
        return self.predicting if workload.phase == TRAINING else ()

    def _bits(self, workload: Workload) -> int:
        """Return the bits of a number in attention's cache."""
        return workload.cache_bits or self.cache_bits or CACHE_BITS

    def usual_workload(self) -> Workload:
        """Return one sequence of 4,096 tokens: decoded, or a prompt if the model is no decoder."""
        context = self.context or USUAL_CONTEXT
        return Workload(DECODE if self.has_cache else PREFILL, 1, 0 if self.context else context)

    def describe(self, workload: Workload = USUAL) -> dict[str, str]:
        """Return what people ask of a model: parameters, bytes, and the cache of a token."""
        totals = self.totals_in(workload)
        found = {"parameters": f"{totals.parameters / 1e9:,.3f} billion"}
        if any(one.copies > 1 for block in self.blocks for one in block.matrices):
            found["active"] = f"{totals.active / 1e9:,.3f} billion parameters for a token"
        found["layers"] = self._kinds()
        found["weights"] = f"{totals.size / 2**30:,.2f} GiB ({totals.size / 1e9:,.2f} GB)"
        if totals.cache is not None:
            found["KV cache"] = f"{totals.cache / 2**10:,.1f} KiB for each token of a sequence"
        if totals.state:
            bounded = f"{totals.state / 2**20:,.1f} MiB for each sequence, full windows and states"
            found["KV cache"] += f", and {bounded}"
        return found

    def _kinds(self) -> str:
        """Return how many blocks there are, and how many of them have what."""
        having: Counter[str] = Counter()
        for block in self.blocks:
            mixer = block.mixer
            if isinstance(mixer, Recurrence) or (mixer and mixer.beside):
                having["with a recurrence"] += 1
            if mixer is None:
                having["without attention"] += 1
            elif isinstance(mixer, Attention) and mixer.window:
                having[f"with a window of {mixer.window:,} tokens"] += 1
            elif isinstance(mixer, Attention) and mixer.latent:
                having["with a latent cache"] += 1
            experts = next((one for one in block.network if one.copies > 1), None)
            if experts:
                having[f"with {experts.active} of {experts.copies} experts for a token"] += 1
        return ", ".join([str(len(self.blocks)), *(f"{n} {what}" for what, n in having.items())])

    def layers(self, workload: Workload) -> tuple[LayerFacts, ...]:
        """Return the embedding, the blocks, and the scores."""
        workload.require(needs_context=not self.context)
        if workload.phase == DECODE and not self.has_cache:
            raise InvalidInputError(
                "phase is 'decode', and the model generates no tokens; expected prefill or "
                "training."
            )
        self._check_parallel(workload)
        context = workload.context or self.context
        tokens = workload.batch * (1 if workload.phase == DECODE else context)
        predicting = self._predicting(workload)
        found = [
            self._embedding(workload, tokens),
            *(self._block(one, workload, tokens, context) for one in (*self.blocks, *predicting)),
            self._scores(workload, tokens),
        ]
        if workload.measured_on:
            return with_measured_seconds(
                tuple(found),
                (self.first, self.last),
                self.blocks,
                workload,
                (context, tokens, self._scored(workload, tokens)),
            )
        return tuple(found)

    def tied(self, workload: Workload) -> tuple[tuple[int, int, int], ...]:
        """Return embedding and scores, and blocks, that share parameters."""
        blocks = tuple(
            (one.like + 1, at, _kept(one.common, one.common_size, workload))
            for at, one in enumerate(self.blocks, 1)
            if one.like >= 0
        )
        if not self.is_tied:
            return blocks
        last = len(self.blocks) + sum(self.outer_in(workload)) - 1
        shared = _kept(self.last.multiplied, self.last.matrix_size, workload)
        return ((0, last, shared), *blocks)

    def _scored(self, workload: Workload, tokens: int) -> int:
        """Return the number of tokens that are scored: only the last one of a prompt."""
        return workload.batch if workload.phase == PREFILL and self.has_cache else tokens

    def _check_parallel(self, workload: Workload) -> None:
        """Refuse numbers of parallel devices that heads do not divide into."""
        parallel = workload.tensor_parallel
        for block in self.blocks:
            mixer = block.mixer
            if parallel == 1 or not isinstance(mixer, Attention):
                continue
            if mixer.heads % parallel or max(mixer.shared, parallel) % min(mixer.shared, parallel):
                raise InvalidInputError(
                    f"tensor_parallel is {parallel}, and layer {block.name!r} has {mixer.heads} "
                    f"heads, {mixer.shared} of them with keys and values of their own; expected a "
                    "divisor of both, or of the heads and a multiple of the others."
                )

    def _embedding(self, workload: Workload, tokens: int) -> LayerFacts:
        """Return the embedding, whose rows are looked up."""
        times, ways = _passes(workload)
        one, through = self.first, tokens * self.blocks[0].width * ACTIVATION_BYTES
        # In training, its input of 16 bits ([KORTHIKANTI23], Section 4.3).
        held = through if workload.phase == TRAINING else 0
        return LayerFacts(
            one.name,
            # A row is read by the device that has it, and all write all of them.
            (Operation(0.0, times * (1.0 + workload.tensor_parallel) * through),),
            _kept(one.parameters, one.size, workload),
            held,
            ways * through,
            round(_read(one.parameters, one.size, workload)),
            reductions=ways,
            reduced=float(ways * through),
            gradients=one.parameters,
        )

    def _scores(self, workload: Workload, tokens: int) -> LayerFacts:
        """Return the scores, which multiply each scored token with all words."""
        times, ways = _passes(workload)
        one, width = self.last, self.blocks[-1].width
        tokens = self._scored(workload, tokens)
        through = tokens * width * ACTIVATION_BYTES
        read = _read(one.parameters, one.size, workload)
        parallel = workload.tensor_parallel
        operation = Operation(0.0, times * 2.0 * parallel * through)
        words = one.multiplied // width
        if one.multiplied:
            work = times * 2.0 * tokens * one.multiplied
            operation = Operation(work, times * (read + parallel * through), times * read)
        held = 0
        if workload.phase == TRAINING:
            # An input of 16 bits, and scores of 32 bits ([KORTHIKANTI23], Section 4.3).
            held = tokens * (ACTIVATION_BYTES * width + 4 * words)
        return LayerFacts(
            one.name,
            (operation,),
            _kept(one.parameters, one.size, workload),
            held,
            ways * through,
            round(read),
            reductions=ways,
            # Scores are gathered, which takes half as long as to sum them up.
            reduced=ways * tokens * words * ACTIVATION_BYTES / 2,
            gradients=one.parameters,
        )

    def _block(self, block: Block, workload: Workload, tokens: int, context: int) -> LayerFacts:
        times, ways = _passes(workload)
        through, parallel = tokens * ACTIVATION_BYTES, workload.tensor_parallel
        operations, held, reductions, mixer = [], 0.0, 0, block.mixer
        over = workload.experts_over
        again, live = workload.phase == TRAINING and workload.recomputes, 0.0
        times, passes = times + again, ways + again
        crossed = 2 if isinstance(mixer, Attention) and mixer.is_crossed else 1
        if block.projections:
            each = len(block.projections) // crossed
            # What the last ones of self- and cross-attention write is summed up over the devices.
            lanes = sum(
                one.outputs * (one.repeated(parallel) if at % each else parallel)
                for at, one in enumerate(block.projections, 1)
            )
            operations.append(_product(block.projections, tokens, lanes, workload))
            reductions += passes * crossed
        if mixer is not None:
            bits, is_decoding = self._bits(workload), workload.phase == DECODE
            operations.append(mixer.operation(workload.batch, context, is_decoding, parallel, bits))
            if workload.phase != TRAINING and self.has_cache:
                held = workload.batch * mixer.cached(context, parallel, bits)
        if block.network:
            lanes = parallel * block.width + block.lanes
            operations.append(_product(block.network, tokens, lanes, workload))
            reductions += passes
        experts = tuple(one for one in block.network if one.copies > 1)
        if workload.phase == TRAINING:
            held = activation_bytes(tokens, block.width, parallel, recomputes=again)
            live = activation_bytes(tokens, block.width, parallel) * again
        active = max((one.active for one in experts), default=0)
        return LayerFacts(
            block.name,
            tuple(Operation(*(times * value for value in one)) for one in operations),
            _block_kept(block, workload),
            math.ceil(held),
            # What a decoder hands on includes what its encoder has found.
            ways * through * (block.carried or block.width) * crossed,
            round(_read(block.parameters, block.size, workload)),
            reductions=reductions,
            reduced=float(reductions * through * block.width),
            experts=_product(experts, tokens, lanes, workload) if experts else None,
            expert_weights=sum(_kept(one.parameters, one.size, workload) for one in experts),
            expert_count=max((one.copies for one in experts), default=0),
            exchanges=2 * passes * bool(experts),
            exchanged=2.0 * passes * active * through * block.width,
            gradients=block.parameters
            - sum(one.parameters for one in experts) * (over - 1) // over,
            live=math.ceil(live),
        )


def activation_bytes(
    tokens: int, width: int, parallel: int, *, recomputes: bool = False,
    splits_tokens: bool = True, attention: float = 0.0,
) -> float:  # fmt: skip
    """Return the bytes of a layer for its backward pass, on all devices in parallel together.

    [KORTHIKANTI23], Equations 1, 2, 4 and 6; 34 bytes for each dimension of a token in 16 bits.

    Parameters
    ----------
    recomputes
        Whether only its input is kept.
    splits_tokens
        Whether normalisations and dropouts are split among the devices (sequence parallelism).
    attention
        Pairs of a token and one that it attends to, in all heads, for each dimension of a token,
        a s / h: where the matrix is kept, and not computed again.
    """
    whole, split = (0, 34) if splits_tokens else (10, 24)
    if recomputes:
        whole, split, attention = (0, 2, 0.0) if splits_tokens else (2, 0, 0.0)
    return tokens * width * (whole * parallel + split + 5 * attention)


def _product(matrices: Sequence[Matrix], tokens: int, lanes: int, workload: Workload) -> Operation:
    """Return the work and traffic of a token's matrices, with `lanes` dimensions in and out."""
    often = [one.repeated(workload.tensor_parallel) for one in matrices]
    read = math.fsum(
        _read(times * one.parameters, times * one.size, workload)
        * _met(one, tokens, workload)
        / max(1, one.size)
        for one, times in zip(matrices, often, strict=True)
    )
    work = 2.0 * tokens * sum(a * one.met for one, a in zip(matrices, often, strict=True))
    return Operation(work, read + 2 * ACTIVATION_BYTES * tokens * lanes, read)


def _met(matrix: Matrix, tokens: int, workload: Workload) -> float:
    """Return the bytes that are read of a matrix: of a replica's own experts, by all tokens."""
    over = workload.experts_over if matrix.copies > 1 else 1
    return matrix.read(over * tokens) / over


def _read(parameters: int, size: int, workload: Workload) -> float:
    """Return the bytes of parameters that a pass reads: as stored, unless the user says bits."""
    if workload.phase == TRAINING:
        return parameters * ACTIVATION_BYTES
    return parameters * workload.weight_bits / 8 if workload.weight_bits else size


def _block_kept(block: Block, workload: Workload) -> int:
    """Return the bytes that a layer keeps on the devices of a replica."""
    parameters, size = block.kept(workload.tensor_parallel)
    for one in block.network:
        if one.copies > 1:
            parameters, size = parameters - one.parameters, size - one.size
    experts = (one for one in block.network if one.copies > 1)
    return _kept(parameters, size, workload) + sum(
        _kept(one.parameters, one.size, workload, workload.experts_over) for one in experts
    )


def _kept(parameters: int, size: int, workload: Workload, over: int = 1) -> int:
    """Return the bytes of parameters, and in training of all that belongs to them.

    `over`: Among how many replicas they are divided. The states of their optimiser are divided
    among those that have the same.
    """
    if workload.phase == TRAINING:
        shared = max(over, workload.optimizer_over)
        return math.ceil(
            PARAMETER_BYTES * parameters / over + OPTIMIZER_BYTES * parameters / shared
        )
    return round(_read(parameters, size, workload) / over)


def _passes(workload: Workload) -> tuple[int, int]:
    """Return how many forward passes a pass counts as, and in how many directions tensors go."""
    return (TRAINING_FACTOR, 2) if workload.phase == TRAINING else (1, 1)


def _in_letters(block: Block, recurrent: str) -> str:
    """Return the mixer and the network of a block in letters; nothing if one has none."""
    mixer, found = block.mixer, ""
    if isinstance(mixer, Recurrence):
        found = recurrent or "?"
    elif mixer is not None:
        latent = "D" if mixer.chosen else "+"
        found = "?" if mixer.beside else latent if mixer.latent else "*"
    if block.network:
        found += "E" if any(one.copies > 1 for one in block.network) else "-"
    return "" if "?" in found or block.like >= 0 else found
