"""One module per method; what several of them use is in the folders beside this one."""

from boundmark.bounds.placement.methods import (
    assignment_load,
    critical_path,
    interval_load,
    moirai_milp,
    path_prices,
    placement_certify,
    placement_cp,
    series,
)
from boundmark.problems.method import Method

METHODS: tuple[Method, ...] = (
    critical_path.METHOD,
    assignment_load.METHOD,
    interval_load.METHOD,
    path_prices.METHOD,
    series.METHOD,
    placement_certify.METHOD,
    moirai_milp.METHOD,
    placement_cp.METHOD,
)
