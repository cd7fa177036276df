"""Section on what devices do in the best plans."""

from boundmark.reports.pages.page import Section
from boundmark.reports.plots.plot import Panels, Plot
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.slicing.plots.loads import draw_loads, load_data

CAPTION = (
    "The best verified plan of each instance: ticks that each device computes and waits for the "
    "router, as parts of the latency. What is missing to 100 % is waiting for the slowest device."
)


def load_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return a plot for each cluster; None without any stored plan."""
    loads = tables["device_loads"]
    if len(loads) == 0:
        return None
    plots = []
    for number, ((device, parameters), part) in enumerate(
        loads.groupby(["device", "parameters"], sort=False), 1
    ):
        data = load_data(part)
        plots.append(
            Plot(
                f"device_loads_{number}",
                f"Load of each device, {device or 'costs of the instance'}, {parameters}",
                CAPTION,
                data,
                draw_loads,
                Panels("instance", str, has_common_x=False),
                width=max(7.4, 1.6 * data["instance"].nunique() + 1.0),
            )
        )
    return Section("Load of devices", plots=tuple(plots))
