"""Print the table of human experts: `python docs/tables/human_experts.py CHECKOUT [SECONDS]`.

CHECKOUT is one of msr-fiddle/dnn-partitioning (MIT licence), whose layer graphs come with splits
that experts made for six devices. Each is graded against the optimum for graphs within the memory
of devices, with transfers as they are in the files, and in milliseconds as they were meant. Where
there is no split for training, that for inference is taken, as the authors do.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

import boundmark
from boundmark.problems.pipeline import PROBLEM, Partition, PipelineInstance

MODELS = ("bert24", "gnmt", "inceptionv3", "resnet50")
DEVICES = 6


def split(checkout: Path, graph: Path, model: str, phase: str) -> dict[str, int]:
    """Return the device of each node, by its name."""
    folder = checkout / "human-experts"
    file = folder / f"{model}_{phase}_expert.json"
    if not file.exists():
        file = folder / f"{model}_inference_expert.json"
    devices = json.loads(file.read_text())["fpgas"]
    names = {node["id"]: node["name"] for node in json.loads(graph.read_text())["nodes"]}
    return {names[v]: at for at, device in enumerate(devices) for v in device["nodes"]}


def as_written(graph: Path, folder: Path) -> Path:
    """Write the graph without the sizes by which transfers in seconds are told."""
    document = json.loads(graph.read_text())
    for edge in document["edges"]:
        edge.pop("size", None)
    path = folder / graph.name
    path.write_text(json.dumps(document))
    return path


def row(checkout: Path, graph: Path, path: Path, model: str, phase: str, seconds: float) -> str:
    """Return cost of the split, optimum or bound, and the gap."""
    loaded = boundmark.load(path)
    instance = PROBLEM.maker(loaded.source)({"k": DEVICES})
    assert isinstance(instance, PipelineInstance)
    on = split(checkout, graph, model, phase)
    stages = Partition(np.array([on[name] for name in instance.graph.names]))
    try:
        cost = instance.objective(stages)
    except boundmark.InvalidInputError as error:
        return f"| none: {error} | | |"
    fits = cost < 10**6 * instance.graph.work.sum() if instance.graph.cache else True
    answer = boundmark.solve(loaded, "pipeline", seconds=seconds, k=DEVICES)
    assert answer.cost is not None
    assert answer.bound is not None
    best = f"{answer.cost / 1e6:,.3f}"
    if answer.bound < answer.cost:
        best += f" (at least {answer.bound / 1e6:,.3f})"
    above = f"{100 * (cost / answer.cost - 1):.1f} %" if fits else "does not fit"
    return f"{cost / 1e6:,.3f} | {best} | {above}"


def main() -> None:
    """Print a row for each model and phase."""
    checkout, seconds = Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 20.0
    print(
        "| model | phase | expert, ms | optimum | above | mended: expert, ms | optimum | above |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    for phase in ("inference", "training"):
        for model in MODELS:
            graph = checkout / "throughput-inputs/LayerGraphs" / f"{model}_{phase}.json"
            with tempfile.TemporaryDirectory() as folder:
                found = [
                    row(checkout, graph, path, model, phase, seconds)
                    for path in (as_written(graph, Path(folder)), graph)
                ]
            print(f"| {model} | {phase} | {' | '.join(found)} |", flush=True)


if __name__ == "__main__":
    main()
