"""Measure how true costs are: `python docs/tables/true_costs.py FOLDER` writes true_costs.json.

For each model of the data set `measured` in 2, 4 and 8 stages: the certified optimum at measured
times; and for the roofline and for calibrated costs the partition that is optimal on them, what
they say that it costs, and what it costs at measured times. Calibrated costs are those of a table
that was fitted without the model's family. FOLDER keeps all results, and what it has is not
computed again. With --print, the tables of docs/true-costs.md, of the stored rows only.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from efficiency import family, fitted, predicted
from results_page import markdown

import boundmark
from boundmark.datasets.measured import MeasuredModel, load, measured_model, measured_models
from boundmark.problems.operator_types import FREE_OP_TYPES
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.costs import pipeline_graph_of
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.reports.true_costs import FILE, Row, Total, layer_ratios, rows, summary, totals

STAGES = (2, 4, 8)

# The stage of each operator, by model, costs and k, from which a test computes all costs again.
STORED = Path(__file__).with_name("true_costs.json")
PARTITIONS: dict[str, str] = {}

DATA = Path(__file__).parents[2] / "datasets" / "measured" / "data" / "h100"


def roofline(model: MeasuredModel) -> np.ndarray:
    """Return the nanoseconds of a model's operators on the roofline, shape (n,)."""
    device = model.base
    moved = model.read_bytes + model.output_bytes + model.param_bytes
    seconds = np.maximum(model.flops / device.rate(model.dtype), moved / device.memory_bandwidth)
    is_free = np.array([one in FREE_OP_TYPES for one in model.op_types])
    return np.where(is_free, 0, np.rint((seconds + device.op_overhead) * 1e9)).astype(np.int64)


def with_work(graph: PipelineGraph, work: np.ndarray) -> PipelineGraph:
    """Return a graph with other times of its operators."""
    return PipelineGraph(
        graph.dag, work, graph.transfer, graph.param_load, graph.cache, graph.names, graph.tick
    )


def measured_rows(name: str, seconds: float, folder: Path) -> Iterable[Row]:
    """Yield a row for each number of stages and costs."""
    model = measured_model(name)
    graph = pipeline_graph_of(load(name))
    work = {"roofline": roofline(model), "calibrated": calibrated(model)}
    for k in STAGES:
        # The library has most optima.
        best = boundmark.solve(f"measured/{name}", k=k, seconds=seconds, quiet=True, out=folder)
        instance = PipelineInstance(graph, k)
        for costs, times in work.items():
            found = boundmark.solve(
                with_work(graph, times), "pipeline", k=k, seconds=seconds, quiet=True, out=folder,
                library=False,
            )  # fmt: skip
            partition = Partition.from_json(found.record.solution)
            real = instance.objective(partition)
            PARTITIONS[f"{name} {costs} {k}"] = " ".join(map(str, partition.stages.tolist()))
            yield Row(name, costs, k, found.cost, found.bound, real, best.bound)
            print(name, k, costs, f"{found.cost / real:.2f}", f"{real / best.bound - 1:.1%}")


def calibrated(model: MeasuredModel) -> np.ndarray:
    """Return the nanoseconds of operators by a table without the model's family, shape (n,)."""
    others = [measured_model(one) for one in measured_models() if family(one) != family(model.name)]
    return predicted(model, fitted(others))


def total(name: str) -> Total:
    """Return the sums of a model's operators."""
    model = measured_model(name)
    sums = (int(one.sum()) for one in (roofline(model), calibrated(model), model.measured_ns))
    return Total(name, *sums, model.measurement.whole_ns)


def layers() -> dict[str, list[float]]:
    """Return what `layers` predicted for a layer over what it took when compiled, by phase."""
    found: dict[str, list[float]] = {}
    for line in (DATA / "layers.jsonl").read_text().splitlines():
        row = json.loads(line)
        ratio = row["predicted_us"] / row["compiled_us"]
        found.setdefault(row["phase"], []).append(round(ratio, 3))
    return found


def stage_table() -> list[str]:
    """Return a row for each model whose stages were run, as lines."""
    predicted = {
        row.model: row.predicted for row in rows() if (row.costs, row.k) == ("roofline", 4)
    }
    lines = []
    for line in (DATA / "stages.jsonl").read_text().splitlines():
        row = json.loads(line)
        name = next(one for one in predicted if measured_model(one).model == row["model"])
        found = dict(row["result"])
        slowest = [
            f"{max(found[which][how]) * 1e6:,.0f}"
            for which in ("roofline", "measured")
            for how in ("eager", "compiled")
        ]
        lines.append([name, f"{predicted[name] / 1e3:,.0f}", *slowest])
    head = [
        "model", "predicted by the roofline", "its partition, eager", "compiled",
        "measured, eager", "compiled",
    ]  # fmt: skip
    return markdown(head, lines).splitlines()


def tables() -> list[str]:
    """Return the tables of the page, as lines."""
    excesses = [
        [
            one.costs, str(one.k), f"{one.least:.2f} to {one.most:.2f}",
            f"{one.close} of {one.models}", f"{one.excess:.1%}",
            f"{one.worst:.1%} ({one.worst_model})",
        ]
        for one in summary()
    ]  # fmt: skip
    found = rows()
    of_models = [
        [
            name,
            *(
                ", ".join(
                    f"{row.ratio:.2f} ({row.excess:.1%})"
                    for row in found
                    if (row.model, row.costs) == (name, costs)
                )
                for costs in ("roofline", "calibrated")
            ),
        ]
        for name in dict.fromkeys(row.model for row in found)
    ]
    ratios = [
        [
            one.model, f"{one.roofline / one.measured:.2f}",
            f"{one.calibrated / one.measured:.2f}", f"{one.measured / one.whole:.2f}",
        ]
        for one in totals()
    ]  # fmt: skip
    of_layers = [
        [phase, f"{min(found):.2f} to {max(found):.2f}"] for phase, found in layer_ratios().items()
    ]
    made: list[tuple[list[str], list[list[str]]]] = [
        (["costs", "k", "predicted / real", ".75 to 1.33", "excess", "worst"], excesses),
        (["model", "roofline, k = 2, 4, 8", "calibrated, k = 2, 4, 8"], of_models),
        (
            ["model", "roofline / measured", "calibrated / measured", "measured / whole"],
            ratios,
        ),
        (["phase", "predicted / compiled layer"], of_layers),
    ]
    texts = (markdown(head, lines, len(head)) for head, lines in made)
    return "\n\n".join(texts).splitlines()


def main() -> None:
    """Compute the rows, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each partition")
    parser.add_argument("--print", action="store_true", dest="is_printed")
    given = parser.parse_args()
    if not given.is_printed:
        found = [
            row
            for name in measured_models()
            for row in measured_rows(name, given.seconds, given.folder)
        ]
        content = {
            "partitions": [list(row) for row in found],
            "totals": [list(total(name)) for name in measured_models()],
            "of_layers": layers(),
        }
        lines = json.dumps(content).replace("], [", "],\n [").replace('], "', '],\n "')
        FILE.write_text(lines + "\n")
        STORED.write_text(json.dumps(PARTITIONS, indent=0) + "\n")
    print("\n".join([*tables(), "", *stage_table()]))


if __name__ == "__main__":
    main()
