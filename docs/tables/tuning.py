"""Simulate `tune` on measured times: `python docs/tables/tuning.py` prints the table.

A stage takes the sum of its operators' measured times, with noise if that is asked for. Each round
solves on the costs so far, looks at what the stages take, and estimates the operators anew
(`tuned_work`); the best partition by what was seen is kept. Excess is what that partition takes at
the measured times, over the certified optimum of the library, or of a minute of `solve`.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from efficiency import sizes_of
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

STAGES = (2, 4, 8)

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


def main() -> None:
    """Print one row per number of stages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=Path, nargs="+", help="files of `boundmark profile --out`")
    parser.add_argument("--noise", type=float, default=0.0, help="standard error of a stage's time")
    parser.add_argument("--start", choices=LEAST, default="calibrated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=1, help="runs with noise, averaged")
    given = parser.parse_args()
    if given.times:
        models = [read_model(decompressed(one.read_bytes()), one.name) for one in given.times]
    else:
        models = [measured_model(name) for name in measured_models()]
    rounds = " | ".join(f"round {number}" for number in range(given.rounds + 1))
    print(f"| k | {rounds} | worst |\n| ---: |{' ---: |' * (given.rounds + 1)} --- |")
    for k in STAGES:
        found = np.array(
            [
                np.mean(
                    [
                        [*excesses(model, k, given.start, given.noise, given.rounds, seed)]
                        for seed in range(1, given.seeds + 1)
                    ],
                    axis=0,
                )
                for model in models
            ]
        )
        worst = int(found[:, -1].argmax())
        means = " | ".join(f"{mean:.1f}" for mean in found.mean(axis=0))
        print(f"| {k} | {means} | {found[worst, -1]:.1f} ({models[worst].name}) |", flush=True)


if __name__ == "__main__":
    main()
