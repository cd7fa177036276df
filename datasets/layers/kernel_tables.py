"""Times of a transformer's kernels as they were measured, from the package `aiconfigurator-core`.

The package (Apache-2.0, optional) has tables of matrix products and of attention, by GPU,
framework and version. What lies between their entries is interpolated, linearly in logarithms;
what lies outside of them is refused, with what is missing: nothing is extrapolated. Of vLLM's
tables, the latest version is taken. Covered are dense blocks with separate keys and values in 16
bits, in prefill and decoding. The product for the scores of words is taken in as many equal parts
as the tables ask for. Normalisations, activations and launches are in no table, and take no time
here.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path

from boundmark.datasets.layers.blocks import Attention, Block, Matrix, Outer
from boundmark.problems.errors import InvalidInputError, extra_with
from boundmark.problems.layers import LayerFacts, Workload
from boundmark.problems.layers.model import DECODE, PREFILL

PACKAGE = "aiconfigurator_core"
FRAMEWORK = "vllm"

# What the tables call devices of ours.
SYSTEMS = {
    "nvidia-a100": "a100_sxm", "nvidia-a100-40gb": "a100_sxm", "nvidia-h100": "h100_sxm",
}  # fmt: skip

# The scores of words are divided into this many products at most.
MOST_PARTS = 8


@dataclass(frozen=True, eq=False)
class Table:
    """Milliseconds at the points of a grid, some of which may be missing."""

    entries: Mapping[tuple[int, ...], float]

    @cached_property
    def marks(self) -> tuple[tuple[int, ...], ...]:
        """The values along each axis, ascending."""
        axes = zip(*self.entries, strict=True)
        return tuple(tuple(sorted(set(axis))) for axis in axes)


def with_measured_seconds(
    facts: tuple[LayerFacts, ...],
    ends: tuple[Outer, Outer],
    blocks: Sequence[Block],
    workload: Workload,
    tokens: tuple[int, int, int],
) -> tuple[LayerFacts, ...]:
    """Return layers with their measured seconds on the devices that the workload names."""
    is_full = workload.weight_bits in (0, 16) and not any(
        one.size < 2 * one.parameters for block in blocks for one in block.matrices
    )
    if workload.phase not in (PREFILL, DECODE) or not is_full:
        raise InvalidInputError(
            "costs are 'measured', for prefill or decode with parameters of 16 bits; expected "
            "these, "
            "or roofline."
        )
    width = blocks[-1].width
    return tuple(
        replace(
            layer,
            seconds={
                name: _seconds(part, width, workload, tokens, name) for name in workload.measured_on
            },
        )
        for layer, part in zip(facts, (ends[0], *blocks, ends[1]), strict=True)
    )


@cache
def _seconds(
    part: Block | Outer, width: int, workload: Workload, tokens: tuple[int, int, int], device: str
) -> float:
    if device not in SYSTEMS:
        raise InvalidInputError(
            f"costs are 'measured', and there are no tables of {device!r}; expected one of "
            f"{', '.join(SYSTEMS)}, or roofline."
        )
    context, passed, scored = tokens
    tables = load_tables(SYSTEMS[device])
    if isinstance(part, Outer):
        # Rows of an embedding are looked up, in the time of a launch.
        words = part.multiplied // width
        return _product(tables["gemm"], scored, words, width, device) if words else 0.0
    mixer = part.mixer
    if (
        any(one.copies > 1 for one in part.matrices)
        or not isinstance(mixer, Attention)
        or mixer.latent
        or mixer.is_crossed
        or mixer.beside
        or not mixer.is_causal
    ):
        raise InvalidInputError(
            f"costs are 'measured', and layer {part.name!r} has experts, a latent space, a "
            "recurrence, or attends to all tokens; expected dense blocks, or roofline."
        )
    rows = _attention_row(part.name, mixer, workload, context)
    name = workload.phase
    what = f"attention of {part.name!r} on {device!r}"
    own = tables.get(f"{name} {mixer.heads} {mixer.shared}")
    if own is None:
        raise InvalidInputError(
            f"costs are 'measured', and no table covers {what}, with {mixer.heads} heads of which "
            f"{mixer.shared} have keys; expected roofline."
        )
    attention = interpolated(own, rows, what)
    products = math.fsum(
        _product(tables["gemm"], passed, n, k, device)
        for n, k in (*_fused(part.projections), *_fused(part.network))
    )
    return products + attention / 1e3


def _fused(matrices: Sequence[Matrix]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return outputs and inputs of two products: all matrices but the last one, and that one."""
    last = matrices[-1]
    together = sum(one.outputs for one in matrices[:-1])
    return (together, matrices[0].inputs), (last.outputs, last.inputs)


def _attention_row(
    name: str, mixer: Attention, workload: Workload, context: int
) -> tuple[int, int]:
    if mixer.key != 128 or mixer.value != 128 or 0 < mixer.window < context:
        raise InvalidInputError(
            f"costs are 'measured', and layer {name!r} has heads of {mixer.key} "
            "dimensions or a "
            "window; expected 128 and none, or roofline."
        )
    return workload.batch, context


def _product(table: Table, m: int, n: int, k: int, device: str) -> float:
    """Return the seconds of a product, in as few equal parts as the table has."""
    widest = table.marks[1][-1]
    parts = min(MOST_PARTS, -(-n // widest))
    what = f"a product of {m} x {k} and {k} x {n} on {device!r}"
    return parts * interpolated(table, (m, -(-n // parts), k), what) / 1e3


def interpolated(table: Table, at: Sequence[int], what: str) -> float:
    """Return the value at a point within a grid, linear in the logarithms of all."""
    corners: list[list[tuple[int, float]]] = []
    for axis, value in enumerate(at):
        marks = table.marks[axis]
        below = max((mark for mark in marks if mark <= value), default=None)
        above = min((mark for mark in marks if mark >= value), default=None)
        if below is None or above is None:
            raise InvalidInputError(
                f"costs are 'measured', and no table covers {what}: {value} is not from "
                f"{marks[0]} to {marks[-1]}; expected that, or roofline."
            )
        share = 0.0 if below == above else math.log(value / below) / math.log(above / below)
        corners.append([(below, 1 - share), (above, share)] if share else [(below, 1.0)])
    total = 0.0
    for corner in itertools.product(*corners):
        key = tuple(mark for mark, _ in corner)
        if key not in table.entries:
            raise InvalidInputError(
                f"costs are 'measured', and no table covers {what}: there is no entry {key}; "
                "expected one, or roofline."
            )
        total += math.prod(share for _, share in corner) * math.log(table.entries[key])
    return math.exp(total)


@cache
def load_tables(system: str) -> Mapping[str, Table]:
    """Return the tables of a system: of products, and of attention in both phases."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise InvalidInputError(
            "costs are 'measured', and aiconfigurator-core is not installed"
            f"{extra_with(PACKAGE)}; or costs 'roofline'."
        )
    folder = Path(next(iter(spec.submodule_search_locations))) / "systems" / "data" / system
    products = _read(folder, "gemm", "gemm_perf", ("m", "n", "k"), {"gemm_dtype": "bfloat16"})
    found = {"gemm": Table(products)}
    for phase, name, columns in (
        (PREFILL, "context_attention_perf", _CONTEXT),
        (DECODE, "generation_attention_perf", _STEP),
    ):
        entries = _read(folder, "attention", name, columns, _PLAIN)
        for heads, shared in {key[:2] for key in entries}:
            own = {key[2:]: ms for key, ms in entries.items() if key[:2] == (heads, shared)}
            found[f"{phase} {heads} {shared}"] = Table(own)
    return found


_CONTEXT = ("num_heads", "num_key_value_heads", "batch_size", "isl")
_STEP = ("num_heads", "num_key_value_heads", "batch_size", "step")
_PLAIN = {"attn_dtype": "bfloat16", "kv_cache_dtype": "bfloat16", "head_dim": 128}


def _read(
    folder: Path, kind: str, name: str, columns: tuple[str, ...], chosen: Mapping[str, object]
) -> dict[tuple[int, ...], float]:
    import pyarrow.parquet as pq

    files = sorted(folder.glob(f"{kind}/{FRAMEWORK}/*/{name}.parquet"))
    if not files:
        raise InvalidInputError(
            f"costs are 'measured', and there is no {name} of {FRAMEWORK} in {folder}; expected "
            "one."
        )
    table = pq.read_table(files[-1]).to_pandas()
    for column, value in chosen.items():
        table = table[table[column] == value]
    keys = zip(*(table[column].astype(int) for column in columns), strict=True)
    return dict(zip(keys, table["latency"].astype(float), strict=True))
