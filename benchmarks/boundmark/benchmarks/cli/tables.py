"""The summary of a run for the terminal."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from boundmark.reports.number_text import integer, percent
from boundmark.reports.store import ResultStore
from boundmark.reports.tables.certified import certified_table
from boundmark.reports.tables.gap_by_k import gap_by_k
from boundmark.reports.tables.tasks import ALL


def print_certified_table(directory: Path) -> None:
    """Print each graph's gap by k, and what is known of all graphs together."""
    certified = certified_table(ResultStore.open(directory).results())
    stages = sorted(certified["k"].unique())
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("graph")
    table.add_column("nodes", justify="right")
    for k in stages:
        table.add_column(f"k={k}", justify="right")
    for (dataset, instance), rows in certified.groupby(["dataset", "instance"], sort=False):
        by_k = rows.set_index("k")
        cells = [
            ("*" if by_k.at[k, "optimal"] else percent(by_k.at[k, "gap"]))
            if k in by_k.index
            else ""
            for k in stages
        ]
        table.add_row(f"{dataset}/{instance}", integer(rows["nodes"].iloc[0]), *cells)
    means = gap_by_k(certified)
    over_all = means[means["dataset"] == ALL].set_index("k")
    table.add_section()
    table.add_row("geometric mean", "", *(percent(over_all.at[k, "mean_gap"]) for k in stages))
    table.add_row("graphs", "", *(integer(over_all.at[k, "bounded"]) for k in stages))
    console = Console()
    console.print("Gap in % between best verified cost and best certified bound (* proven optimal)")
    console.print(table)
