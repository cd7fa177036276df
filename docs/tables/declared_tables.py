"""Fill pages with lists of what the package declares, and with how true costs are; see `page.py`.

Data sets, graphs, devices and clusters are those of the package; how true costs are, what
`true_costs.py`, `tuning.py` and `machine_runs.py` have measured. The columns of published
language models are computed from their configurations, but for the parameters that authors state.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import machine_runs
import true_costs
import tuning
from page import ROOT, Filling, markdown

from boundmark.datasets import measured, zoo
from boundmark.datasets.layers.language_models import load, published
from boundmark.datasets.layers.transformer import Transformer
from boundmark.problems.catalog import datasets, problems
from boundmark.problems.devices import shipped
from boundmark.reports.text import amount
from boundmark.reports.true_costs import engine_steps, summary, totals

# The class behind a source, e.g. `; transformers.BertModel`.
CLASS = re.compile(r"; (?:torchvision|transformers)\.[\w.]+$")


def dataset_table() -> list[str]:
    """Return a row for each data set: how many graphs it lists, for which problems, what it is."""
    rows = []
    for one in datasets().values():
        users = [problem.name for problem in problems().values() if one.source in problem.sources]
        rows.append((f"`{one.name}`", str(len(one.members())), ", ".join(users), one.summary))
    return _markdown(("data set", ">graphs", "problems", "what it is"), rows)


def graph_table(dataset: str) -> list[str]:
    """Return a row for each graph of `measured`, or of a data set of models without costs.

    The zoo has an index, with the paper and the class that a graph is of; only the paper is shown.
    Other graphs are loaded. Of the zoo, trained weights are counted, tied ones once; of other
    graphs, all that an operator reads and that depends on no input.
    """
    if dataset == "measured":
        return _markdown(MEASURED_HEADS, map(_measured_row, measured.measured_models()))
    if dataset == "zoo":
        known = zoo.index()
        return _markdown(
            ("graph", ">nodes", ">edges", ">GFLOPs", ">million weights", "source"),
            [
                (
                    f"`{name}`",
                    f"{entry['nodes']:,}",
                    f"{entry['edges']:,}",
                    f"{entry['flops'] / 1e9:,.3f}",
                    f"{entry['parameters'] / 1e6:,.3f}",
                    CLASS.sub("", entry["source"]),
                )
                for name, entry in known.items()
            ],
        )
    rows = []
    for name in datasets()[dataset].members():
        graph = datasets()[dataset].load(name)
        sizes = (f"{graph.dag.nodes:,}", f"{graph.dag.edges:,}")
        weights = graph.param_bytes.sum() / 4e6
        rows.append((f"`{name}`", *sizes, f"{graph.flops.sum() / 1e9:.3f}", f"{weights:.3f}"))
    return _markdown(("graph", ">nodes", ">edges", ">GFLOPs", ">million parameters"), rows)


MEASURED_HEADS = (
    "graph",
    ">operators",
    ">edges",
    ">operators together, ms",
    ">whole model, ms",
    ">together / whole",
    ">launched from Python, ms",
    ">compiled, ms",
)


def _measured_row(name: str) -> tuple[str, ...]:
    model = measured.measured_model(name)
    how = model.measurement
    times = (how.eager_wall_ns, how.compiled_whole_ns)
    return (
        f"`{name}`",
        f"{len(model.names):,}",
        f"{model.dag.edges:,}",
        f"{int(model.measured_ns.sum()) / 1e6:,.2f}",
        f"{how.whole_ns / 1e6:,.2f}",
        f"{model.sum_to_whole:.2f}",
        *(f"{time / 1e6:,.2f}" if time else "" for time in times),
    )


LANGUAGE_MODEL_HEADS = (
    "model", "source", ">stated, billions", ">read, billions", ">active", ">weights, GB",
    ">cache for a token, KiB", ">bounded cache of a sequence, MiB",
)  # fmt: skip


def language_model_table() -> list[str]:
    """Return a row for each published language model."""
    return _markdown(LANGUAGE_MODEL_HEADS, map(_language_model_row, published()))


def _language_model_row(name: str) -> tuple[str, ...]:
    model, entry = load(name), published()[name]
    assert isinstance(model, Transformer)
    totals, source = model.totals, entry["source"]
    return (
        f"`{name}`",
        f"[{source}](https://huggingface.co/{source})",
        " / ".join(f"{number:,}" for number in entry["billions"]),
        f"{totals.parameters / 1e9:,.3f}",
        f"{totals.active / 1e9:,.2f}" if totals.active < totals.parameters else "",
        f"{totals.size / 1e9:,.2f}",
        "" if totals.cache is None else amount(totals.cache / 2**10),
        amount(totals.state / 2**20) if totals.state else "",
    )


def device_table() -> list[str]:
    """Return a row for each device that comes with the package."""
    heads = (
        "device",
        "peak rate, 10^12 operations/s",
        ">memory, GB/s",
        ">memory, GiB",
        ">overhead, µs",
        ">link, GB/s",
    )
    return _markdown(
        heads,
        [
            (
                f"`{one.name}`",
                ", ".join(f"{dtype} {rate / 1e12:g}" for dtype, rate in one.peak_rate.items()),
                f"{one.memory_bandwidth / 1e9:g}",
                f"{one.memory_bytes / 2**30:g}",
                f"{one.op_overhead * 1e6:g}",
                f"{one.link.bandwidth / 1e9:g}" if one.link else "none",
            )
            for one in shipped().devices.values()
        ],
    )


def cluster_table() -> list[str]:
    """Return a row for each cluster that comes with the package: which devices, called what."""
    rows = []
    for one in shipped().clusters.values():
        members: dict[str, list[str]] = {}
        for name, device in zip(one.members, one.devices, strict=True):
            members.setdefault(device.name, []).append(name)
        parts = [f"{len(names)} × {kind} ({', '.join(names)})" for kind, names in members.items()]
        rows.append((f"`{one.name}`", "; ".join(parts)))
    return _markdown(("cluster", "devices"), rows)


def _markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table, and a blank one."""
    return [*markdown(heads, rows, len(heads)).splitlines(), ""]


def _parts(**made: Callable[[], list[str]]) -> dict[str, str]:
    """Return parts by the names in their marks."""
    return {name: "\n".join(lines()).strip() for name, lines in made.items()}


def dataset_page() -> Filling:
    """Return data sets and graphs."""
    made = {
        "data sets": dataset_table, "zoo": partial(graph_table, "zoo"),
        "onnx-light": partial(graph_table, "onnx-light"), "language-models": language_model_table,
        "measured": partial(graph_table, "measured"),
    }  # fmt: skip
    return Filling(_parts(**made), [f"operators alone take {_whole()} times as long together"])


def device_page() -> Filling:
    """Return devices and clusters."""
    return Filling(_parts(devices=device_table, clusters=cluster_table))


def _whole() -> str:
    """Return the range of measured operators' sums over the time of the whole model."""
    shares = [one.measured / one.whole for one in totals()]
    return f"{min(shares):.2f} to {max(shares):.2f}"


def _excess(costs: str) -> str:
    """Return how far partitions that are optimal on some costs are above the optimum, by k."""
    found = [f"{100 * one.excess:.0f}" for one in summary() if one.costs == costs]
    return f"{', '.join(found[:-1])} and {found[-1]} %"


def true_cost_page() -> Filling:
    """Return how true costs are."""
    own = [one for one in summary() if one.costs == "roofline"]
    close = dict.fromkeys(("roofline", "calibrated"), 0)
    for row in summary():
        close[row.costs] += row.close
    steps = sorted(one.ratio for one in engine_steps())
    runs = machine_runs.stored()
    excess = machine_runs.excess(runs)
    most = excess.groupby(runs["costs"]).max()
    cells = int((runs["costs"] == "tuned").sum())
    best = {name: int((excess[runs["costs"] == name] == 0).sum()) for name in machine_runs.COSTS}
    close_to_best = (excess <= 2).groupby(runs["costs"]).sum()
    spread = 100 * (runs["high"] / runs["low"] - 1)
    return Filling(
        _parts(
            engines=true_costs.engine_table, stages=true_costs.stage_table,
            processor=lambda: machine_runs.table(runs),
            tuning=lambda: [tuning.table(tuning.stored())],
            **{"measured on one H100": true_costs.tables},
        ),
        [
            f"on the roofline was {_excess('roofline')} above the optimum at measured times**",
            f"took {1 / max(one.most for one in own):.1f} to "
            f"{1 / min(one.least for one in own):.1f} times as long as predicted",
            f"in {close['calibrated']} of 39 cases (the roofline: {close['roofline']}), and "
            f"partitions are still {_excess('calibrated')} above the optimum",
            f"Their sum is {_whole()} times the whole model",
            f"a step takes {steps[0]:.2f} to {steps[-3]:.1f} times what the roofline says",
            f"best of the five in {best['tuned']} of {cells} cells, within 2 % of it in "
            f"{close_to_best['tuned']}, and at most {most['tuned']:.1f} % above it; those at "
            f"measured times were the best in {best['measured']}, within 2 % in "
            f"{close_to_best['measured']}, and at most "
            f"{most['measured']:.1f} %. The roofline's were up to {most['roofline']:.0f} % above "
            f"the best, those on calibrated costs up to {most['calibrated']:.0f} %, those of even "
            f"work up to {most['even work']:.0f} %",
            f"repeats of one partition differ by {spread.min():.0f} to {spread.max():.0f} %",
        ],
    )  # fmt: skip


def _of_roofline(sentence: str) -> Filling:
    return Filling({}, [sentence.format(_excess("roofline"))])


def library_page() -> Filling:
    """Return how many instances the library has, and how many are proven optimal."""
    entries = [json.loads(one) for one in (ROOT / "library/entries.jsonl").read_text().splitlines()]
    optimal = sum(one["objective"] == one["bound"] for one in entries)
    return Filling(
        {},
        [
            f"has {len(entries)} instances of all six problems",
            f"`nightly`; {optimal} are proven optimal",
        ],
    )


PAGES: Mapping[str, Callable[[], Filling]] = {
    "docs/datasets.md": dataset_page,
    "docs/devices.md": device_page,
    "docs/true-costs.md": true_cost_page,
    "docs/library.md": library_page,
    "docs/how-far-from-optimal.md": partial(
        _of_roofline, "that are optimal on it were {} above the optimum at times measured"
    ),
    "docs/index.md": partial(_of_roofline, "card result {} slower than the best one"),
    "README.md": partial(_of_roofline, "on the roofline were {} above the optimum"),
}
