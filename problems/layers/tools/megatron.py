"""Megatron-LM's options for the layers of each pipeline stage.

As of megatron-core 0.16.1: `PipelineParallelLayerLayout` in
megatron/core/transformer/pipeline_parallel_layer_layout.py for layouts; `get_num_layers_to_build`
in megatron/core/transformer/transformer_block.py and `validate_args` in
megatron/training/arguments.py for counts.

In a layout, E is the embedding, t a layer, m one that predicts a further word, L the loss, and
``|`` separates parts. Of pp * vpp parts, part j is on rank j mod pp: without a size, pp is 1. All m
are in one part, the last one of its rank. Without a layout, the loss and all m are in the last
part. An embedding or a loss may be a part alone, and a part may be empty.

Models with Mamba layers take no layout. ``--hybrid-layer-pattern``, of main at d98e8a64, has a
letter for each mixer and network, ``|`` between parts, and layers that predict further words behind
``/``, on the last rank; see megatron/core/models/hybrid/hybrid_layer_allocation.py there. Releases
until 0.16.1 cut such models evenly, whatever the layout says.
"""

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise

from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.chain import MOST_LAYERS
from boundmark.problems.layers.instance import LayersInstance
from boundmark.problems.layers.tools.launch import Launch
from boundmark.problems.layers.tools.option_texts import agree, integer, read_options

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

# Options that say the same as the instance does.
_LAYERS, _PREDICTING, _TENSOR = (
    "--num-layers", "--mtp-num-layers", "--tensor-model-parallel-size",
)  # fmt: skip
PATTERN_OPTION, MAMBA = "--hybrid-layer-pattern", "M"
OPTIONS = (*_OPTIONS, _LAYERS, _PREDICTING, _TENSOR, PATTERN_OPTION)
TORCHRUN = ("--nproc-per-node", "--nnodes", "--node-rank", "--master-addr")

_SPLITTING = "|".join((*_OPTIONS, PATTERN_OPTION))
PATTERN = rf"(?s)^((?:.*\s)?(?:{_SPLITTING})\b.*|\s*[\"']?E[tmL|*()\d,\\\s]*L[\"']?\s*)$"


def write_megatron(launch: Launch) -> str:
    """Return the lines that start training with a layout."""
    (before, behind), middle = launch.outer, launch.repeated
    if before != 1 or behind < 1:
        raise InvalidInputError(
            "the model has no embedding or no loss, and Megatron-LM's layouts have both; expected "
            "a language model."
        )
    size, tensor, order = len(launch.devices), launch.degree("Megatron-LM"), ""
    further = f" {launch.further}" * bool(launch.further)
    if launch.experts > 1:
        # Each expert is whole: without the second option, tensor parallelism splits it.
        further += f" --expert-model-parallel-size {launch.experts * tensor}"
        further += " --expert-tensor-parallel-size 1"
        launch, order = launch.stage_by_stage("Megatron-LM")
    elif launch.replicas > 1 and size > 1:
        # Ranks replica after replica, which parallel_state.py refuses for experts.
        further += " --use-tp-pp-dp-mapping"
    pattern = launch.instance.chain.origin.pattern
    if MAMBA in "".join(pattern):
        if behind > 1:
            raise InvalidInputError(
                "the model has Mamba layers, and others that predict further words, for which no "
                "pattern of Megatron-LM is known here; expected one without."
            )
        every = ("", *pattern, "")
        hybrid = "|".join("".join(every[one.first : one.end]) for one in launch.solution.stages)
        note = f"# {PATTERN_OPTION} is of main at d98e8a64; 0.16.1 cuts Mamba hybrids evenly.\n"
        return (
            order
            + note
            + launch.torchrun(
                f'pretrain_hybrid.py {SIZE} {size} {_TENSOR} {tensor} {PATTERN_OPTION} "{hybrid}"'
                + further
            )
        )
    letters = "E" + "t" * middle + "m" * (behind - 1) + "L"
    parts = [letters[stage.first : stage.end] for stage in launch.solution.stages]
    _check_predicting(parts, size)
    written = "|".join(re.sub("tt+", lambda run: f"t*{len(run[0])}", part) for part in parts)
    predicting = f" {_PREDICTING} {behind - 1}" * (behind > 1)
    return order + launch.torchrun(
        f"pretrain_gpt.py {_LAYERS} {middle}{predicting} {SIZE} {size} "
        f'{_TENSOR} {tensor} {LAYOUT} "{written}"' + further
    )


def read_megatron(text: str, instance: LayersInstance) -> list[int]:
    """Return how many layers each part has, the embedding, the loss and all m among them."""
    if not text.lstrip("\"' ").startswith("E"):
        known = (*_OPTIONS, PATTERN_OPTION)
        given = read_options(text, {name: name for name in known}, (EMBEDDING, LOSS))
    else:
        given = {LAYOUT: text.strip("\"' ")}
    outer = instance.chain.outer
    layers = instance.chain.layers - sum(outer)
    if PATTERN_OPTION in given:
        counts = _of_pattern(given, instance)
    else:
        agree(text, (_LAYERS,), layers, f"the model has {layers} layers")
        counts = _of_layout(given, instance) if LAYOUT in given else _of_counts(given, instance)
    if instance.virtual_stages > 1 and 0 in counts:
        raise InvalidInputError(
            f"part {counts.index(0)} of {len(counts)} is empty; expected layers in each where a "
            "device has several."
        )
    return counts


def _of_pattern(given: dict[str, str], instance: LayersInstance) -> list[int]:
    """Return how many layers each part of a pattern has, whose cuts are between whole layers."""
    others = given.keys() - {PATTERN_OPTION, SIZE}
    if others:
        raise InvalidInputError(f"{min(others)} is given with a pattern; expected one of the two.")
    main, *predicting = given[PATTERN_OPTION].split("/")
    layers, (before, behind) = instance.chain.origin.pattern, instance.chain.outer
    whole, parts = "".join(layers), main.split("|")
    if not layers or "".join(parts) != whole:
        raise InvalidInputError(
            f"{PATTERN_OPTION} is {quoted(main)}; expected "
            + (f"{quoted(whole)} with | between parts." if layers else "a model with Mamba layers.")
        )
    if len(predicting) != max(0, behind - 1):
        raise InvalidInputError(
            f"the pattern has {len(predicting)} parts behind /; expected {max(0, behind - 1)}, as "
            "many as the model predicts further words in this phase."
        )
    if SIZE in given:
        _check_virtual(len(parts), integer(given[SIZE], SIZE, 1), instance.virtual_stages)
    ends = {end: at for at, end in enumerate(accumulate(map(len, layers), initial=0))}
    cuts = list(accumulate(map(len, parts), initial=0))
    within = [cut for cut in cuts if cut not in ends]
    if within:
        raise InvalidInputError(
            f"the pattern cuts between a mixer and its network, {quoted(whole[: within[0]])}; "
            "expected cuts between whole layers."
        )
    counts = [ends[b] - ends[a] for a, b in pairwise(cuts)]
    counts[0] += before
    counts[-1] += behind
    return counts


def _of_layout(given: dict[str, str], instance: LayersInstance) -> list[int]:
    others = given.keys() - {LAYOUT, SIZE}
    if others:
        raise InvalidInputError(f"{min(others)} is given with a layout; expected one of the two.")
    layout = given[LAYOUT].replace(",", "")
    if re.search(r"[\\\s]", layout):
        raise InvalidInputError(
            f"the layout is {quoted(layout)}; expected no spaces and no backslashes, as "
            "Megatron-LM takes none."
        )
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
    _check_predicting(parts, max(1, len(parts) // virtual))
    return [len(part) for part in parts]


def _check_virtual(parts: int, size: int, virtual: int) -> None:
    """Refuse options for other virtual stages than the instance has."""
    if parts != size * virtual:
        raise InvalidInputError(
            f"there are {parts} parts on {size} ranks; expected {size * virtual}, since "
            f"virtual_stages is {virtual}."
        )


def _check_predicting(parts: Sequence[str], size: int) -> None:
    """Refuse m in several parts, or in one that is not the last of its rank."""
    having = [at for at, part in enumerate(parts) if "m" in part]
    if len(having) > 1:
        raise InvalidInputError(
            f"parts {having[0]} and {having[1]} have layers m; expected all m in one part, as "
            "Megatron-LM asks."
        )
    if having and having[0] < len(parts) - size:
        raise InvalidInputError(
            f"part {having[0]} has layers m, and rank {having[0] % size} has a later part; "
            "expected them in the last part of a rank, as Megatron-LM asks."
        )


def _expanded(layout: str) -> str:
    """Return a layout without ``(tt|)*3``, and then without ``x*3``; groups are not nested."""
    left = 4 * MOST_LAYERS

    def repeated(match: re.Match[str]) -> str:
        nonlocal left
        times = int(match[2][:6])
        left -= len(match[1]) * times
        if left < 0:
            raise InvalidInputError(
                f"the layout repeats {quoted(match[1])} {match[2]} times; expected less."
            )
        return match[1] * times

    for pattern in (r"\(([^)]+)\)\*(\d+)", r"(.)\*(\d+)"):
        layout = re.sub(pattern, repeated, layout, flags=re.ASCII)
    return layout


def _of_counts(given: dict[str, str], instance: LayersInstance) -> list[int]:
    """Return the counts of stages that are equal but for the first and the last one."""
    before, behind = instance.chain.outer
    layers, virtual = instance.chain.layers - before - behind, instance.virtual_stages
    size = integer(given.get(SIZE, str(len(instance.chain.devices))), SIZE, 1)
    ends = [integer(given[one], one, 1) if one in given else None for one in (FIRST, LAST)]
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
