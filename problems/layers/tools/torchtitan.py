"""Splits of torchtitan, as the first modules of stages, or as the modules of each part.

``module_fqns_per_model_part``, in torchtitan/config/configs.py and `_pipeline_module_split` in
torchtitan/distributed/pipeline_parallel.py, pytorch/torchtitan at b5bcd76c, has taken the place of
``pipeline_parallel_split_points``, which versions until 2025 have. Embedding and output may be a
stage alone. Looped schedules put part j on rank j mod pp; ZBVZeroBubble and DualPipeV do not.
"""

import ast
import json
import re

from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.instance import LayerAssignment, LayersInstance
from boundmark.problems.layers.tools.option_texts import differences

SPLIT_POINTS = r"(?:--\S*)?pipeline_parallel_split_points[ =](.*)"
MODULES = r"(?:(?:--\S*)?module_fqns_per_model_part ?[ =] ?)?([\"']?\[ *\[.*)"


def _module(instance: LayersInstance, layer: int) -> str:
    before, behind = instance.chain.outer
    if layer >= instance.chain.layers - behind:
        return "norm"
    return f"layers.{layer - before}" if layer >= before else "tok_embeddings"


def write_split_points(instance: LayersInstance, solution: LayerAssignment) -> str:
    """Return a solution as the first module of each stage but the first one."""
    names = [_module(instance, stage.first) for stage in solution.stages[1:]]
    return f"pipeline_parallel_split_points={','.join(names)}"


def read_split_points(text: str, instance: LayersInstance) -> list[int]:
    """Return how many layers each part has."""
    firsts = _first_layers(instance)
    ends = []
    text = text.strip(" \"'[]")
    for name in (part.strip(" \"'") for part in text.split(",") if text):
        if name not in firsts:
            raise InvalidInputError(
                f"there is no split point {quoted(name)}; expected names such as layers.1 or norm."
            )
        ends.append(firsts[name])
    return differences([0, *ends, instance.chain.layers])


def _first_layers(instance: LayersInstance) -> dict[str, int]:
    """Return the first layer of each module."""
    n, behind = instance.chain.layers, instance.chain.outer[1]
    found: dict[str, int] = {}
    for layer in range(n):
        found.setdefault(_module(instance, layer), layer)
    return found | (dict.fromkeys(("output", "lm_head"), n - behind) if behind else {})


def write_modules(instance: LayersInstance, solution: LayerAssignment) -> str:
    """Return a solution as lists of modules."""
    parts = []
    for stage in solution.stages:
        names = dict.fromkeys(_module(instance, at) for at in range(stage.first, stage.end))
        parts.append([*names, *(["lm_head"] if "norm" in names else [])])
    return f"module_fqns_per_model_part={json.dumps(parts)}"


def read_modules(text: str, instance: LayersInstance) -> list[int]:
    """Return how many layers each part has; a norm is no layer here, nor what reads images."""
    parts = _lists(text)
    n, firsts = instance.chain.layers, _first_layers(instance)
    names = [name for name in firsts if name != "norm" and name != "output"]
    where: dict[str, int] = {}
    for at, part in enumerate(parts):
        for name in part:
            known = "lm_head" if name == "output" else name
            if known in where:
                raise InvalidInputError(f"module {quoted(name)} is in two parts; expected one.")
            if known not in firsts and re.match(r"layers\.|tok_embeddings$|lm_head$", known):
                raise InvalidInputError(
                    f"the model has no module {quoted(name)}; expected names such as layers.0."
                )
            where[known] = at
    missing = [name for name in names if name not in where]
    if missing:
        raise InvalidInputError(f"module {quoted(missing[0])} is in no part; expected it in one.")
    counts = [0] * len(parts)
    ordered = sorted(names, key=firsts.__getitem__)
    for name, end in zip(ordered, [*(firsts[x] for x in ordered[1:]), n], strict=True):
        counts[where[name]] += end - firsts[name]
    places = [where[name] for name in ordered]
    if places != sorted(places):
        raise InvalidInputError(
            "the modules of the parts are not in the order of the model; expected them in it."
        )
    return counts


def _lists(text: str) -> list[list[str]]:
    try:
        value = ast.literal_eval(text.strip().strip("\"'" if text.strip()[:1] in "\"'" else ""))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    is_lists = isinstance(value, list) and all(
        isinstance(part, list) and all(isinstance(name, str) for name in part) for part in value
    )
    if not is_lists or not value:
        raise InvalidInputError(
            f"the parts are {quoted(text)}; expected lists of names, such as "
            '[["tok_embeddings", "layers.0"], ["layers.1", "norm", "lm_head"]].'
        )
    found: list[list[str]] = value
    empty = [at for at, part in enumerate(found) if not part]
    if empty:
        raise InvalidInputError(f"part {empty[0]} has no modules; expected some in each.")
    return found


def without_schedule(text: str) -> str:
    """Return a text without the name of a schedule of PyTorch."""
    option = r"(?:--)?\S*pipeline_parallel_schedule[ =]+[\"']?(\w+)[\"']?"
    match = re.search(option, text)
    if match is None:
        return text
    if match[1].lower() in ("zbvzerobubble", "dualpipev"):
        raise InvalidInputError(
            f"the schedule {match[1]} puts parts on devices in the shape of a V; expected a looped "
            "one such as Interleaved1F1B, with part j on device j mod p."
        )
    return (text[: match.start()] + text[match.end() :]).strip()
