"""Heuristics for `slicing`: they choose partition vectors, which compiled code evaluates."""

from boundmark.heuristics.slicing.methods.best_response import BEST_RESPONSE
from boundmark.heuristics.slicing.methods.equal_slices import EQUAL_SLICES
from boundmark.heuristics.slicing.methods.geneflow import GENEFLOW
from boundmark.heuristics.slicing.methods.layer_pipeline import LAYER_PIPELINE
from boundmark.heuristics.slicing.methods.one_device import ONE_DEVICE
from boundmark.heuristics.slicing.methods.slice_search import SLICE_SEARCH
from boundmark.heuristics.slicing.methods.speed_slices import SPEED_SLICES
from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = (
    ONE_DEVICE,
    EQUAL_SLICES,
    SPEED_SLICES,
    LAYER_PIPELINE,
    BEST_RESPONSE,
    GENEFLOW,
    SLICE_SEARCH,
)
