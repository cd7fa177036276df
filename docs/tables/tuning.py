"""Simulate `tune` on measured times: `python docs/tables/tuning.py` prints a table.

A stage takes the sum of its operators' measured times, with noise if that is asked for. Each round
solves on the costs so far, looks at what the stages take, and estimates the operators anew
(`tuned_work`); the best partition by what was seen is kept. Excess is what that partition takes at
the measured times, over the certified optimum of the library, or of a minute of `solve`. `--save`
keeps the rows in tuning.csv, of which docs/true-costs.md has a table.
"""

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from efficiency import sizes_of
from page import markdown
from true_costs import calibrated, roofline, with_work

import boundmark
from boundmark.benchmarks.measuring.pipeline.tuned_costs import StageObservation, tuned_work
from boundmark.datasets.measured import (
    MeasuredModel,
    graph_of,
    measured_model,
    measured_models,
    read_model,
)
from boundmark.problems.calibrated_costs import operator_class
from boundmark.problems.files import decompressed
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.costs import pipeline_graph_of
from boundmark.problems.pipeline.instance import stage_costs
from boundmark.reports.text import gap_percent

STAGES = (2, 4, 8)

STORED = Path(__file__).with_name("tuning.csv")

# Operators that are predicted to take nothing, such as views, may take a launch.
LEAST = {"roofline": 1_000, "calibrated": 0}


def excesses(
    model: MeasuredModel, k: int, start: str, noise: float, rounds: int, seed: int
) -> Iterator[float]:
    """Yield how far the best partition is above the optimum, before and after each round."""
    graph = pipeline_graph_of(graph_of(model))
    instance = PipelineInstance(graph, k)
    optimum = boundmark.solve(graph, "pipeline", k=k, seconds=60, quiet=True).bound
    costs_of = {"roofline": roofline, "calibrated": calibrated}[start]
    predicted = np.maximum(costs_of(model), LEAST[start])
    sizes = sizes_of(model)
    classes = [operator_class(one) for one in sizes]
    kinds = [(one.op_type, one.flops, one.reads, one.writes, one.parameters) for one in sizes]
    generator = np.random.default_rng(seed)
    work, best, real = predicted.astype(np.float64), np.inf, 0
    seen: list[list[StageObservation]] = []
    for _ in range(rounds + 1):
        costs = with_work(graph, np.rint(work).astype(np.int64))
        found = boundmark.solve(costs, "pipeline", k=k, seconds=5, quiet=True, library=False)
        stages = Partition.from_json(found.record.solution).stages
        stage_of = [stages == number for number in range(k)]
        true = np.array([graph.work[one].sum() for one in stage_of])
        shown = true * (1 + noise * generator.standard_normal(k))
        seen.append([StageObservation(*one, noise) for one in zip(stage_of, shown, strict=True)])
        cost = float((stage_costs(graph, stages, k) - true + shown).max())
        if cost < best:
            best, real = cost, instance.objective(Partition(stages))
        yield 100 * (real / optimum - 1)
        work = tuned_work(predicted, classes, kinds, seen)


def row_of(model: str, k: int, found: Sequence[float], given: argparse.Namespace) -> dict[str, Any]:
    """Return a row: the excess in percent before, and after each round."""
    rounds = {f"round {number}": round(excess, 3) for number, excess in enumerate(found)}
    return {"start": given.start, "noise": given.noise, "k": k, "model": model, **rounds}


def table(rows: pd.DataFrame) -> str:
    """Return the means over models, and the worst model, one row per start, noise and k."""
    rounds = [name for name in rows if name.startswith("round ")]
    lines = []
    for (start, noise, k), cell in rows.groupby(["start", "noise", "k"]):
        worst = cell.loc[cell[rounds[-1]].idxmax()]
        means = [gap_percent(mean / 100) for mean in cell[rounds].mean()]
        shown = gap_percent(worst[rounds[-1]] / 100), worst["model"]
        lines.append([start, f"{100 * noise:g} %", str(k), *means, *shown])
    head = ["start", ">noise", ">k", *(f">{one}" for one in rounds), ">worst", "worst model"]
    return markdown(head, lines)


def stored() -> pd.DataFrame:
    """Return the rows that `--save` has kept."""
    return pd.read_csv(STORED)


def main() -> None:
    """Print one row per number of stages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=Path, nargs="+", help="files of `boundmark profile --out`")
    parser.add_argument("--noise", type=float, default=0.0, help="standard error of a stage's time")
    parser.add_argument("--start", choices=LEAST, default="calibrated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=1, help="runs with noise, averaged")
    parser.add_argument("--save", action="store_true", help="keep the rows for the page")
    given = parser.parse_args()
    if given.times:
        models = [read_model(decompressed(one.read_bytes()), one.name) for one in given.times]
    else:
        models = [measured_model(name) for name in measured_models()]
    rows = []
    for k, model in itertools.product(STAGES, models):
        runs = [
            [*excesses(model, k, given.start, given.noise, given.rounds, seed)]
            for seed in range(1, given.seeds + 1)
        ]
        rows.append(row_of(model.name, k, np.mean(runs, axis=0).tolist(), given))
        print(rows[-1], file=sys.stderr, flush=True)
    made = pd.DataFrame(rows)
    print(table(made))
    if given.save:
        if STORED.exists():
            others = stored()
            again = (others["start"] == given.start) & (others["noise"] == given.noise)
            made = pd.concat([others[~again], made])
        made.to_csv(STORED, index=False)


if __name__ == "__main__":
    main()
