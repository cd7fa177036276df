"""Splits of PyTorch: of its pipelining, by the first modules of stages, and of torchtitan.

``split_spec`` of `torch.distributed.pipelining.pipeline` names modules by their full names;
``pipeline_parallel_split_points``, which torchtitan had until 2025, by short ones, and is read.

``module_fqns_per_model_part``, in torchtitan/config/configs.py and `_pipeline_module_split` in
torchtitan/distributed/pipeline_parallel.py of torchtitan 0.3.0, lists the modules of each part; it
checks no names, and what is in no list is left out of the model, so that releases until 0.2.2,
which call the scores ``output``, lose them with ``lm_head``. Embedding and output may be a stage
alone. Looped schedules put part j on rank j mod pp; ZBVZeroBubble and DualPipeV do not.
"""

import ast
import json
import re
from collections.abc import Sequence

from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.layers.instance import LayersInstance
from boundmark.problems.layers.tools.launch import Launch
from boundmark.problems.layers.tools.option_texts import agree, differences

SPLIT_POINTS = (
    r"(?s)(split_spec\s*=\s*\{[^{}]*\}|\{[^{}]*SplitPoint[^{}]*\}"
    r"|pipeline_parallel_split_points[ =].*)"
)
MODULES = r"(?s)(?:^|\s|module_fqns_per_model_part[\"']?\s*[=:]?\s*)[\"']?(\[\s*\[.*\]\s*,?\s*\])"

_DEGREE = "--parallelism.pipeline_parallel_degree"


def _module(instance: LayersInstance, layer: int) -> str:
    before, behind = instance.chain.outer
    if layer >= instance.chain.layers - behind:
        return "norm"
    return f"layers.{layer - before}" if layer >= before else "tok_embeddings"


def split_file(points: Sequence[tuple[str, str]]) -> str:
    """Return a Python file that traces a model and cuts it where modules begin or end."""
    cuts = "".join(f"    {json.dumps(name)}: SplitPoint.{side},\n" for name, side in points)
    return (
        "from torch.distributed.pipelining import SplitPoint, pipeline\n\n"
        f"split_spec = {{\n{cuts}}}\n\n\n"
        "def split(model, *args, **kwargs):\n"
        '    """Return the pipe of a model, traced with one micro-batch as the model takes it."""\n'
        "    return pipeline(model, args, kwargs, split_spec=split_spec)"
    )


def write_split_points(launch: Launch) -> str:
    """Return such a file, for the first modules of stages."""
    names = launch.instance.chain.names
    points = [(names[stage.first], "BEGINNING") for stage in launch.solution.stages[1:]]
    return f"{launch.comments('THIS_FILE')}\n{split_file(points)}"


def read_split_points(text: str, instance: LayersInstance) -> list[int]:
    """Return how many layers each part has."""
    firsts = _first_layers(instance)
    points = re.findall(r"[\"']([^\"']+)[\"']\s*:\s*SplitPoint\.(BEGINNING|END)", text)
    if "split_points" in text:
        listed = re.split(r"split_points[ =]|\s--", text)[1].strip(" \"'[]")
        points = [(part.strip(" \"'"), "BEGINNING") for part in listed.split(",") if listed]
    ends = []
    for name, side in points:
        if name not in firsts:
            raise InvalidInputError(
                f"there is no split point {quoted(name)}; expected names such as layers.1 or norm."
            )
        later = sorted({at for at in firsts.values() if at > firsts[name]})
        ends.append(firsts[name] if side == "BEGINNING" else (*later, instance.chain.layers)[0])
    return differences([0, *sorted(ends), instance.chain.layers])


def _first_layers(instance: LayersInstance) -> dict[str, int]:
    """Return the first layer of each module, by short and by full names."""
    n, behind = instance.chain.layers, instance.chain.outer[1]
    found: dict[str, int] = {}
    for layer, name in enumerate(instance.chain.names):
        for one in (_module(instance, layer), name):
            found.setdefault(one, layer)
    for end in instance.chain.origin.beside[1]:
        found.setdefault(end, n - behind)
    return found | (dict.fromkeys(("output", "lm_head"), n - behind) if behind else {})


def write_modules(launch: Launch) -> str:
    """Return keys of torchtitan's configuration, with lists of modules."""
    instance, parts = launch.instance, []
    for stage in launch.solution.stages:
        names = dict.fromkeys(_module(instance, at) for at in range(stage.first, stage.end))
        parts.append([*names, *(["lm_head"] if "norm" in names else [])])
    listed = "".join(f"        {json.dumps(part)},\n" for part in parts)
    script = "-m torchtitan.train --module MODULE --config CONFIG"
    schedule = "Interleaved1F1B" if instance.virtual_stages > 1 else "1F1B"
    note = '# Releases until 0.2.2 call "lm_head" "output", and lose it under this name.'
    return (
        f"{launch.comments(script)}\n{note}\n"
        "parallelism = ParallelismConfig(\n"
        f"    pipeline_parallel_degree={len(launch.devices)},\n"
        f"    tensor_parallel_degree={launch.degree('torchtitan')},\n"
        f'    pipeline_parallel_schedule="{schedule}",\n'
        f"    module_fqns_per_model_part=[\n{listed}    ],\n)"
    )


def read_modules(match: re.Match[str], instance: LayersInstance) -> list[int]:
    """Return how many layers each part has; a norm is no layer here, nor what reads images."""
    parts = _lists(match[1])
    _check_degree(match.string, len(parts), instance)
    n, firsts = instance.chain.layers, _first_layers(instance)
    names = list(dict.fromkeys(_module(instance, at) for at in range(n - instance.chain.outer[1])))
    names += ["lm_head"] * bool(instance.chain.outer[1])
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


def _check_degree(text: str, parts: int, instance: LayersInstance) -> None:
    """Refuse a degree that is not that of the parts."""
    degree = parts // instance.virtual_stages
    match = re.search(r"pipeline_parallel_degree[ =:]+(\d{1,6})", text, re.ASCII)
    if match:
        agree(f"{_DEGREE} {match[1]}", (_DEGREE,), degree, f"there are {parts} parts")


def _lists(text: str) -> list[list[str]]:
    try:
        value = ast.literal_eval(text.strip())
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


def check_schedule(text: str) -> None:
    """Refuse a schedule of PyTorch that does not go round the devices."""
    match = re.search(r"pipeline_parallel_schedule[ =:]+[\"']?(\w+)", text)
    if match and match[1].lower() in ("zbvzerobubble", "dualpipev"):
        raise InvalidInputError(
            f"the schedule {match[1]} puts parts on devices in the shape of a V; expected a looped "
            "one such as Interleaved1F1B, with part j on device j mod p."
        )
