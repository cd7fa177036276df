"""Run partitions of PyTorch models on this processor: `processor_costs.py FOLDER`.

For each model in 2 and 4 stages: partitions that are optimal on the roofline, on calibrated costs
and at times that `boundmark profile` has measured here; what the slowest stage of each was
predicted to take, and what it takes to compute when `boundmark measure` runs it. Prints the lines
of processor_costs.tsv, of which docs/true-costs.md has a table. With --compiled, times and stages
are those of torch.compile. Needs torch and transformers, and a machine that does nothing else.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from page import markdown

STAGES = (2, 4)

STORED = Path(__file__).with_name("processor_costs.tsv")

# Measured this many times, in turns, since a machine's clock changes within minutes.
ROUNDS = 2


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
        "vit-b-16": lambda: (hf.ViTModel(hf.ViTConfig()), image),
        "swin-t": lambda: (hf.SwinModel(hf.SwinConfig()), image),
        "bert-base": lambda: (hf.BertModel(hf.BertConfig()), words),
        "t5-small-encoder": lambda: (hf.T5EncoderModel(hf.T5Config()), words),
    }


def boundmark(*arguments: str) -> dict[str, Any]:
    """Run a command and return the JSON that it prints."""
    command = [sys.executable, "-m", "boundmark", *arguments, "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def exported(name: str, make: Callable[[], tuple[Any, Any]], folder: Path) -> Path:
    """Return the file with a model's program."""
    import torch

    path = folder / f"{name}.pt2"
    if not path.exists():
        module, inputs = make()
        with torch.no_grad():
            torch.export.save(torch.export.export(module.eval(), (inputs,)), path)
    return path


def rows(path: Path, mode: tuple[str, ...]) -> list[tuple[int, str, int, int]]:
    """Return k, costs, predicted and real nanoseconds for each partition of a model."""
    times = path.with_suffix(".times.json")
    on = ("--torch-device", "cpu", *mode)
    runs = ("--repeats", "10")
    boundmark("profile", str(path), *on, "--base", "nvidia-h100", "--out", str(times))
    found = []
    for k in STAGES:
        predicted, solutions = {}, {}
        for costs in ("roofline", "calibrated", str(times)):
            answer = boundmark("solve", str(path), "-k", str(k), "--costs", costs, "--quiet")
            name = "measured" if costs == str(times) else costs
            predicted[name] = answer["objective"]
            solutions[name] = path.with_suffix(f".{k}.{name}.json")
            solutions[name].write_text(json.dumps(answer["named_solution"]))
        real: dict[str, list[int]] = {name: [] for name in solutions}
        for _ in range(ROUNDS):
            for name, solution in solutions.items():
                run = boundmark("measure", str(path), str(solution), "-k", str(k), *on, *runs)
                real[name].append(max(run["alone_ns"]))
        found += [(k, name, predicted[name], min(real[name])) for name in solutions]
    return found


def stored() -> pd.DataFrame:
    """Return the stored lines, times in nanoseconds."""
    names = ["model", "k", "costs", "predicted", "real"]
    return pd.read_csv(STORED, sep="\t", names=names)


def table() -> list[str]:
    """Return a row for each model and number of stages, of the stored lines."""
    lines = []
    for (name, k), own in stored().groupby(["model", "k"], sort=False):
        times = own.set_index("costs")
        real = [times.loc[costs, "real"] for costs in ("roofline", "calibrated", "measured")]
        cells = [f"{one / 1e6:,.1f}" for one in real]
        cells += [f"{one / min(real) - 1:.1%}" for one in real]
        ratio = times.loc["measured", "predicted"] / times.loc["measured", "real"]
        lines.append([name, str(k), *cells, f"{ratio:.2f}"])
    head = [
        "model", "k", "real, roofline", "calibrated", "measured", "excess, roofline", "calibrated",
        "measured", "measured: predicted / real",
    ]  # fmt: skip
    return markdown(head, lines).splitlines()


def main() -> None:
    """Print a row for each model and number of stages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--compiled", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, make in models().items():
        path = exported(name, make, given.folder)
        for row in rows(path, ("--compiled",) if given.compiled else ()):
            print(name, *row, sep="\t", flush=True)


if __name__ == "__main__":
    main()
