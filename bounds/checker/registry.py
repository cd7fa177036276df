"""The problems that this folder checks."""

from . import layers, microbatch, ordering, pipeline, placement, slicing
from .problem import Problem

PROBLEMS = {
    "pipeline": Problem(
        pipeline.read_instance, pipeline.objective, pipeline.SOLUTION_FIELDS, pipeline.KINDS
    ),
    "microbatch": Problem(
        microbatch.read_instance,
        microbatch.objective,
        microbatch.SOLUTION_FIELDS,
        microbatch.KINDS,
    ),
    "placement": Problem(
        placement.read_instance, placement.objective, placement.SOLUTION_FIELDS, placement.KINDS
    ),
    "ordering": Problem(
        ordering.read_instance, ordering.objective, ordering.SOLUTION_FIELDS, ordering.KINDS
    ),
    "slicing": Problem(
        slicing.read_instance,
        slicing.objective,
        slicing.SOLUTION_FIELDS,
        slicing.KINDS,
        slicing.OPTIONAL_FIELDS,
    ),
    "layers": Problem(
        layers.read, layers.cost, layers.SOLUTION_FIELDS, layers.KINDS, layers.OPTIONAL_FIELDS
    ),
}

KINDS = {kind: problem for problem, known in PROBLEMS.items() for kind in known.kinds}
