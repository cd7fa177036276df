"""Run partitions of PyTorch models on this machine: `python docs/tables/machine_runs.py FOLDER`.

Needs torch and transformers, nothing from a network, and a machine that does nothing else. A model
takes one to four minutes; begins none after --minutes, and goes on where it stopped.

For each model and number of stages: the partitions that are optimal on the roofline, on calibrated
costs and at times that `boundmark profile` has measured here, the one that `boundmark tune` has
found from these times, and one of even work; what the slowest stage of each was predicted to take,
and what it takes when its stages run, those of all partitions in turns. Each model has a file in
FOLDER; --save keeps all of them in machine_runs.csv, of which docs/true-costs.md has a table.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from page import markdown

import boundmark
from boundmark.benchmarks.measuring.pipeline import torch_stages
from boundmark.benchmarks.measuring.pipeline.torch_stages import TorchSettings, stage_key
from boundmark.benchmarks.measuring.torch_execution import Program, runnable
from boundmark.benchmarks.solving.model import choose, load
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.pipeline.instance import stage_costs, stage_work

STORED = Path(__file__).with_name("machine_runs.csv")

COSTS = ("even work", "roofline", "calibrated", "measured", "tuned")

# All stages of all partitions of a cell run in turns, two runs each after two that do not count;
# every fifth turn together is one of five repeats.
RUNS, REPEATS = 2, 5

# Runs of each operator.
PROFILE_RUNS = 20

# Costs on a device that is no GPU of the list are those of its kind.
BASES = {"cpu": "x86-core", "cuda": "nvidia-h100"}

# Nobody has fitted efficiencies to other machines.
CALIBRATED = "nvidia-h100"

# Rounds of `tune` end before, where none is expected to bring anything.
MOST_ROUNDS = 8


def models() -> Mapping[str, Callable[[], tuple[Any, Any]]]:
    """Return functions that make a module and its example inputs, by name: six of three kinds."""
    import torch
    import transformers as hf

    torch.manual_seed(1)
    image = torch.randn(1, 3, 224, 224)
    words = torch.ones(1, 128, dtype=torch.long)
    return {
        "resnet-50": lambda: (hf.ResNetModel(hf.ResNetConfig()), image),
        "mobilenet-v2": lambda: (hf.MobileNetV2Model(hf.MobileNetV2Config()), image),
        "bert-base": lambda: (hf.BertModel(hf.BertConfig()), words),
        "swin-t": lambda: (hf.SwinModel(hf.SwinConfig()), image),
        "t5-small-encoder": lambda: (hf.T5EncoderModel(hf.T5Config()), words),
        "vit-b-16": lambda: (hf.ViTModel(hf.ViTConfig()), image),
    }


def exported(name: str, make: Callable[[], tuple[Any, Any]], folder: Path) -> Path:
    """Return the file with a model's program, which returns a tensor.

    Programs that return objects of transformers load only where that has been imported.
    """
    import torch

    class First(torch.nn.Module):
        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module = module

        def forward(self, inputs: Any) -> Any:
            return self.module(inputs)[0]

    path = folder / f"{name}.pt2"
    if not path.exists():
        module, inputs = make()
        with torch.no_grad():
            torch.export.save(torch.export.export(First(module.eval()), (inputs,)), path)
    return path


def solved(path: Path, base: str, k: int, costs: str, *methods: str) -> tuple[np.ndarray, int]:
    """Return the best stages on some costs, shape (n,), and the ticks of the slowest one."""
    found = boundmark.solve(
        boundmark.load(path, device=base), "pipeline", k=k, costs=costs, methods=methods,
        quiet=True, library=False,
    )  # fmt: skip
    return found.solution["stage"].to_numpy(), found.cost


def computing(
    program: Program, partitions: list[np.ndarray], settings: TorchSettings, seconds: float
) -> dict[bytes, list[float]]:
    """Return the nanoseconds that stages compute, the median of each repeat.

    A stage is known by its operators, so that equal ones of several partitions run once.
    """
    timers: dict[bytes, torch_stages.Timer] = {}
    for stages in partitions:
        torch_stages.add_timers(timers, program, stages, settings)
    taken: dict[bytes, list[list[int]]] = {key: [[] for _ in range(REPEATS)] for key in timers}
    end = time.monotonic() + seconds
    turns = 0
    while turns < REPEATS or time.monotonic() < end:
        for key, timer in timers.items():
            taken[key][turns % REPEATS] += timer(RUNS).times
        turns += 1
    return {key: [statistics.median(one) for one in repeats] for key, repeats in taken.items()}


def real_times(
    graph: PipelineGraph, stages: np.ndarray, k: int, computed: Mapping[bytes, list[float]]
) -> list[int]:
    """Return the nanoseconds of a partition's slowest stage in each repeat."""
    sending = stage_costs(graph, stages, k) - stage_work(graph, stages, k)
    return [
        round(max(
            computed[stage_key(stages, at)][repeat] + sending[at]
            for at in set(stages.tolist())
        ))
        for repeat in range(REPEATS)
    ]  # fmt: skip


def rows(
    path: Path, sizes: list[int], settings: TorchSettings, seconds: float
) -> Iterator[dict[str, Any]]:
    """Yield a row for each number of stages and partition of a model."""
    times = path.with_suffix(".times.json")
    on = {"torch_device": settings.device, "compiled": settings.is_compiled}
    base = BASES[settings.device]
    boundmark.profile(path, base=base, repeats=PROFILE_RUNS, **on).save(times)
    program = runnable(path, device=settings.device)
    for k in sizes:
        found = {
            "even work": solved(path, base, k, "roofline", "balanced-work"),
            "roofline": solved(path, base, k, "roofline"),
            "calibrated": solved(path, CALIBRATED, k, "calibrated"),
            "measured": solved(path, base, k, str(times)),
        }
        tuned = boundmark.tune(path, k, rounds=MOST_ROUNDS, device=base, costs=str(times), **on)
        best = tuned.best
        found["tuned"] = best.stages, max(best.real)
        made = choose(load(path, device=base), {"k": k}, "pipeline", are_texts=False)
        graph = made.make(made.given).graph
        computed = computing(program, [stages for stages, _ in found.values()], settings, seconds)
        for name, (stages, predicted) in found.items():
            real = real_times(graph, stages, k, computed)
            yield {
                "k": k, "costs": name, "predicted": predicted,
                "real": round(statistics.median(real)), "low": min(real), "high": max(real),
                "rounds": len(tuned.rounds), "bound": tuned.bound,
            }  # fmt: skip


def stored() -> pd.DataFrame:
    """Return the stored lines, times in nanoseconds."""
    return pd.read_csv(STORED)


def excess(runs: pd.DataFrame) -> pd.Series:
    """Return how far each partition is above the best of its cell, in percent."""
    cell = runs.groupby(["machine", "mode", "model", "k"])
    return 100 * (runs["real"] / cell["real"].transform("min") - 1)


def table(runs: pd.DataFrame) -> list[str]:
    """Return a row for each machine, model and number of stages: milliseconds, and excess."""
    lines = []
    keys = ["machine", "mode", "model", "k"]
    for (machine, mode, model, k), own in runs.assign(excess=excess(runs)).groupby(
        keys, sort=False
    ):
        cell = own.set_index("costs")
        tuned = cell.loc["tuned"]
        above = [f"{cell.loc[name, 'excess']:.1f}" for name in COSTS]
        interval = f"{tuned['low'] / 1e6:.1f} to {tuned['high'] / 1e6:.1f}"
        shown = f"{tuned['real'] / 1e6:.1f}", interval, str(tuned["rounds"])
        lines.append([f"{machine}, {mode}", str(model), str(k), *above, *shown])
    head = ["machine", "model", ">k", *COSTS, "tuned, ms", "five repeats", "rounds"]
    return markdown(head, lines, text_columns=2).splitlines()


def all_rows(folder: Path) -> pd.DataFrame:
    """Return the rows of all models in a folder."""
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.runs.json"))]
    return pd.DataFrame([row for one in found for row in one])


def machine_of(settings: TorchSettings) -> str:
    """Return what runs the stages, in words; refuse a GPU that torch does not find."""
    import torch

    from boundmark.benchmarks.running.environment import cpu_name

    if settings.device == "cpu":
        return f"{cpu_name()}, one thread"
    if not torch.cuda.is_available():
        raise SystemExit("torch finds no GPU; expected one, or --torch-device cpu.")
    return str(torch.cuda.get_device_name())


def main() -> None:
    """Run what has no file yet, and print the table of all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--torch-device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seconds", type=float, default=40.0, help="of runs for each table row")
    parser.add_argument("--stages", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--models", nargs="+", help="names; by default, all six")
    parser.add_argument("--compiled", action="store_true", help="compiled stages, too")
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    print("\n".join(__doc__.splitlines()[2:4]), flush=True)
    given.folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * given.minutes
    names = given.models or list(models())
    # First three models in both modes, then the others.
    modes = (False, True) if given.compiled else (False,)
    jobs = [(name, mode) for part in (names[:3], names[3:]) for mode in modes for name in part]
    for name, is_compiled in jobs:
        mode = "compiled" if is_compiled else "eager"
        path = given.folder / f"{name}.{mode}.runs.json"
        if path.exists():
            continue
        if time.monotonic() > end:
            print(f"the time is up; {name}, {mode}, and what follows are left", flush=True)
            break
        settings = TorchSettings(is_compiled, given.torch_device)
        place = {"machine": machine_of(settings), "mode": mode, "model": name}
        program = exported(name, models()[name], given.folder)
        try:
            found = [
                {**place, **row} for row in rows(program, given.stages, settings, given.seconds)
            ]
        except boundmark.Error as error:
            print(f"{name}, {mode}: {error}", flush=True)
            continue
        path.write_text(json.dumps(found))
        print("\n".join(table(pd.DataFrame(found))), flush=True)
    made = all_rows(given.folder)
    if given.save and len(made):
        others = stored() if STORED.exists() else made[:0]
        keys = ["machine", "mode", "model", "k"]
        again = others[keys].apply(tuple, axis=1).isin(made[keys].apply(tuple, axis=1))
        pd.concat([others[~again], made]).to_csv(STORED, index=False)


if __name__ == "__main__":
    main()
