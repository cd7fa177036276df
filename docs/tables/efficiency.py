"""Fit the tables of efficiencies: `python docs/tables/efficiency.py`.

Writes problems/devices/efficiency.toml from the models of the data set `measured` that were timed
one operator at a time. For each class of operator, the six numbers of a curve are the non-negative
ones that minimise the sum of (p - t)^2 / (p t) over operators with measured time t and the curve's
time p, each weighted by the fourth root of its share of its model's time: being too long by a
factor costs as much as being too short, and long operators count more (with p of the solution
before in the denominator, four times).

Left out are operators whose times are not their own: attention of the BERT and T5 models, which ran
as separate products, 8 to 80 times as long as that of the others, because of how masks lay in
memory.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from boundmark.datasets.measured import MeasuredModel, measured_model, measured_models
from boundmark.problems.calibrated_costs import (
    PRODUCTS,
    VIEW,
    OperatorSizes,
    calibrated_seconds,
    operator_class,
    terms,
    types_behind,
)
from boundmark.problems.computation_graph import ELEMENT_BITS
from boundmark.problems.devices import EfficiencyTable
from boundmark.problems.devices.efficiency import OTHER, Curve
from boundmark.problems.operator_types import LOOKUP_OP_TYPES

OUT = Path(__file__).parents[2] / "problems" / "devices" / "efficiency.toml"

# A class of its own, or a curve of more than one number, is for as many operators.
FEWEST = 12

SEPARATE_PRODUCTS = ("bert-base", "t5-base")

ROUNDS = 4

NANOSECOND = 1e-9


def family(name: str) -> str:
    """Return the family of a model, whose members differ in batch and length only.

    >>> family("h100/resnet-50-b32"), family("h100/bert-base-b8-s128")
    ('resnet-50', 'bert-base')
    """
    parts = name.split("/")[-1].split("-")
    return "-".join(one for one in parts if not (one[0] in "bs" and one[1:].isdigit()))


def bytes_read(model: MeasuredModel) -> tuple[np.ndarray, np.ndarray]:
    """Return what operators read of inputs and of parameters; of a table, as much as they write."""
    is_lookup = np.isin(model.op_types, tuple(LOOKUP_OP_TYPES))
    written = np.where(is_lookup, model.output_bytes, model.read_bytes + model.param_bytes)
    # Beside parameters, what is read of inputs says where.
    reads = np.where(model.param_bytes, model.read_bytes, np.minimum(model.read_bytes, written))
    return reads, np.minimum(model.param_bytes, written)


def sizes_of(model: MeasuredModel) -> list[OperatorSizes]:
    """Return the sizes of a model's operators."""
    reads, parameters = bytes_read(model)
    first = [-1] * len(model.names)
    for producer, consumer in model.edges.tolist():
        first[consumer] = producer if first[consumer] < 0 else first[consumer]
    return [
        OperatorSizes(
            op_type=op_type,
            flops=int(model.flops[at]),
            reads=int(reads[at]),
            writes=int(model.output_bytes[at]),
            parameters=int(parameters[at]),
            element_bytes=ELEMENT_BITS[model.dtype] / 8,
            behind=types_behind(model.op_types, first, at),
        )
        for at, op_type in enumerate(model.op_types)
    ]


def fitted(models: Iterable[MeasuredModel], source: str = "") -> EfficiencyTable:
    """Return the table that fits the times of models, all of one device and dtype."""
    rows: defaultdict[str, list[tuple[tuple[float, ...], float, float]]] = defaultdict(list)
    models = list(models)
    for model in models:
        total = model.measured_ns.sum()
        rate, bandwidth = model.base.rate(model.dtype), model.base.memory_bandwidth
        for sizes, time in zip(sizes_of(model), model.measured_ns.tolist(), strict=True):
            if sizes.op_type == "Attention" and family(model.name).startswith(SEPARATE_PRODUCTS):
                continue
            class_ = operator_class(sizes)
            if class_ == VIEW:
                continue
            weight = (time / total) ** 0.25
            rows[class_].append((terms(sizes, rate, bandwidth, class_), time * NANOSECOND, weight))
            if class_ != "elementwise":
                rows[OTHER].append(
                    (terms(sizes, rate, bandwidth, OTHER), time * NANOSECOND, weight)
                )
    curves = {
        name: Curve(*_non_negative(one))
        for name, one in sorted(rows.items())
        if len(one) >= FEWEST or name in PRODUCTS
    }
    first = models[0]
    return EfficiencyTable(first.base.name, (first.dtype, "bfloat16"), source, curves)


def _non_negative(rows: Sequence[tuple[tuple[float, ...], float, float]]) -> list[float]:
    """Return the factors of a curve."""
    matrix = np.array([row for row, _, _ in rows])
    if len(rows) < FEWEST:
        # As little as the first operators of models: arithmetic only.
        matrix *= [0, 0, 1, 0, 0, 0]
    times = np.array([time for _, time, _ in rows])
    weights = np.array([weight for _, _, weight in rows])
    scale = np.maximum(matrix.max(axis=0), 1e-30)
    found, expected = np.zeros(matrix.shape[1]), times
    for _ in range(ROUNDS):
        relative = weights / np.sqrt(expected * times)
        found, _ = nnls(matrix / scale * relative[:, None], times * relative)
        # Below what any kernel takes, to divide by it.
        expected = np.maximum(matrix / scale @ found, 300 * NANOSECOND)
    # Three digits, as in the file.
    return [float(f"{value:.3g}") for value in found / scale]


def predicted(model: MeasuredModel, table: EfficiencyTable) -> np.ndarray:
    """Return the nanoseconds of a model's operators by a table, shape (n,)."""
    return np.array(
        [
            round(calibrated_seconds(one, model.base, model.dtype, table, launches=True) * 1e9)
            for one in sizes_of(model)
        ]
    )


def _toml(tables: Mapping[str, EfficiencyTable]) -> str:
    lines = ["# Written by docs/tables/efficiency.py; docs/true-costs.md explains it."]
    for device, table in tables.items():
        lines += ["", f"[{device}]", f"dtypes = {list(table.dtypes)}".replace("'", '"')]
        lines += ['source = """', table.source, '"""', f"[{device}.classes]"]
        for name, curve in table.curves.items():
            known = {key: value for key, value in vars(curve).items() if value}
            fields = ", ".join(f"{key} = {value:g}" for key, value in known.items())
            lines.append(f"{name} = {{ {fields} }}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the tables."""
    by_device: defaultdict[str, list[MeasuredModel]] = defaultdict(list)
    for name in measured_models():
        model = measured_model(name)
        if model.measurement.mode == "eager":
            by_device[model.base.name].append(model)
    tables = {}
    for device, models in by_device.items():
        how = models[0].measurement
        source = (
            f"{sum(len(one.names) for one in models):,} operators of {len(models)} models, each "
            f"timed by itself on one {how.device} ({how.runtime}, {how.dtype}, {how.date})."
        )
        tables[device] = fitted(models, source)
    OUT.write_text(_toml(tables))


if __name__ == "__main__":
    main()
