"""What docs/how-far-from-optimal.md shows of the tables of gaps."""

import gaps
import pandas as pd


def test_solved_graphs_are_counted() -> None:
    """Those with a gap have a line, all others one together."""
    cells = pd.DataFrame(
        [("a", "9", "optimal", "1.00 %"), ("b", "9", "optimal", "optimal")],
        columns=["graph", "nodes", "k = 2", "k = 4"],
    )
    assert gaps.zoo_table(cells).splitlines()[2:] == [
        "| a | 9 | optimal | 1.00 % |",
        "| 1 others |  | optimal | optimal |",
        "| proven optimal |  | 2 of 2 | 1 of 2 |",
    ]


def test_what_the_paper_has_stands_first() -> None:
    """With its source; the number of graphs stays last, below how many are solved."""
    methods = pd.DataFrame(
        [("`certify`", "certified", "0.9"), ("graphs", "", "2")],
        columns=["method", "bound", "k = 2"],
    )
    graphs = pd.DataFrame({"k = 2": ["optimal", "0.9"]})
    assert gaps.random_graph_table(methods, graphs, [0.98]).splitlines()[2:] == [
        "| exact, an hour | [MTPP24] | 0.9800 |",
        "| `certify` | certified | 0.9 |",
        "| proven optimal |  | 1 |",
        "| graphs |  | 2 |",
    ]


def test_gaps_of_placements_are_those_of_the_numbers() -> None:
    """By whether all operators are in small modules, and of all of them."""
    cells = pd.DataFrame(
        [("40", "0", "1,100", "1,000"), ("40", "1", "7", "7"), ("1,041", "0", "4", "1")],
        columns=["largest", "outside", "makespan", "LB"],
    )
    small, others, every = gaps.placement_table(cells).splitlines()[2:]
    assert small.endswith("| 1 | 0 | 10.00 % | 10.00 % |")
    assert others == "| others | 2 | 1 | 100.00 % | 300.00 % |"
    assert every.startswith("| all | 3 | 1 |")
