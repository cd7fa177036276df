"""Measure how true costs are: `python docs/tables/true_costs.py FOLDER` writes true_costs.json.

For each model of the data set `measured` in 2, 4 and 8 stages: the certified optimum at measured
times; and for the roofline and for calibrated costs the partition that is optimal on them, what
they say that it costs, and what it costs at measured times. Calibrated costs are those of a table
that was fitted without the model's family. FOLDER keeps all results, and what it has is not
computed again. With --engines, published steps of engines are predicted anew, and the rest is kept.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from efficiency import bytes_read, family, fitted, predicted
from page import markdown

import boundmark
from boundmark.benchmarks.solving.model import named_instance
from boundmark.datasets.measured import MeasuredModel, load, measured_model, measured_models
from boundmark.problems.operator_types import FREE_OP_TYPES
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.costs import pipeline_graph_of
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.reports.text import gap_percent
from boundmark.reports.true_costs import (
    DECODE,
    FILE,
    EngineStep,
    Row,
    Total,
    engine_steps,
    layer_ratios,
    rows,
    summary,
    totals,
)

STAGES = (2, 4, 8)

# Pages that say how long a step of decoding takes in an engine, with a batch that they state.
SOURCES = {
    "vLLM": "https://buildkite.com/vllm/performance-benchmark/builds/9515",
    "NIM 1.8": "https://docs.nvidia.com/nim/benchmarking/llm/1.0.0/performance",
    "TensorRT-LLM 0.5": "https://raw.githubusercontent.com/NVIDIA/TensorRT-LLM/release/0.5.0/docs/"
    "source/performance.md",
    "TensorRT-LLM 0.6": "https://github.com/NVIDIA/TensorRT-LLM/blob/"
    "138f96d45f90b9667426f7c47297d8c06bafac73/docs/source/performance.md",
}

# Engine, model, devices, batch, tokens in and out, bits, and milliseconds of a step: a batch's
# latency over its tokens, the latency between tokens, or sequences over tokens a second.
PUBLISHED = (
    ("vLLM", "llama-3-8b", "1xH200", 8, 32, 128, 16, 833.421 / 128),
    ("vLLM", "llama-3-70b", "4xH200", 8, 32, 128, 16, 2077.53 / 128),
    ("vLLM", "mixtral-8x7b", "2xH200", 8, 32, 128, 16, 1917.44 / 128),
    ("NIM 1.8", "llama-3-70b", "2xH100", 1, 5000, 500, 8, 18.58),
    ("NIM 1.8", "llama-3-70b", "2xH100", 1, 500, 2000, 8, 18.91),
    ("TensorRT-LLM 0.5", "gpt-j-6b", "1xH100", 64, 128, 2048, 8, 64e3 / 6179),
    ("TensorRT-LLM 0.5", "llama-2-7b", "1xH100", 64, 128, 2048, 8, 64e3 / 5367),
    ("TensorRT-LLM 0.5", "llama-2-70b", "4xH100", 64, 128, 2048, 8, 64e3 / 2616),
    ("TensorRT-LLM 0.5", "gpt-j-6b", "1xL40S", 64, 128, 2048, 8, 64e3 / 1859),
    ("TensorRT-LLM 0.5", "llama-2-7b", "1xL40S", 64, 128, 2048, 8, 64e3 / 1622),
    ("TensorRT-LLM 0.6", "gpt-j-6b", "1xH100", 120, 128, 2048, 8, 120e3 / 8011),
    ("TensorRT-LLM 0.6", "llama-2-7b", "1xH100", 112, 128, 2048, 8, 112e3 / 6818),
    ("TensorRT-LLM 0.6", "llama-2-70b", "4xH100", 480, 128, 2048, 8, 480e3 / (4 * 1486)),
    ("TensorRT-LLM 0.6", "llama-2-7b", "1xA100-80GB", 60, 128, 2048, 16, 60e3 / 1928),
)

# The one of these models that does not come with the package.
LLAMA_2_7B = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "vocab_size": 32000,
    "num_hidden_layers": 32, "num_attention_heads": 32, "hidden_act": "silu",
    "tie_word_embeddings": False, "torch_dtype": "float16",
}  # fmt: skip

# The stage of each operator, by model, costs and k, from which a test computes all costs again.
STORED = Path(__file__).with_name("true_costs.json")
PARTITIONS: dict[str, str] = {}

DATA = Path(__file__).parents[2] / "datasets" / "measured" / "data" / "h100"


def roofline(model: MeasuredModel) -> np.ndarray:
    """Return the nanoseconds of a model's operators on the roofline, shape (n,)."""
    device = model.base
    moved = sum(bytes_read(model)) + model.output_bytes
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
            print(name, k, costs, f"{found.cost / real:.2f}", gap_percent(real / best.bound - 1))


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


def engines() -> list[EngineStep]:
    """Return what the roofline predicts for published steps; half of the output is in the cache."""
    found = []
    with TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(LLAMA_2_7B))
        for engine, model, devices, batch, tokens_in, out, bits, published in PUBLISHED:
            context, group = tokens_in + out // 2, int(devices.split("x")[0])
            given = {
                "devices": devices, "tensor_parallel": group, "phase": DECODE, "batch": batch,
                "context": context, "weight_bits": bits, "cache_bits": bits,
            }  # fmt: skip
            source = folder if model == "llama-2-7b" else f"language-models/{model}"
            made = named_instance(source, given, "layers", are_texts=False).instance
            # All layers are on one group of devices.
            times = (round(published * 1e6), int(made.chain.time.sum()))
            sizes = (group, batch, context, bits, bits)
            found.append(EngineStep(engine, SOURCES[engine], model, devices, *sizes, *times))
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


def engine_table() -> list[str]:
    """Return a row for each published step, as lines."""
    lines = [
        [
            f"[{one.engine}]({one.source})", one.model, one.devices, f"{one.batch}",
            f"{one.context:,}", f"{one.weight_bits}", f"{one.predicted / 1e6:.2f}",
            f"{one.published / 1e6:.2f}", f"{one.ratio:.2f}",
        ]
        for one in engine_steps()
    ]  # fmt: skip
    head = [
        "engine", "model", "devices", "batch", "context", "bits", "roofline, ms", "published, ms",
        "published / roofline",
    ]  # fmt: skip
    return markdown(head, lines, 3).splitlines()


def tables() -> list[str]:
    """Return the tables of the page, as lines."""
    excesses = [
        [
            one.costs, str(one.k), f"{one.least:.2f} to {one.most:.2f}",
            f"{one.close} of {one.models}", gap_percent(one.excess, " %"),
            f"{gap_percent(one.worst, ' %')} ({one.worst_model})",
        ]
        for one in summary()
    ]  # fmt: skip
    found = rows()
    of_models = [
        [
            name,
            *(
                ", ".join(
                    f"{row.ratio:.2f} ({gap_percent(row.excess, ' %')})"
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
    models = len(totals())
    loads = [f"{len(one)} workloads in {phase}" for phase, one in layer_ratios().items()]
    made: list[tuple[str, list[str], list[list[str]]]] = [
        (
            f"A row is some costs and a number of stages, over {models} models: the range of "
            "predicted over real times, how many lie within .75 and 1.33, the geometric mean of "
            "the excess, and the largest one with its model.",
            ["costs", "k", "predicted / real", ".75 to 1.33", "excess", "worst"], excesses,
        ),
        (
            "A row is a model: predicted over real time of the slowest of 2, 4 and 8 stages, and "
            "in brackets the excess.",
            ["model", "roofline, k = 2, 4, 8", "calibrated, k = 2, 4, 8"], of_models,
        ),
        (
            "The same models whole: the sum of operators' times on some costs over the sum of "
            "their measured times, and this over the time of the model in one CUDA graph.",
            ["model", "roofline / measured", "calibrated / measured", "measured / whole"], ratios,
        ),
        (
            "One layer of Llama-3-8B's and 70B's shape: the range of predicted over compiled "
            f"times, with {' and '.join(loads)}.",
            ["phase", "predicted / compiled layer"], of_layers,
        ),
    ]  # fmt: skip
    texts = (f"{caption}\n\n{markdown(head, lines, len(head))}" for caption, head, lines in made)
    return "\n\n".join(texts).splitlines()


def main() -> None:
    """Compute the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each partition")
    parser.add_argument("--engines", action="store_true")
    given = parser.parse_args()
    content = json.loads(FILE.read_text())
    if given.engines:
        content["engines"] = [list(one) for one in engines()]
    else:
        found = [
            row
            for name in measured_models()
            for row in measured_rows(name, given.seconds, given.folder)
        ]
        how = measured_model(measured_models()[0])
        content |= {
            "measured_on": [how.base.name, how.dtype, how.measurement.mode],
            "partitions": [list(row) for row in found],
            "totals": [list(total(name)) for name in measured_models()],
            "of_layers": layers(),
            "engines": [list(one) for one in engines()],
        }
        STORED.write_text(json.dumps(PARTITIONS, indent=0) + "\n")
    lines = json.dumps(content).replace("], [", "],\n [").replace('], "', '],\n "')
    FILE.write_text(lines + "\n")


if __name__ == "__main__":
    main()
