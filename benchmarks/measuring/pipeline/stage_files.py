"""The parts of a model as ONNX files: cut, written, and compared with the whole model.

Parts are the stages of a partition, or the segments of a placement: what a device runs before it
needs something from another one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from boundmark.benchmarks.solving.grading import solution_in
from boundmark.benchmarks.solving.model import choose
from boundmark.datasets.pipeline.onnx_split import StageModel, split_model
from boundmark.problems.errors import BoundmarkError, InvalidInputError, StoreError
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.instance import in_pipeline_order
from boundmark.problems.placement.instance import NO_FUSION, PlacementInstance
from boundmark.problems.placement.schedule import PlacementSchedule, segments

# Largest file in bytes; larger models keep their weights beside them.
LARGEST_MODEL = 2**30


@dataclass(frozen=True)
class GivenPartition:
    """A partition from a file, and the instance that it solves.

    Attributes
    ----------
    partition
        With stages numbered in the order in which data flows.
    costs
        What the instance's costs rest on, in words.
    notes
        What was taken for granted, as sentences.
    """

    instance: PipelineInstance
    partition: Partition
    costs: str
    notes: tuple[str, ...]

    @classmethod
    def read(
        cls, model: Path, solution: Path, k: str | None, device: str | None, dims: Mapping[str, int]
    ) -> "GivenPartition":
        """Read a partition of a model."""
        parameters = {} if k is None else {"k": k}
        given = solution_in(solution, choose(str(model), parameters, "pipeline", device, dims))
        instance = given.source.instance
        assert isinstance(instance, PipelineInstance)
        partition = in_pipeline_order(instance, Partition.from_json(given.document))
        empty = sorted(set(range(instance.k)) - set(partition.stages.tolist()))
        notes = [*given.source.notes, *given.notes]
        if empty:
            listed = ", ".join(map(str, empty))
            notes.append(f"stages without operators are left out: {listed}.")
        return cls(instance, partition, given.source.costs, tuple(notes))


@dataclass(frozen=True)
class CutModel:
    """A model that was cut by a partition.

    Attributes
    ----------
    models
        Models of the stages that have operators, in the order in which data flows.
    """

    given: GivenPartition
    models: Sequence[StageModel]

    @property
    def notes(self) -> tuple[str, ...]:
        """Assumptions that were made, as sentences."""
        return self.given.notes


def cut_stages(
    model: Path, solution: Path, k: str | None, device: str | None, dims: Mapping[str, int]
) -> CutModel:
    """Cut an ONNX file by the partition in another file."""
    _refuse_other_than_onnx(model)
    given = GivenPartition.read(model, solution, k, device, dims)
    if given.instance.graph.phase:
        raise InvalidInputError(
            f"{model} has a backward pass, which runs through the stages the other way; expected a "
            "model of inference."
        )
    names = given.instance.graph.names
    stages = dict(zip(names, given.partition.stages.tolist(), strict=True))
    return CutModel(given, split_model(model, stages, range(given.instance.k), dims))


@dataclass(frozen=True)
class CutPlacement:
    """A model that was cut by a placement.

    Attributes
    ----------
    devices
        Name of the device of each part.
    models
        Models of the parts, in an order in which data flows.
    notes
        What was taken for granted, as sentences.
    """

    devices: tuple[str, ...]
    models: Sequence[StageModel]
    notes: tuple[str, ...]


def cut_segments(
    model: Path, solution: Path, device: str | None, dims: Mapping[str, int]
) -> CutPlacement:
    """Cut an ONNX file by the placement in another file."""
    _refuse_other_than_onnx(model)
    given = solution_in(solution, choose(str(model), {}, "placement", device, dims))
    instance = given.source.instance
    assert isinstance(instance, PlacementInstance)
    if instance.fusion != NO_FUSION:
        raise InvalidInputError(
            f"{solution} places operators fused by the rules {instance.fusion!r}; "
            f"expected a placement of the model's own operators."
        )
    placed = PlacementSchedule.from_json(given.document).devices
    numbers, by_segment = segments(instance.dag, placed)
    parts = dict(zip(instance.graph.names, numbers.tolist(), strict=True))
    models = split_model(model, parts, range(len(by_segment)), dims)
    devices = tuple(instance.graph.device_names[at] for at in by_segment)
    return CutPlacement(devices, models, (*given.source.notes, *given.notes))


def _refuse_other_than_onnx(model: Path) -> None:
    if model.suffix.lower() != ".onnx":
        raise InvalidInputError(f"{model} is no ONNX file; expected the suffix .onnx.")


def written(cut: CutModel | CutPlacement, folder: Path) -> list[Path]:
    """Write the parts' models into a folder, and return their files."""
    _refuse_others(folder, [one.stage for one in cut.models])
    return [_write(one, folder) for one in cut.models]


def _refuse_others(folder: Path, stages: list[int]) -> None:
    """Refuse a folder with files of stages that this solution does not have."""
    ours = {f"stage-{stage}.onnx" for stage in stages}
    others = sorted(path.name for path in folder.glob("stage-*.onnx") if path.name not in ours)
    if others:
        raise StoreError(
            f"{folder} holds {others[0]}, which is none of the {len(ours)} stages to be written; "
            "expected a new folder."
        )


def _write(one: StageModel, folder: Path) -> Path:
    import onnx

    path = folder / f"stage-{one.stage}.onnx"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_large = one.model.ByteSize() > LARGEST_MODEL
        # Appending to the weights of an earlier run would leave both in the file.
        (folder / f"{path.name}.data").unlink(missing_ok=True)
        onnx.save_model(
            one.model,
            str(path),
            save_as_external_data=is_large,
            location=f"{path.name}.data" if is_large else None,
        )
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from error
    return path


# Inputs are drawn with this seed.
SEED = 1

# Relative to the largest value.
TOLERANCE = 1e-4

Arrays = Mapping[str, Any]


def is_available() -> bool:
    """Whether the package that runs models is installed."""
    return find_spec("onnxruntime") is not None


def largest_difference(
    whole: Path, stages: Sequence[Path], dims: Mapping[str, int]
) -> tuple[float, float]:
    """Return the largest difference between outputs, and the largest value of an output."""
    model = _session(whole)
    given = _inputs(model, dims)
    expected = _run(model, given, whole)
    known: dict[str, Any] = dict(given)
    for path in stages:
        known.update(_run(_session(path), known, path))
    difference = largest = 0.0
    for name, value in expected.items():
        wanted, found = (np.asarray(one, dtype=np.float64) for one in (value, known[name]))
        if not wanted.size:
            continue
        same = (wanted == found) | (np.isnan(wanted) & np.isnan(found))
        apart = np.where(same, 0.0, np.abs(wanted - found))
        difference = max(difference, float(np.nan_to_num(apart, nan=np.inf).max()))
        finite = np.abs(wanted[np.isfinite(wanted)])
        largest = max(largest, float(finite.max(initial=0.0)))
    return difference, largest


def _session(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # What is fused across a cut would differ in the last digits.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        reason = " ".join(str(error).split())
        raise BoundmarkError(f"{path}: onnxruntime cannot load it: {reason}") from error


def _run(session: Any, known: Arrays, path: Path) -> dict[str, Any]:
    names = [output.name for output in session.get_outputs()]
    given = {value.name: known[value.name] for value in session.get_inputs()}
    try:
        return dict(zip(names, session.run(names, given), strict=True))
    except Exception as error:
        reason = " ".join(str(error).split())
        raise BoundmarkError(f"{path}: onnxruntime cannot run it: {reason}") from error


def _inputs(session: Any, dims: Mapping[str, int]) -> dict[str, Any]:
    """Draw values for the inputs; integers are 0 and 1, which are indices of most things."""
    generator = np.random.default_rng(SEED)
    found: dict[str, Any] = {}
    for value in session.get_inputs():
        shape = [
            extent
            if isinstance(extent, int)
            else dims.get(str(extent), dims.get(f"{value.name}.{at}", 1))
            for at, extent in enumerate(value.shape)
        ]
        kind = _dtype(value.type)
        if kind.kind == "f":
            found[value.name] = generator.standard_normal(shape).astype(kind)
        else:
            found[value.name] = generator.integers(0, 2, shape).astype(kind)
    return found


def _dtype(name: str) -> np.dtype[Any]:
    plain = name.removeprefix("tensor(").removesuffix(")")
    kinds = {"float": "float32", "double": "float64"}
    try:
        return np.dtype(kinds.get(plain, plain))
    except TypeError as error:
        raise BoundmarkError(
            f"an input has elements of type {plain}, for which no values can be drawn."
        ) from error
