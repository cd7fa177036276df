"""Mixed-integer programs for `pipeline` (papers/mtpp, Section 3) and the solvers that run them."""

from boundmark.bounds.pipeline.mip import bottleneck, bottleneck_guess, exact, exact_strong
from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = (
    bottleneck.METHOD,
    bottleneck_guess.METHOD,
    exact.METHOD,
    exact_strong.METHOD,
)
