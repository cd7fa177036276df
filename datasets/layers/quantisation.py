"""Bytes of quantised weights, by the `quantization_config` of a Hugging Face configuration.

Each scheme keeps, besides the bits of its elements, scales and perhaps zero points for groups of
elements, and leaves some modules at 16 bits: embeddings always, the scores of words unless the
configuration says otherwise, and the modules that it lists. Sources of the storage formats:

awq, gptq, auto-round
    Packed elements and zero points, one 16-bit scale for each group and output; GPTQ's files have a
    32-bit group number for each input besides (AutoGPTQ and AutoAWQ, `WQLinear_GEMM`).
fp8
    32-bit scales for blocks, by `weight_block_size`, or one for each matrix; fbgemm_fp8: one for
    each output.
mxfp4
    Experts alone: 32 elements of 4 bits share a scale of 8 bits (OCP Microscaling Formats, 1.0).
compressed-tensors, modelopt
    As `config_groups` say, or `quant_algo`.
bitsandbytes
    4 bits and a scale for each 64 elements, of 32 bits or, with double quantisation, of 8 and a
    256th of 32; or 8 bits and a 32-bit scale for each output.
exl2, exl3
    A mean number of bits for all matrices, and one for the scores of words.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from boundmark.datasets.json_fields import Fields
from boundmark.datasets.layers.patterns import Pattern, PatternError, read_pattern, read_wildcards
from boundmark.problems.errors import InvalidInputError, quoted

FULL_BITS = 16

# These stand for one scale per output, and for one scale of the whole matrix.
PER_OUTPUT, PER_MATRIX = 0, -1

# Patterns of a list of modules; and the same times layers, each with several matrices.
MOST_PATTERNS = 2000
MOST_COMPARED = 2**18

EXPERT = "expert"
LINEAR = "linear"
SCORES = "scores"


@dataclass(frozen=True)
class Storage:
    """The form in which a matrix is stored.

    Attributes
    ----------
    bits
        Bits of an element.
    group
        Inputs whose elements share a scale; or `PER_OUTPUT`, `PER_MATRIX`.
    rows
        Outputs that share it, too.
    scale_bits, zero_bits
        Bits of a group's scale, and of its zero point.
    input_bits
        Kept for each input besides.
    """

    bits: float
    group: int = PER_MATRIX
    rows: int = 1
    scale_bits: float = 0
    zero_bits: float = 0
    input_bits: int = 0

    def size(self, inputs: int, outputs: int) -> int:
        """Return the bytes of one matrix."""
        groups = 1
        if self.group == PER_OUTPUT:
            groups = outputs
        elif self.group > 0:
            groups = math.ceil(inputs / self.group) * math.ceil(outputs / self.rows)
        bits = inputs * outputs * self.bits + groups * (self.scale_bits + self.zero_bits)
        return math.ceil((bits + inputs * self.input_bits) / 8)


@dataclass(frozen=True)
class Modules:
    """Modules that a list of a configuration names: whole names, parts of them, and patterns."""

    names: frozenset[str] = frozenset()
    endings: frozenset[str] = frozenset()
    patterns: tuple[Pattern, ...] = ()

    @classmethod
    def of(cls, entries: Sequence[str], field: str) -> "Modules":
        """Return what a list names.

        Examples
        --------
        >>> listed = Modules.of(["mlp.gate", "model.layers.*.self_attn"], "ignore")
        >>> listed.mean("layers.0.mlp.gate"), listed.mean("layers.0.mlp.gate_proj")
        (True, False)
        >>> listed.mean("model.layers.7.self_attn.q_proj")
        True
        """
        patterns = [one for one in entries if one.startswith("re:") or "*" in one]
        if len(patterns) > MOST_PATTERNS:
            raise InvalidInputError(
                f"{field} has {len(patterns):,} patterns; expected at most {MOST_PATTERNS:,}."
            )
        names = [one.strip(".").split(".") for one in set(entries) - set(patterns)]
        return cls(
            frozenset(".".join(parts) for parts in names),
            # Names of vision-language models have a part in front, which modules have not here.
            frozenset(".".join(parts[at:]) for parts in names for at in range(1, len(parts))),
            tuple(_pattern(entry, field) for entry in patterns),
        )

    def mean(self, module: str) -> bool:
        """Whether they are a module, or one around it."""
        parts = module.split(".")
        around = {
            ".".join(parts[first:end])
            for first in range(len(parts))
            for end in range(first + 1, len(parts) + 1)
        }
        return (
            not self.names.isdisjoint(around)
            or module in self.endings
            or any(one.matches(module) for one in self.patterns)
        )


def _pattern(entry: str, field: str) -> Pattern:
    try:
        if entry.startswith("re:"):
            return read_pattern(entry.removeprefix("re:"))
        return read_wildcards(entry.strip("."))
    except PatternError as error:
        raise InvalidInputError(
            f"{field} lists {quoted(entry)}; expected a name, with * for any part of it, or a "
            f"regular expression that an automaton can do: {error}."
        ) from error


@dataclass(frozen=True)
class Rule:
    """Which matrices are stored how: those of some roles, in some modules or in all."""

    storage: Storage
    roles: tuple[str, ...] = (EXPERT, LINEAR, SCORES)
    modules: Modules | None = None


@dataclass(frozen=True)
class Quantisation:
    """Which matrices are stored in how many bits.

    Attributes
    ----------
    method
        As the configuration calls it.
    rules
        The first that suits a matrix counts.
    kept
        Modules that stay at 16 bits.
    cache_bits
        Bits of a number in the cache; 0 if the configuration does not say.
    """

    method: str
    rules: tuple[Rule, ...]
    kept: Modules = Modules()
    cache_bits: int = 0

    def storage(self, names: Sequence[str], role: str) -> Storage | None:
        """Return how a module is stored; None for its full bits."""
        if any(map(self.kept.mean, names)):
            return None
        for rule in self.rules:
            if role in rule.roles and (rule.modules is None or any(map(rule.modules.mean, names))):
                return rule.storage
        return None

    def check(self, layers: int) -> None:
        """Refuse more patterns than names of so many layers can be compared with."""
        listed = (self.kept, *(rule.modules for rule in self.rules if rule.modules))
        count = sum(len(one.patterns) for one in listed)
        if count * layers > MOST_COMPARED:
            raise InvalidInputError(
                f"quantization_config has {count:,} patterns for modules of {layers:,} layers; "
                f"expected at most {MOST_COMPARED // layers:,}."
            )


def read_quantisation(document: Mapping[str, Any]) -> tuple[Quantisation, tuple[str, ...]]:
    """Return what a `quantization_config` says, and its fields that are not used."""
    fields = Fields(document, "quantization_config.")
    method = fields.text("quant_method", default="")
    if not method and (fields.flag("load_in_4bit") or fields.flag("load_in_8bit")):
        method = "bitsandbytes"
    reader = _READERS.get(method)
    if reader is None:
        raise InvalidInputError(
            f"quantization_config has the method {quoted(method)}; expected one of "
            f"{', '.join(_READERS)}, or --weight-bits and a configuration without it."
        )
    return reader(fields, method), fields.unused()


# All but the scores of words.
WITHIN = (EXPERT, LINEAR)


def _kept(fields: Fields, *keys: str) -> Modules:
    return Modules.of([one for key in keys for one in fields.texts(key)], fields.prefix + keys[0])


def _grouped(fields: Fields, method: str) -> Quantisation:
    """AWQ, GPTQ and AutoRound: packed integers."""
    bits = fields.integer("bits", "w_bit", low=1, high=16)
    group = fields.integer("group_size", "q_group_size", low=-1, high=2**20, default=128)
    zero = bits if fields.flag("zero_point", default=True) or method != "awq" else 0
    fields.skip("sym", "desc_act", "damp_percent", "true_sequential", "version", "backend")
    storage = Storage(
        bits, group if group > 0 else PER_OUTPUT, 1, 16, zero, 32 if method == "gptq" else 0
    )
    if fields.flag("lm_head"):
        return Quantisation(method, (Rule(storage),))
    if inside := fields.nested_texts("modules_in_block_to_quantize"):
        chosen = Modules.of(inside, f"{fields.prefix}modules_in_block_to_quantize")
        return Quantisation(method, (Rule(storage, modules=chosen),))
    kept = _kept(fields, "modules_to_not_convert")
    return Quantisation(method, (Rule(storage, WITHIN),), kept)


def _fp8(fields: Fields, method: str) -> Quantisation:
    kept = _kept(fields, "modules_to_not_convert", "ignored_layers")
    fields.skip("activation_scheme", "fmt", "activation_scale_ub", "scale_fmt")
    if method == "fbgemm_fp8":
        return Quantisation(method, (Rule(Storage(8, PER_OUTPUT, 1, 32), WITHIN),), kept)
    block = fields.integers("weight_block_size", low=1, high=2**20)
    storage = Storage(8, PER_MATRIX, 1, 32)
    if block:
        rows, group = block if len(block) == 2 else (1, block[0])
        storage = Storage(8, group, rows, 32)
    return Quantisation(method, (Rule(storage, WITHIN),), kept)


def _mxfp4(fields: Fields, method: str) -> Quantisation:
    kept = _kept(fields, "modules_to_not_convert")
    return Quantisation(method, (Rule(Storage(4, 32, 1, 8), (EXPERT,)),), kept)


def _bitsandbytes(fields: Fields, method: str) -> Quantisation:
    kept = _kept(fields, "llm_int8_skip_modules")
    if fields.flag("load_in_4bit"):
        double = fields.flag("bnb_4bit_use_double_quant")
        storage = Storage(4 + (8 + 32 / 256 if double else 32) / 64)
    elif fields.flag("load_in_8bit", default=True):
        storage = Storage(8, PER_OUTPUT, 1, 32)
    fields.skip(*(name for name in fields.document if name.startswith(("bnb_", "llm_int8", "_"))))
    fields.skip("load_in_4bit", "load_in_8bit")
    return Quantisation(method, (Rule(storage, WITHIN),), kept)


def _mean_bits(fields: Fields, method: str) -> Quantisation:
    bits = fields.number("bits", low=1, high=16)
    head = fields.number("head_bits", low=1, high=16, default=6)
    fields.skip("version", "calibration", "out_scales", "codebook", "tensor_storage")
    return Quantisation(method, (Rule(Storage(head), (SCORES,)), Rule(Storage(bits), WITHIN)))


def _compressed(fields: Fields, method: str) -> Quantisation:
    kept = _kept(fields, "ignore")
    rules = []
    for name, group in fields.objects("config_groups").items():
        inner = Fields(group, f"quantization_config.config_groups.{name}.")
        weights = inner.object("weights")
        if weights is not None:
            targets = inner.texts("targets") or ("Linear",)
            # Classes of modules, which matrices here are all of; or names.
            has_classes = any(one[:1].isupper() and "." not in one for one in targets)
            modules = None if has_classes else Modules.of(targets, f"{inner.prefix}targets")
            rules.append(Rule(_compressed_weights(weights, name), modules=modules))
    if not rules:
        raise InvalidInputError(
            "quantization_config has no config_groups with weights; expected some, or a "
            "configuration without it."
        )
    cache = fields.object("kv_cache_scheme")
    bits = Fields(cache, "kv_cache_scheme.").integer("num_bits", low=1, high=32) if cache else 0
    fields.skip("format", "version", "quantization_status", "global_compression_ratio")
    fields.skip("sparsity_config", "transform_config")
    return Quantisation(method, tuple(rules), kept, bits)


def _compressed_weights(weights: Mapping[str, Any], group: str) -> Storage:
    fields = Fields(weights, f"quantization_config.config_groups.{group}.weights.")
    bits = fields.integer("num_bits", low=1, high=16)
    strategy = fields.text("strategy", default="")
    size = fields.integer("group_size", low=-1, high=2**20, default=0)
    zero = 0 if fields.flag("symmetric", default=True) else bits
    is_float = fields.text("type", default="int") == "float"
    if strategy == "block":
        rows, columns = fields.integers("block_structure", low=1, high=2**20) or (128, 128)
        return Storage(bits, columns, rows, 32, zero)
    if strategy == "tensor":
        return Storage(bits, PER_MATRIX, 1, 32, zero)
    if strategy == "channel" or size <= 0:
        return Storage(bits, PER_OUTPUT, 1, FULL_BITS, zero)
    # 4-bit floats have 8-bit scales (NVFP4 for 16 elements, MXFP4 for 32).
    return Storage(bits, size, 1, 8 if is_float and bits == 4 else FULL_BITS, zero)


def _modelopt(fields: Fields, method: str) -> Quantisation:
    inner = fields.object("quantization")
    one = Fields(inner, "quantization_config.quantization.") if inner else fields
    algorithm = one.text("quant_algo", default="")
    kept = _kept(one, "exclude_modules", "ignore")
    group = one.integer("group_size", low=1, high=2**20, default=16)
    known = {
        "FP8": Storage(8, PER_MATRIX, 1, 32), "NVFP4": Storage(4, group, 1, 8),
        "W4A16_AWQ": Storage(4, group, 1, 16), "INT4_AWQ": Storage(4, group, 1, 16),
    }  # fmt: skip
    if algorithm not in known:
        raise InvalidInputError(
            f"quant_algo is {quoted(algorithm)}; expected one of {', '.join(known)}."
        )
    cache = one.text("kv_cache_quant_algo", default="")
    fields.skip("config_groups", "producer", "kv_cache_scheme", "quantization")
    return Quantisation(method, (Rule(known[algorithm]),), kept, 8 if cache == "FP8" else 0)


_READERS: Mapping[str, Callable[[Fields, str], Quantisation]] = {
    "awq": _grouped, "gptq": _grouped, "auto-round": _grouped, "fp8": _fp8, "fbgemm_fp8": _fp8,
    "mxfp4": _mxfp4, "compressed-tensors": _compressed, "bitsandbytes": _bitsandbytes,
    "modelopt": _modelopt, "exl2": _mean_bits, "exl3": _mean_bits,
}  # fmt: skip
