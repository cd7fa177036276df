"""Megatron-LM's options for the layers of each pipeline stage.

As of NVIDIA/Megatron-LM at d98e8a64: `PipelineParallelLayerLayout` in
megatron/core/transformer/pipeline_parallel_layer_layout.py for layouts; `get_num_layers_to_build`
in megatron/core/transformer/transformer_block.py and `validate_args` in
megatron/training/arguments.py for counts.

In a layout, E is the embedding, t a layer, m one that predicts a further word, L the loss, and
``|`` separates parts. Of pp * vpp parts, part j is on rank j mod pp. All m are in one part. Without
a layout, the loss and all m are in the last part.

An embedding or a loss may be a part alone, and a part may be empty. A chain without them has a
layout without E or L, which Megatron-LM does not take as it is.
"""

import re
from collections.abc import Sequence

from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.chain import MOST_LAYERS
from boundmark.problems.layers.instance import LayerAssignment, LayersInstance
from boundmark.problems.layers.tools.option_texts import integer, read_options

_OPTIONS = (
    "--pipeline-model-parallel-layout",
    "--pipeline-model-parallel-size",
    "--num-layers-per-virtual-pipeline-stage",
    "--num-virtual-stages-per-pipeline-rank",
    "--decoder-first-pipeline-num-layers",
    "--decoder-last-pipeline-num-layers",
    "--account-for-embedding-in-pipeline-split",
    "--account-for-loss-in-pipeline-split",
)
LAYOUT, SIZE, LAYERS_PER_PART, PARTS_PER_RANK, FIRST, LAST, EMBEDDING, LOSS = _OPTIONS

PATTERN = rf"((?:{'|'.join(_OPTIONS)})\b.*)"


def write_megatron(instance: LayersInstance, solution: LayerAssignment) -> str:
    """Return a solution as a layout, with the number of ranks if each has several parts."""
    before, behind = instance.chain.outer
    middle = instance.chain.layers - before - behind
    letters = "E" * before + "t" * middle + "m" * (behind - 1) + "L" * min(behind, 1)
    parts = [letters[stage.first : stage.end] for stage in solution.stages]
    written = "|".join(re.sub("tt+", lambda run: f"t*{len(run[0])}", part) for part in parts)
    size = f"{SIZE} {len(parts) // instance.virtual_stages} " * (instance.virtual_stages > 1)
    return f'{size}{LAYOUT} "{written}"'


def read_megatron(text: str, instance: LayersInstance) -> list[int]:
    """Return how many layers each part has, the embedding, the loss and all m among them."""
    given = read_options(text, {name: name for name in _OPTIONS}, (EMBEDDING, LOSS))
    counts = _of_layout(given, instance) if LAYOUT in given else _of_counts(given, instance)
    if instance.virtual_stages > 1 and 0 in counts:
        raise InvalidInputError(
            f"part {counts.index(0)} of {len(counts)} is empty; expected layers in each where a "
            "device has several."
        )
    return counts


def _of_layout(given: dict[str, str], instance: LayersInstance) -> list[int]:
    others = given.keys() - {LAYOUT, SIZE}
    if others:
        raise InvalidInputError(f"{min(others)} is given with a layout; expected one of the two.")
    layout = re.sub(r"[\\ ,]", "", given[LAYOUT])
    expanded = _expanded(layout)
    if not re.fullmatch(r"E?[t|]*[m|]*L?", expanded):
        raise InvalidInputError(
            f"the layout is {quoted(layout)}; expected E, t, m and L in this order, with | between "
            "parts."
        )
    before, behind = instance.chain.outer
    expected = {"E": before, "m": max(0, behind - 1), "L": min(behind, 1)}
    for letter, count in expected.items():
        if expanded.count(letter) != count:
            hint = ", as many as the model has in this phase" * (letter == "m")
            raise InvalidInputError(
                f"the layout has {expanded.count(letter)} {letter}; expected {count}{hint}."
            )
    parts, virtual = expanded.split("|"), instance.virtual_stages
    if SIZE in given:
        _check_virtual(len(parts), integer(given[SIZE], SIZE, 1), virtual)
    _check_predicting(parts)
    return [len(part) for part in parts]


def _check_virtual(parts: int, size: int, virtual: int) -> None:
    """Refuse options for other virtual stages than the instance has."""
    if parts != size * virtual:
        raise InvalidInputError(
            f"there are {parts} parts on {size} ranks; expected {size * virtual}, since "
            f"virtual_stages is {virtual}."
        )


def _check_predicting(parts: Sequence[str]) -> None:
    """Refuse m in several parts."""
    having = [at for at, part in enumerate(parts) if "m" in part]
    if len(having) > 1:
        raise InvalidInputError(
            f"parts {having[0]} and {having[1]} have layers m; expected all m in one part, as "
            "Megatron-LM asks."
        )


def _expanded(layout: str) -> str:
    """Return a layout without ``x*3`` and ``(tt|)*3``."""
    for _ in range(100):
        match = re.search(r"\(([Et|mL]*)\)\*(\d{1,5})|([Et|mL])\*(\d{1,5})", layout)
        if match is None:
            return layout
        unit, times = (match[1], match[2]) if match[2] else (match[3], match[4])
        if len(unit) * int(times) > 2 * MOST_LAYERS or len(layout) > 4 * MOST_LAYERS:
            raise InvalidInputError(
                f"the layout repeats {quoted(unit)} {times} times; expected less."
            )
        layout = layout[: match.start()] + unit * int(times) + layout[match.end() :]
    raise InvalidInputError("the layout has more than 100 repetitions; expected fewer.")


def _of_counts(given: dict[str, str], instance: LayersInstance) -> list[int]:
    """Return the counts of stages that are equal but for the first and the last one."""
    before, behind = instance.chain.outer
    layers, virtual = instance.chain.layers - before - behind, instance.virtual_stages
    size = integer(given.get(SIZE, str(len(instance.chain.devices))), SIZE, 1)
    ends = [integer(given[one], one) if one in given else None for one in (FIRST, LAST)]
    ranks = per_rank(layers, size, (ends[0], ends[1]), (EMBEDDING in given, LOSS in given))
    parts = _parts_per_rank(given, ranks)
    if parts != virtual:
        _check_virtual(parts * size, size, virtual)
    counts = in_parts(ranks, parts)
    counts[0] += before - (EMBEDDING in given)
    counts[-1] += behind - (LOSS in given)
    return counts


def _parts_per_rank(given: dict[str, str], ranks: Sequence[int]) -> int:
    if PARTS_PER_RANK in given and LAYERS_PER_PART in given:
        raise InvalidInputError(
            f"{PARTS_PER_RANK} and {LAYERS_PER_PART} are given; expected one of the two."
        )
    if LAYERS_PER_PART not in given:
        return integer(given.get(PARTS_PER_RANK, "1"), PARTS_PER_RANK, 1)
    if FIRST in given or LAST in given:
        raise InvalidInputError(
            f"{LAYERS_PER_PART} is given with {FIRST if FIRST in given else LAST}; expected "
            f"{PARTS_PER_RANK}, as Megatron-LM asks."
        )
    each = integer(given[LAYERS_PER_PART], LAYERS_PER_PART, 1)
    if ranks[0] % each:
        raise InvalidInputError(
            f"{ranks[0]} layers of a rank do not divide by {each} in a part; expected "
            f"{LAYERS_PER_PART} to divide them."
        )
    return ranks[0] // each


def per_rank(
    layers: int,
    size: int,
    ends: tuple[int | None, int | None] = (None, None),
    counted: tuple[bool, bool] = (False, False),
) -> list[int]:
    """Return how many layers each rank has: as many as the others, but for the ends."""
    if any(counted) and ends != (None, None):
        raise InvalidInputError(
            f"{EMBEDDING if counted[0] else LOSS} is given with "
            f"{LAST if ends[0] is None else FIRST}; expected one of the two."
        )
    known = [end for end in ends if end is not None]
    left, others = layers + sum(counted) - sum(known), size - len(known)
    if others < 0:
        raise InvalidInputError(f"both ends are given for {size} ranks; expected at least 2.")
    if left < 0 or (left % others if others else left):
        raise InvalidInputError(
            f"{left} layers do not divide by {others} ranks, as Megatron-LM asks; expected other "
            "counts, or a layout."
        )
    found = [left // others if others else 0] * size
    for at, end in zip((0, -1), ends, strict=True):
        if end is not None:
            found[at] = end
    return found


def in_parts(ranks: Sequence[int], parts: int) -> list[int]:
    """Return how many layers each part has, if each rank has as many parts of equal size."""
    uneven = [count for count in ranks if count % parts]
    if uneven:
        raise InvalidInputError(
            f"{uneven[0]} layers of a rank do not divide by {parts} virtual stages, as Megatron-LM "
            "asks; expected another number."
        )
    return [count // parts for count in ranks] * parts
