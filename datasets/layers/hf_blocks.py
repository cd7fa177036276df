"""Blocks of a Hugging Face configuration: attention, networks, experts and windows of each layer.

What families call the same thing is listed where it is read; `families` has what else differs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from boundmark.datasets.json_fields import Fields, an_object
from boundmark.datasets.layers.blocks import Attention, Block, Latent, Matrix, Recurrence
from boundmark.datasets.layers.families import (
    ALIASES,
    ATTENDING,
    BESIDE,
    BOTH,
    CHUNKED,
    EXPERTS,
    NETWORK_ONLY,
    QUERY_NORM,
    RECURRENT,
    SLIDING,
    SPARSE,
    TOWERS,
    USUAL_TOWERS,
    USUALLY_BESIDE,
    WINDOWS,
    Family,
    Names,
)
from boundmark.datasets.layers.quantisation import EXPERT, LINEAR, Quantisation, read_quantisation
from boundmark.datasets.layers.recurrences import MIXERS
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.chain import MOST_LAYERS

MOST = 2**31
MOST_EXPERTS = 2**16

ELEMENT_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4}

# Fields of activations, and those without parameters of their own (transformers, activations.py).
ACTIVATION_FIELDS = (
    "hidden_act", "hidden_activation", "activation_function", "activation", "mlp_hidden_act",
    "hidden_activation_function", "act_fn", "ffn_act_fn",
)  # fmt: skip
# Names of dimensions within a network.
INNER = (
    "intermediate_size", "block_ff_dim", "ffn_dim", "n_inner", "ffn_hidden_size", "hidden_dim",
)  # fmt: skip
ACTIVATIONS = frozenset((
    "gelu", "gelu_10", "gelu_accurate", "gelu_fast", "gelu_new", "gelu_python",
    "gelu_python_tanh", "gelu_pytorch_tanh", "hardswish", "laplace", "leaky_relu", "linear",
    "mish", "quick_gelu", "relu", "relu2", "relu6", "sigmoid", "silu", "sqrelu", "swish", "tanh",
))  # fmt: skip

# What lists and patterns call the layers; those with a window by the field with its size.
KINDS = {
    "full_attention": ATTENDING, "attention": ATTENDING, "indexed_attention": ATTENDING,
    "*": ATTENDING, "sliding_attention": SLIDING, "chunked_attention": CHUNKED,
    "linear_attention": RECURRENT,
    "mamba": RECURRENT, "M": RECURRENT, "conv": RECURRENT, "recurrent": RECURRENT,
    "hybrid": BOTH, "mlp": NETWORK_ONLY, "-": NETWORK_ONLY, "moe": SPARSE, "E": SPARSE,
}  # fmt: skip

TABLE_HINT = (
    "a table of layers (.csv) with a row for each layer and the columns "
    "layer,weights,held,output,flops,bytes, which docs/files.md describes"
)


SHARED_CACHE = (
    "the last {} layers read the cache of earlier ones; a copy of it, where these are on another "
    "device, is not counted"
)


class BlockReader:
    """Reads the layers of a configuration, one by one.

    Attributes
    ----------
    notes
        What was taken for granted, as sentences.
    """

    def __init__(
        self, fields: Fields, family: Family, kind: str, is_nested: bool = False, whole: str = ""
    ) -> None:
        self.fields, self.family, self.kind, self.whole = fields, family, kind, whole
        self.notes: list[str] = []
        # These say nothing where all layers have experts, or none has a network.
        fields.skip(*family.ignored, *INNER, "intermediate_size_mlp")
        self.is_nested = is_nested
        self.names = self._names()
        self.biased = set(family.biases)
        for field, (usual, own) in family.switches.items():
            self.biased |= set(own) if fields.flag(field, default=usual) else set()
        self.norms, self.last_norms = self._norms()
        self.learnt = self._activation()
        self.dtype, self.quantised = self._dtype()
        self.element = ELEMENT_BYTES[self.dtype]
        self.width = self.size("hidden_size", "n_embd", "n_embed", "d_model", "dim")
        self.layers = self.size(
            "num_hidden_layers", "n_layer", "num_layers", "n_layers", high=MOST_LAYERS - 2,
            # Today's class of Nemotron-H counts its list.
            default=len(fields.texts("layers_block_type")) or None,
        )  # fmt: skip
        self.kinds = self._kinds()
        recurs = RECURRENT in self.kinds or BOTH in self.kinds
        self.heads = self.size(
            "num_attention_heads", "n_head", "num_heads", "n_heads", default=1 if recurs else None
        )
        self.head = self.size(
            "head_dim",
            "attention_head_dim",
            "kv_channels",
            default=max(1, self.width // self.heads),
        )
        self.shared = self._shared()
        self.experts = self.size(
            "num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts",
            low=0, high=MOST_EXPERTS, default=0,
        )  # fmt: skip
        self.windows = self._windows()
        self.streams = self.size("altup_num_inputs", high=1024, default=1)
        self.inputs = self.layers * self.size("hidden_size_per_layer_input", low=0, default=0)
        self.reading = self.size("num_kv_shared_layers", low=0, high=self.layers - 1, default=0)
        if self.reading:
            self.notes.append(SHARED_CACHE.format(self.reading))
        if self.quantised:
            self.quantised.check(self.layers)

    def _names(self) -> Names:
        """Return what modules are called, within a model for images, too."""
        names = self.family.names
        if not self.is_nested and "_vl" not in self.kind:
            return names
        inner, older = names.nested, "language_model.model."
        return replace(
            names, blocks=names.blocks.replace("model.", inner, 1),
            embedding=names.embedding.replace("model.", inner, 1),
            scores=inner.removesuffix("model.") * (inner == older) + names.scores,
            older={**names.older, **({inner: older} if inner != older else {})},
        )  # fmt: skip

    def beside(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return modules with parameters that are in no layer, before the blocks and behind."""
        first, last = BESIDE.get(ALIASES.get(self.kind, self.kind), USUALLY_BESIDE)
        if self.names is self.family.names:
            return first, last
        inner = self.names.nested
        first, last = (tuple(x.replace("model.", inner, 1) for x in one) for one in (first, last))
        return TOWERS.get(self.whole, USUAL_TOWERS) + first, last

    def _norms(self) -> tuple[int, int]:
        """Return how many vectors normalise in a block, and behind the last one."""
        found = self.family.norms, self.family.last_norms
        for field, by_value in self.family.norms_by.items():
            value = self.fields.value(field)
            if value is not None and (type(value) not in (bool, int)):
                raise InvalidInputError(
                    f"{field} is {quoted(value)}; expected {' or '.join(map(str, by_value))}."
                )
            found = by_value.get(value, found)
        return found

    def _activation(self) -> int:
        """Return how many parameters a block's activation has; one that is unknown is refused."""
        for field in ACTIVATION_FIELDS:
            value = self.fields.value(field)
            if value is None:
                continue
            if isinstance(value, str) and value in self.family.activations:
                return self.family.activations[value]
            if not isinstance(value, str) or value not in ACTIVATIONS:
                raise InvalidInputError(
                    f"{field} is {quoted(value)}, which may have parameters, or may need another "
                    f"matrix; expected one of {', '.join(sorted(ACTIVATIONS))}, or {TABLE_HINT}."
                )
        return 0

    def size(self, *names: str, low: int = 1, high: int = MOST, default: int | None = None) -> int:
        """Return a dimension; in a nested configuration, what is left out has a default."""
        known = next((name for name in names if name in self.family.defaults), None)
        if known and self.is_nested and not any(map(self.fields.has, names)):
            value = self.family.defaults[known]
            if value is not None:
                note = f"{known} is left out; {value:,} is taken, as {self.kind} has it"
                self.notes += [note] if note not in self.notes else []
                return value
        return self.fields.integer(*names, low=low, high=high, default=default)

    def _dtype(self) -> tuple[str, Quantisation | None]:
        """Return in what a model computes, and how its weights are stored."""
        dtype = self.fields.value("torch_dtype", "dtype")
        if dtype is None:
            dtype = "bfloat16" if self.fields.has("quantization_config") else "float16"
            self.notes.append(f"there is no torch_dtype; {dtype} is taken")
        if not isinstance(dtype, str) or dtype not in ELEMENT_BYTES:
            raise InvalidInputError(
                f"torch_dtype is {quoted(dtype)}; expected one of {', '.join(ELEMENT_BYTES)}."
            )
        document = self.fields.object("quantization_config", "compression_config")
        if document is None:
            return dtype, None
        quantised, unused = read_quantisation(document)
        if unused:
            self.notes.append(f"not used: {', '.join(unused)}")
        self.notes.append(
            f"weights are stored by {quantised.method}, and multiplied at the rate of {dtype}"
        )
        return dtype, quantised

    def _shared(self) -> int:
        if self.fields.has("multi_query") and not self.fields.flag("new_decoder_architecture"):
            self.fields.skip("num_kv_heads", "n_head_kv", "num_key_value_heads")
            return 1 if self.fields.flag("multi_query") else self.heads
        if not self.fields.flag("multi_query_attention", default=True):
            return self.heads
        shared = self.size(
            "num_key_value_heads",
            "num_kv_heads",
            "n_head_kv",
            "multi_query_group_num",
            default=self.heads,
            high=self.heads,
        )
        if self.heads % shared:
            raise InvalidInputError(
                f"num_key_value_heads is {shared}; expected a divisor of the {self.heads} heads."
            )
        return shared

    def _inner(self, at: int) -> int:
        """Return the dimensions within a layer's network, or within its experts."""
        if self.kind == "llama4_text":
            # The dense layers' own; that of experts is another field.
            return self.size("intermediate_size_mlp")
        is_old = not self.family.is_gated and self.family.has_cache
        if self.fields.flag("use_double_wide_mlp") and at >= self.layers - self.reading:
            return 2 * self._of_layer(at, *INNER)
        inner = self._of_layer(
            at, *INNER, default=int(self.family.inner_default * self.width) if is_old else None
        )
        if self.fields.flag("block_auto_adjust_ff_dim", default=self.family.inner_share != 1):
            share = self.fields.number("block_ffn_dim_multiplier", low=0.001, high=1e3, default=1)
            step = self.size("block_multiple_of", default=1)
            return -(-int(share * int(self.family.inner_share * inner)) // step) * step
        return inner

    def _of_layer(
        self, at: int, *names: str, low: int = 1, high: int = MOST, default: int | None = None
    ) -> int:
        """Return a dimension, which may be a list with one for each layer."""
        value = self.fields.value(*names)
        if not isinstance(value, list):
            return self.size(*names, low=low, high=high, default=default)
        name = next(filter(self.fields.has, names))
        self._check_entries(name, value)
        return Fields({name: value[at]}).integer(name, low=low, high=high)

    def _kinds(self) -> Sequence[str]:
        """Return what each layer has, by any of the lists and patterns that exist."""
        fields, count, own = self.fields, self.layers, self.family.kinds
        if self.family.recurrence:
            # Where a list says it, too, these are not asked.
            fields.skip("full_attention_interval", "full_attn_idxs", "attn_layer_indices")
        for name in ("layer_types", "layers_block_type", "hybrid_override_pattern", "block_types"):
            if not fields.has(name):
                continue
            is_text = isinstance(fields.document[name], str)
            listed = tuple(fields.text(name)) if is_text else fields.texts(name)
            if name == "block_types":
                listed = tuple(listed[at % len(listed)] for at in range(count)) if listed else ()
            if listed:
                return self._listed(name, listed)
        chosen: Sequence[int] | None = None
        if fields.has("attn_type_list"):
            types = fields.integers("attn_type_list", low=0, high=1)
            self._check_entries("attn_type_list", types)
            chosen = [at for at, one in enumerate(types) if one]
        elif self.family.recurrence:
            inside = fields.object("linear_attn_config") or {}
            if inside:
                whole = Fields(inside, "linear_attn_config.").integers(
                    "full_attn_layers", low=1, high=count
                )
                chosen = [at - 1 for at in whole]
            for name in ("full_attn_idxs", "attn_layer_indices"):
                if fields.has(name):
                    chosen = fields.integers(name, low=0, high=count - 1)
            if fields.has("full_attention_interval"):
                every = self.size("full_attention_interval")
                chosen = range(every - 1, count, every)
            if fields.has("attn_layer_period"):
                period = self.size("attn_layer_period")
                offset = self.size("attn_layer_offset", low=0, default=0)
                chosen = range(offset % period, count, period)
        if chosen is None:
            return [own[at % len(own)] for at in range(count)]
        if not self.family.recurrence and len(set(chosen)) < count:
            raise InvalidInputError(
                f"attn_type_list has layers without attention, which {quoted(self.kind)} has not; "
                f"expected 1 for each, or {TABLE_HINT}."
            )
        full = set(chosen)
        return [ATTENDING if at in full else RECURRENT for at in range(count)]

    def _listed(self, name: str, listed: Sequence[str]) -> Sequence[str]:
        """Return the kinds that a list calls by names, or a pattern by letters."""
        recurring = () if self.family.recurrence else (RECURRENT, BOTH)
        single = () if self.family.is_single else (NETWORK_ONLY, SPARSE)
        known = {one: kind for one, kind in KINDS.items() if kind not in (*recurring, *single)}
        for one in listed:
            if one not in known:
                raise InvalidInputError(
                    f"{name} has {quoted(one)}; expected {', '.join(known)}, or {TABLE_HINT}."
                )
            if known[one] in WINDOWS and not self.fields.has(known[one]):
                raise InvalidInputError(
                    f"{name} has {quoted(one)}, and the size of its window is missing; "
                    f"expected {known[one]}."
                )
        self._check_entries(name, listed)
        return [known[one] for one in listed]

    def _check_entries(self, name: str, listed: Sequence[Any]) -> None:
        if len(listed) != self.layers:
            raise InvalidInputError(
                f"{name} has {len(listed)} entries; expected one for each of {self.layers} layers."
            )

    def _windows(self) -> Sequence[int]:
        """Return the window of each layer, 0 for none."""
        fields, count = self.fields, self.layers
        size = self.size("sliding_window", "attention_window_size", low=0, default=0)
        chunk = self.size("attention_chunk_size", low=0, default=0)
        is_used = fields.flag("use_sliding_window", default=self.family.window_default)
        after = fields.integer("max_window_layers", low=0, high=MOST, default=0)
        pattern = fields.value("sliding_window_pattern", "_sliding_window_pattern")
        sees_all = fields.integers("no_rope_layers", low=0, high=1)
        if fields.has("layer_types"):
            sizes = {SLIDING: size, CHUNKED: chunk}
            return [sizes.get(kind, 0) for kind in self.kinds]
        pattern_of_kinds = fields.integers("hybrid_layer_pattern", low=0, high=1)
        if pattern_of_kinds:
            self._check_entries("hybrid_layer_pattern", pattern_of_kinds)
            return [size if one else 0 for one in pattern_of_kinds]
        if sees_all and chunk:
            return [chunk if one else 0 for one in sees_all]
        size = size or chunk
        # A window as long as all positions is none.
        longest = fields.value("max_position_embeddings")
        is_used &= not (type(longest) is int and 0 < longest <= size)
        if not size or not is_used:
            return [0] * count
        if isinstance(pattern, str) and pattern and set(pattern) <= {"L", "G"}:
            return [size if pattern[at % len(pattern)] == "L" else 0 for at in range(count)]
        if pattern is not None and (type(pattern) is not int or not 0 < pattern < MOST):
            raise InvalidInputError(
                f"sliding_window_pattern is {quoted(pattern)}; expected a positive integer, or "
                "letters L and G."
            )
        if not self.family.window_default:
            return [size if at >= after else 0 for at in range(count)]
        every = pattern if isinstance(pattern, int) else self.family.full_every
        if every is None:
            self.notes.append(
                f"it is not known which layers have the window of {size:,} tokens; all are taken "
                "to see the full context"
            )
            return [0] * count
        return [0 if every and (at + 1) % every == 0 else size for at in range(count)]

    def stored(self, module: str, role: str, inputs: int, outputs: int, copies: int = 1) -> int:
        """Return the bytes of a matrix, or of those of all experts."""
        how = self.quantised.storage(self.names.all(module), role) if self.quantised else None
        if how is None:
            return copies * inputs * outputs * self.element
        return copies * how.size(inputs, outputs)

    def _matrix(
        self, at: int, name: str, inputs: int, outputs: int, copies: int = 1, active: int = 1,
        parts: int = 0,
    ) -> Matrix:  # fmt: skip
        """Return a matrix by the name that Llama has for it."""
        role, own = EXPERT if copies > 1 else LINEAR, self.names.of(name)
        size = self.stored(f"{self.names.blocks}.{at}.{own}", role, inputs, outputs, copies)
        has_bias = name.split(".")[-1] in self.biased and (copies == 1 or EXPERTS in self.biased)
        biases = copies * outputs * has_bias
        return Matrix(own, inputs, outputs, size, copies, active, parts, biases)

    def block(self, at: int) -> Block:
        """Return a layer."""
        listed = self._own_blocks()
        if listed is not None:
            return self._own_block(at, listed[at])
        kind = self.kinds[at]
        mixer: Attention | Recurrence | None = None
        beside: Recurrence | None = None
        projections: list[Matrix] = []
        network: list[Matrix] = []
        vectors = lanes = 0
        if kind in (RECURRENT, BOTH):
            beside, projections, vectors = self._recurrence(at)
            mixer = beside
        if kind in (ATTENDING, BOTH, *WINDOWS):
            is_latent = self.fields.has("kv_lora_rank")
            attention, more, own = (
                self._latent(at) if is_latent else self._attention(at, self.shared)
            )
            mixer = replace(attention, beside=beside)
            projections, vectors = [*projections, *more], vectors + own
        if not self.family.is_single or kind in (BOTH, NETWORK_ONLY, SPARSE):
            network, lanes = self._network(at)
        besides, own = self._besides(at)
        vectors += own + self._adapters((*projections, *network))
        network = [*besides, *network]
        block = self._made(at, mixer, projections, network, lanes, vectors)
        return self._shared_block(block, at) if self._is_shared(at) else block

    def _is_shared(self, at: int) -> bool:
        """Whether attention and network of a layer are those of a block that several have."""
        return self.kinds[at] == BOTH and self.family.is_single

    def _shared_block(self, block: Block, at: int) -> Block:
        """Return a block whose attention and network earlier ones have, too, as in Zamba-2."""
        width, rank = self.width, self.size("adapter_rank", default=128)
        having = [index for index, kind in enumerate(self.kinds) if kind == BOTH]
        number, apart = having.index(at), self.size("num_mem_blocks", high=1024, default=1)
        shared = [one for one in block.matrices if one.name.startswith("shared_transformer.")]
        # Normalised are both inputs of attention, and that of the network.
        common = sum(one.parameters for one in shared) + 3 * width
        size = sum(one.size for one in shared) + 3 * width * self.element
        own, inner = "shared_transformer.", 2 * self._inner(at)
        adapted = {f"{own}feed_forward.gate_up_proj_adapter_list.{number}": (width, inner)}
        if self.fields.flag("use_shared_attention_adapter"):
            adapted |= {
                f"{own}self_attn.linear_{one}_adapter_list.{number}": (2 * width, 2 * width)
                for one in "qkv"
            }
        ranked = [
            self._matrix(at, f"{name}.{part}", *sizes)
            for name, (read, written) in adapted.items()
            for part, sizes in enumerate(((read, rank), (rank, written)))
        ]
        ranked.append(self._matrix(at, "linear", width, width))
        return replace(
            block, projections=(*ranked, *block.projections),
            vectors=block.vectors + 3 * width,
            vector_size=block.vector_size + 3 * width * self.element,
            like=having[number - apart] if number >= apart else -1,
            common=common, common_size=size,
        )  # fmt: skip

    def _made(
        self, at: int, mixer: Attention | Recurrence | None, projections: Sequence[Matrix],
        network: Sequence[Matrix], lanes: int, vectors: int,
    ) -> Block:  # fmt: skip
        vectors += self.norms * self.width + self.learnt
        vectors += sum(one.biases for one in (*projections, *network))
        carried = self.streams * self.width + self.inputs // self.layers * (self.layers - 1 - at)
        return Block(
            f"{self.names.blocks}.{at}", self.width, mixer, tuple(projections), tuple(network),
            lanes, vectors, vectors * self.element, carried,
        )  # fmt: skip

    def _recurrence(self, at: int) -> tuple[Recurrence, list[Matrix], int]:
        """Return a recurrence, its matrices, and its vectors' parameters."""
        made = MIXERS[self.family.recurrence](self, at)
        said = self.fields.text("mamba_ssm_cache_dtype", "mamba_ssm_dtype", default="float32")
        if said not in ELEMENT_BYTES:
            raise InvalidInputError(
                f"mamba_ssm_dtype is {quoted(said)}; expected one of {', '.join(ELEMENT_BYTES)}."
            )
        kept = replace(made.kept, bits=8 * ELEMENT_BYTES[said], window_bits=8 * self.element)
        inside = "mamba_decoder." if self._is_shared(at) else ""
        matrices = [
            self._matrix(at, f"{inside}{name}", *sizes) for name, sizes in made.matrices.items()
        ]
        return kept, matrices, made.vectors

    def _attention(self, at: int, shared: int) -> tuple[Attention, list[Matrix], int]:
        own, shared = "self_attn", self._override(at, "num_key_value_heads", self.heads, shared)
        if self.heads % shared:
            raise InvalidInputError(
                f"layer {at} has {shared} heads of keys; expected a divisor of the {self.heads} "
                "heads."
            )
        head = self._override(at, "head_dim", MOST, self.head)
        value = self.size("v_head_dim", default=head)
        lengths = {"head": 2 * head, "head+bias": 4 * head, "heads": head * (self.heads + shared)}
        can_leave = any(QUERY_NORM in own for _, own in self.family.switches.values())
        if can_leave and QUERY_NORM not in self.biased:
            lengths = {}
        mixer = Attention(
            self.heads, shared, head, value, self.windows[at], is_causal=self.family.is_causal
        )
        queries = self.heads * head * (1 + self.family.gates_queries)
        # Blocks that several layers share read the embedding, too.
        wide = self.width * (1 + self._is_shared(at))
        matrices = [
            self._matrix(at, f"{own}.q_proj", wide, queries),
            self._matrix(at, f"{own}.k_proj", wide, shared * head, parts=shared),
            self._matrix(at, f"{own}.v_proj", wide, shared * value, parts=shared),
            self._matrix(at, f"{own}.o_proj", self.heads * value, self.width),
        ]
        if self.fields.flag("attention_k_eq_v") and not self.windows[at]:
            # Values are keys, though not normalised alike.
            del matrices[2]
        vectors = lengths.get(self.family.query_norm, 0)
        if at >= self.layers - self.reading:
            mixer, vectors = replace(mixer, has_own_cache=False), vectors // 2
            matrices = [matrices[0], matrices[-1]]
        return mixer, matrices, vectors

    def _override(self, at: int, name: str, high: int, usual: int) -> int:
        """Return a layer's own dimension, by its window or in today's classes' table."""
        counted = "num_" * name.startswith("num_")
        own = f"{counted}global_{name.removeprefix(counted)}"
        own = f"swa_{name}" if self.windows[at] else own
        usual = self.size(own, high=high, default=self.family.own_heads.get(own, usual))
        layers = self.fields.objects("per_layer_config")
        layer = next((layers[key] for key in (f"{at:02}", str(at)) if key in layers), {})
        return Fields(layer, f"per_layer_config.{at}.").integer(
            name, low=1, high=high, default=usual
        )

    def _adapters(self, matrices: Sequence[Matrix]) -> int:
        """Return the parameters of low-rank matrices beside others, fused where these are."""
        total = 0
        for name in self.family.adapters:
            document = self.fields.object(name)
            rank = Fields(document, f"{name}.").integer("r", low=0, high=MOST) if document else 0
            outputs = sum(one.outputs for one in matrices)
            total += rank * (outputs + sum({one.name: one.inputs for one in matrices}.values()))
        return total

    def _besides(self, at: int) -> tuple[list[Matrix], int]:
        """Return matrices and vectors of Gemma-3n: several streams, and an input of each layer."""
        width, many = self.width, self.streams
        each = self.size("hidden_size_per_layer_input", low=0, default=0)
        rank = self.size("laurel_rank", low=0, default=0)
        sizes = {
            "per_layer_input_gate": (width, each), "per_layer_projection": (each, width),
            "laurel.linear_left": (width, rank), "laurel.linear_right": (rank, width),
            "altup.modality_router": (width, many), "altup.prediction_coefs": (many, many * many),
            "altup.correction_coefs": (many, many),
        }  # fmt: skip
        # Behind the layer's own input and the low rank; of the router, and of a stream's scale.
        vectors = width * ((each > 0) + (rank > 0) + 2 * (many > 1))
        found = [self._matrix(at, name, *one) for name, one in sizes.items() if min(one)]
        return [one for one in found if many > 1 or "altup" not in one.name], vectors

    def _latent(self, at: int) -> tuple[Attention, list[Matrix], int]:
        own, width, heads = "self_attn", self.width, self.heads
        rank, rotary = self.size("kv_lora_rank"), self.size("qk_rope_head_dim")
        plain = self.size("qk_nope_head_dim")
        value = self.size("v_head_dim", default=max(1, width // heads))
        self.fields.skip("num_key_value_heads", "head_dim")
        queries = self.size("q_lora_rank", low=0, default=0)
        deep = heads * (plain + rotary)
        matrices = []
        if queries:
            matrices = [
                self._matrix(at, f"{own}.q_a_proj", width, queries, parts=1),
                self._matrix(at, f"{own}.q_b_proj", queries, deep),
            ]
        else:
            matrices = [self._matrix(at, f"{own}.q_proj", width, deep)]
        matrices += [
            self._matrix(at, f"{own}.kv_a_proj_with_mqa", width, rank + rotary, parts=1),
            self._matrix(at, f"{own}.kv_b_proj", rank, heads * (plain + value)),
            self._matrix(at, f"{own}.o_proj", heads * value, width),
        ]
        mixer = Attention(
            heads, heads, plain + rotary, value, self.windows[at],
            latent=Latent(rank, rotary, plain, value),
        )  # fmt: skip
        chosen = self.size("index_topk", low=0, default=0)
        if not chosen:
            return mixer, matrices, queries + rank
        many, deep = self.size("index_n_heads"), self.size("index_head_dim")
        index = [
            self._matrix(at, f"{own}.indexer.wq_b", queries or width, many * deep),
            self._matrix(at, f"{own}.indexer.wk", width, deep, parts=1),
            self._matrix(at, f"{own}.indexer.weights_proj", width, many),
        ]
        mixer = replace(mixer, chosen=chosen, index_heads=many, index_head=deep)
        return mixer, [*index, *matrices], queries + rank + 2 * deep

    def _network(self, at: int) -> tuple[list[Matrix], int]:
        """Return the matrices of a layer's feed-forward network, and its dimensions within."""
        own, width = "mlp", self.width
        if self.experts < 2 or not self._has_experts(at):
            alone = self.size("shared_intermediate_size", low=0, default=0)
            own, inner = (f"{own}.shared_expert", alone) if alone else (own, self._inner(at))
            return self._feed_forward(at, own, inner), inner
        active, each = self._active(at), self._expert_size(at)
        matrices = [self._matrix(at, f"{own}.gate", width, self.experts, parts=1)]
        # Routers stay at full bits.
        matrices = [replace(one, size=one.parameters * self.element) for one in matrices]
        latent = self.size("moe_latent_size", low=0, default=0)
        if latent:
            matrices.append(self._matrix(at, f"{own}.fc1_latent_proj", width, latent, parts=1))
            matrices.append(self._matrix(at, f"{own}.fc2_latent_proj", latent, width, parts=1))
        matrices += self._feed_forward(
            at, f"{own}.experts.0", each, self.experts, active, latent or width
        )
        common = self._common(at, each)
        if common:
            matrices += self._feed_forward(at, f"{own}.shared_expert", common)
        if common and self.family.has_gated_shared:
            matrices.append(self._matrix(at, f"{own}.shared_expert_gate", width, 1))
        return matrices, active * each + common

    def _feed_forward(
        self, at: int, own: str, inner: int, copies: int = 1, active: int = 1, width: int = 0
    ) -> list[Matrix]:
        width = width or self.width
        names = ("gate_proj", "up_proj") if self.family.is_gated else ("up_proj",)
        return [
            *(self._matrix(at, f"{own}.{name}", width, inner, copies, active) for name in names),
            self._matrix(at, f"{own}.down_proj", inner, width, copies, active),
        ]

    def _expert_size(self, at: int) -> int:
        if self.kind == "llama4_text":
            return self.size("intermediate_size")
        own = self.fields.has("moe_intermediate_size")
        return self._of_layer(at, "moe_intermediate_size") if own else self._inner(at)

    def _active(self, at: int) -> int:
        """Return how many experts a token meets."""
        return self._of_layer(
            at, "num_experts_per_tok", "experts_per_token", "num_experts_per_token", "moe_k",
            "moe_topk", "top_k_experts", low=1, high=self.experts,
        )  # fmt: skip

    def _common(self, at: int, each: int) -> int:
        """Return the dimensions within the experts that all tokens meet."""
        alone = self.size(
            "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
            "shared_intermediate_size", low=0, default=0,
        )  # fmt: skip
        count = self._of_layer(
            at, "n_shared_experts", "num_shared_experts", "moe_num_shared_experts",
            "num_shared_expert", low=0, high=MOST_EXPERTS, default=self.family.shared_experts,
        )  # fmt: skip
        # In Gemma-4, all tokens meet a network of their own beside the experts.
        beside = self._inner(at) if self.fields.flag("enable_moe_block") else 0
        return alone or beside or count * each

    def _has_experts(self, at: int) -> bool:
        """Whether a layer has experts instead of one network, by any of the rules that exist."""
        fields = self.fields
        if self.kinds[at] in (NETWORK_ONLY, SPARSE):
            return self.kinds[at] == SPARSE
        rules = [at >= self.size("first_k_dense_replace", "num_dense_layers", low=0, default=0)]
        types = fields.texts("mlp_layer_types")
        rules.append(not types or types[at % len(types)] == "sparse")
        frequency = fields.value("moe_layer_freq")
        if isinstance(frequency, list):
            flags = fields.integers("moe_layer_freq", low=0, high=1)
            self._check_entries("moe_layer_freq", flags)
            rules.append(bool(flags[at]))
        else:
            rules.append(at % self.size("moe_layer_freq", default=1) == 0)
        rules.append((at + 1) % self.size("decoder_sparse_step", default=1) == 0)
        rules.append(at not in fields.integers("mlp_only_layers", low=0, high=MOST))
        chosen = fields.integers("moe_layers", low=0, high=MOST)
        step = self.size("interleave_moe_layer_step", default=1)
        rules.append(at in chosen if chosen else (at + 1) % step == 0)
        period = self.size("expert_layer_period", default=1)
        rules.append(at % period == self.size("expert_layer_offset", low=0, default=0) % period)
        begin = self.size("moe_layer_start_index", low=0, default=0)
        end = fields.integer("moe_layer_end_index", low=-1, high=MOST, default=-1)
        rules.append(begin <= at and (end < 0 or at <= end))
        rules.append((at + 1) % self.size("moe_layer_interval", default=1) == 0)
        return all(rules)

    def predicting(self, number: int) -> Block:
        """Return a layer that predicts a further word ([DEEPSEEK24]): a matrix and a block."""
        one = self.block(self.layers - 1)
        joined = self._matrix(self.layers + number, "eh_proj", 2 * self.width, self.width)
        more = 3 * self.width
        return replace(
            one, name=f"{self.names.blocks}.{self.layers + number}",
            projections=(joined, *one.projections), vectors=one.vectors + more,
            vector_size=one.vector_size + more * self.element,
        )  # fmt: skip

    def _own_blocks(self) -> Sequence[Mapping[str, Any]] | None:
        """Return what each layer says of itself, as in models found by a search ([PUZZLE24])."""
        value = self.fields.value("block_configs")
        if value is None:
            return None
        is_whole = isinstance(value, list) and len(value) == self.layers
        if not is_whole or not all(isinstance(one, dict) for one in value):
            raise InvalidInputError(
                f"block_configs is no list of {self.layers} objects; expected one for each layer."
            )
        return [an_object(one, "an entry of block_configs") for one in value]

    def _own_block(self, at: int, document: Mapping[str, Any]) -> Block:
        where = f"block_configs[{at}]."
        outer = Fields(document, where)
        attention = Fields(outer.object("attention") or {}, f"{where}attention.")
        network = Fields(outer.object("ffn") or {}, f"{where}ffn.")
        mixer: Attention | None = None
        projections: list[Matrix] = []
        vectors = 0
        if attention.flag("replace_with_linear"):
            projections = [self._matrix(at, "self_attn.linear", self.width, self.width)]
        elif not attention.flag("no_op"):
            group = attention.integer("n_heads_in_group", low=1, high=self.heads)
            if self.heads % group:
                raise InvalidInputError(
                    f"{where}attention.n_heads_in_group is {group}; expected a divisor of "
                    f"{self.heads}."
                )
            mixer, projections, vectors = self._attention(at, self.heads // group)
        inner = 0
        matrices: list[Matrix] = []
        if network.flag("replace_with_linear"):
            matrices = [self._matrix(at, "mlp.linear", self.width, self.width)]
        elif not network.flag("no_op"):
            share = network.number("ffn_mult", low=0.001, high=1000)
            inner = -(-int(2 * share * self.width / 3) // 256) * 256
            matrices = self._feed_forward(at, "mlp", inner)
        return self._made(at, mixer, projections, matrices, inner, vectors)
