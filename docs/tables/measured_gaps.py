"""Print the table of measured times: `python docs/tables/measured_gaps.py`.

For each model and cluster of which `aiconfigurator-core` has the kernels' times, the certified
optimum on them, how far above it vLLM's even split is, on measured times and on the roofline's, and
what the roofline's optimum costs on measured times. Ends with what is not covered.
"""

from results_page import markdown

from boundmark.bounds.layers.layer_reach import run
from boundmark.datasets.layers.language_models import load, published
from boundmark.heuristics.layers.defaults import vllm
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import BoundmarkError
from boundmark.problems.layers import PROBLEM, LayerAssignment, LayersInstance
from boundmark.problems.method import Budget

CLUSTERS = ("2xH100,4xA100-80GB@25", "4xH100,4xA100-80GB@25")
WORKLOADS = (("decode", 8, 4096), ("prefill", 4, 1024))


class Last:
    """Keeps what a method reports last."""

    found: LayerAssignment
    proven: int

    def solution(self, solution: LayerAssignment) -> None:
        """Keep an assignment."""
        self.found = solution

    def bound(self, bound: Certificate) -> None:
        """Keep a bound."""
        self.proven = bound.bound


def optimum(sample: LayersInstance) -> tuple[LayerAssignment, int]:
    """Return the optimal assignment and its cost."""
    last = Last()
    run(sample, Budget(wall_seconds=60.0), 1, last)
    cost = sample.objective(last.found)
    assert cost == last.proven
    return last.found, cost


def even_gap(sample: LayersInstance, best: int) -> str:
    """Return how far above the optimum vLLM's split is."""
    last = Last()
    vllm(sample, Budget(wall_seconds=60.0), 1, last)
    return f"{100 * (sample.objective(last.found) / best - 1):.1f} %"


def main() -> None:
    """Print a row for each covered combination, then how many are not."""
    lines = []
    missing = total = 0
    for model in published():
        for devices in CLUSTERS:
            for phase, batch, context in WORKLOADS:
                given: dict[str, int | str] = {
                    "devices": devices, "phase": phase, "batch": batch, "context": context,
                }  # fmt: skip
                make, total = PROBLEM.maker(load(model)), total + 1
                try:
                    on_tables = make({**given, "costs": "measured"})
                except BoundmarkError:
                    missing += 1
                    continue
                assumed = make(given)
                assert isinstance(on_tables, LayersInstance)
                assert isinstance(assumed, LayersInstance)
                _, best = optimum(on_tables)
                other, least = optimum(assumed)
                gaps = even_gap(on_tables, best), even_gap(assumed, least)
                above = 100 * (on_tables.objective(other) / best - 1)
                cells = [f"{best / 1e6:,.2f}", *gaps, f"{above:.1f} %"]
                lines.append([model, devices, phase, *cells])
    head = [
        "model", "devices", "phase", "optimum, ms", "vLLM, measured", "vLLM, roofline",
        "the roofline's optimum",
    ]  # fmt: skip
    print(markdown(head, lines, 3))
    print(f"\n{total - missing} of {total} combinations are covered and fit.")


if __name__ == "__main__":
    main()
