"""Heuristics for `pipeline`: they find partitions, hence upper bounds."""

from boundmark.heuristics.pipeline.methods.balanced_work import BALANCED_WORK
from boundmark.heuristics.pipeline.methods.brkga import BRKGA
from boundmark.heuristics.pipeline.methods.linear_arrangement import MLA
from boundmark.heuristics.pipeline.methods.memetic import MEMETIC
from boundmark.heuristics.pipeline.methods.pipedream import PIPEDREAM
from boundmark.heuristics.pipeline.methods.random_orders import RANDOM
from boundmark.heuristics.pipeline.methods.reslice import RESLICE
from boundmark.heuristics.pipeline.methods.slicegraph import SLICEGRAPH
from boundmark.heuristics.pipeline.methods.uniform import UNIFORM
from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = (
    SLICEGRAPH,
    *RANDOM,
    *BRKGA,
    *MLA,
    UNIFORM,
    BALANCED_WORK,
    PIPEDREAM,
    RESLICE,
    MEMETIC,
)
