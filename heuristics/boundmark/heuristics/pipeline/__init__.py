"""Upper bounds for `pipeline`."""

from boundmark.heuristics.pipeline.balanced_work import BALANCED_WORK
from boundmark.heuristics.pipeline.brkga import BRKGA
from boundmark.heuristics.pipeline.linear_arrangement import MLA
from boundmark.heuristics.pipeline.memetic import MEMETIC
from boundmark.heuristics.pipeline.pipedream import PIPEDREAM
from boundmark.heuristics.pipeline.random_orders import RANDOM
from boundmark.heuristics.pipeline.reslice import RESLICE
from boundmark.heuristics.pipeline.slicegraph import SLICEGRAPH
from boundmark.heuristics.pipeline.uniform import UNIFORM
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
