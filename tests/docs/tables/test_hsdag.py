"""The script that makes docs/results-hsdag.md."""

import numpy as np
import pandas as pd
import pytest
from results_page import filled
from table_scripts import load_script

from boundmark.heuristics.placement.learned.hsdag import parse

COLUMNS = ["part", "model", "method", "kind", "seed", "makespan", "bound", "cpu_seconds", "status"]


def tasks(*rows: tuple[str, int, float | None, float | None]) -> pd.DataFrame:
    """Return tasks on Inception-v3, of each its method, seed, makespan and certified bound."""
    return pd.DataFrame(
        [
            ("small", "inception-v3", method, "heuristic", seed, makespan, bound, 1.0, "ok")
            for method, seed, makespan, bound in rows
        ],
        columns=COLUMNS,
    )


def test_the_page_is_what_the_script_makes() -> None:
    """From the data that stand beside it; made again, it is the same."""
    module = load_script("hsdag")
    page = module.PAGE.read_text()
    assert filled(page, module.parts(), module.PAGE) == page
    assert module.tables() == module.TABLES.read_text()


def test_latencies_and_speedups_stand_beside_the_papers() -> None:
    """With the gap to the certified bound; a method that was not run has none."""
    module = load_script("hsdag")
    given = tasks(
        ("preferred-device first=0", 1, 10e6, None), ("interval-load", 1, None, 2e6),
        ("hsdag", 1, 4e6, None), ("hsdag", 2, 5e6, None), ("hsdag", 3, 8e6, None),
        ("placement-certify", 1, 2e6, 2e6),
    )  # fmt: skip
    lines = {line.split(" | ")[0]: line for line in module.table_2(given).splitlines()}
    assert lines["| HSDAG"].startswith(
        "| HSDAG | 10.5 ms <br> 17.9 % | 5 ms <br> 50.0 % | 150 % | 7.66 ms <br> 52.1 % | – | – |"
    )
    assert lines["| RNN-based"].endswith("| out of memory | – | – |")
    assert lines["| `placement-certify`"].startswith(
        "| `placement-certify` | – | 2 ms <br> 80.0 % | optimal"
    )


def test_the_papers_speedups_follow_from_its_latencies() -> None:
    """As they are printed, 1 - latency / latency on the CPU, to the digits of the latency."""
    module = load_script("hsdag")
    variants = [printed for _, printed in (*module.TABLE_2.values(), *module.TABLE_3.values())]
    for printed in variants:
        for (base, _), found in zip(module.TABLE_2["CPU-only"][1], printed, strict=True):
            if found is not None:
                speedup = 100 * (1 - float(found[0]) / float(base))
                # Latencies have three digits.
                assert abs(speedup - found[1]) < 0.7, found


def test_parts_with_common_tasks_count_each_once() -> None:
    """Those of the part that is named first; tasks on three devices are apart."""
    module = load_script("hsdag")
    given = tasks(("hsdag", 1, 4e6, None), ("hsdag", 1, 5e6, None), ("hsdag", 1, 6e6, None))
    given["part"] = ["small", "ablations", "three-devices"]
    assert module.of_paper(given)["makespan"].tolist() == [4e6]
    assert module.of_paper(given, "ablations")["makespan"].tolist() == [5e6]
    assert module.on_three(given)["makespan"].tolist() == [6e6]


def test_hyper_parameters_are_the_methods() -> None:
    """Table 6 beside what `hsdag` has by default, which is the same."""
    for line in load_script("hsdag").table_6().splitlines()[2:]:
        name, printed, ours = line.strip("| ").split(" | ")
        if " = " in ours:
            assert float(ours.rpartition(" = ")[2]) == float(printed), name


def test_layers_are_those_of_table_6() -> None:
    """Two of each sort: what the table says is fixed."""
    pytest.importorskip("jax")
    from boundmark.heuristics.placement.learned.hsdag_training import initial_parameters

    names = initial_parameters(8, 2, 4, np.random.default_rng(1))
    for layer in ("transform", "convolve", "score", "place"):
        assert sum(name.startswith(layer) and name.endswith("bias") for name in names) == 2


def test_groups_by_reading() -> None:
    """Each node keeps its best edge: to a consumer, everything ends in one group per sink."""
    pytest.importorskip("jax")
    module = load_script("hsdag_groups")
    edges = np.array([[0, 1], [0, 2], [1, 3], [2, 3]])
    found = module.parse_to_consumers(4, edges, [0.1, 0.2, 0.9, 0.3])
    assert found.kept.tolist() == [1, 2, 3, -1]
    assert found.groups == 1
    assert parse(4, edges, np.array([0.9, 0.1, 0.2, 0.8], np.float32)).groups == 2


def test_distances_of_outputs() -> None:
    """Of the same outputs none; the cosine does not depend on the size."""
    module = load_script("hsdag_outputs")
    same = module.distances([3.0, 4.0], [3.0, 4.0])
    assert (same["mean_squared"], same["cosine"], same["euclidean"]) == (0, 1, 0)
    other = module.distances([3.0, 4.0], [6.0, 8.0])
    assert (other["mean_squared"], other["cosine"], other["euclidean"]) == (12.5, 1, 5)
    assert module.distances([3.0, 4.0], [4.0, 3.0])["same_class"] == 0


def test_seconds_stand_beside_the_papers() -> None:
    """The median over seeds of processor time; what ran out of memory there is told."""
    module = load_script("hsdag")
    lines = module.table_5(tasks(("hsdag", 1, 4e6, None))).splitlines()[2:]
    assert lines[2] == "| `hsdag` | 2,454 | 1.0 | 1,047 | – | 2,765 | – |"
    assert "out of memory" in lines[1]


def test_seeds_have_their_median_and_spread() -> None:
    """Beside the paper's speedup, with how many there were; what was not run is missing."""
    module = load_script("hsdag")
    given = tasks(
        ("preferred-device first=0", 1, 10e6, None), ("interval-load", 1, None, 2e6),
        ("hsdag", 1, 4e6, None), ("hsdag", 2, 5e6, None), ("hsdag", 3, 8e6, None),
    )  # fmt: skip
    lines = module.ablations(given).splitlines()[2:]
    assert lines == [
        "| all features | Inception-v3 | 10.5 ms <br> 17.9 % "
        "| 5.000 (4.000 to 8.000) <br> 50.0 %, 150 % <br> n = 3 |"
    ]


def test_after_so_many_evaluations() -> None:
    """Methods that draw count samples, others evaluations."""
    module = load_script("hsdag")
    given = tasks(
        ("interval-load", 1, None, 2e6), ("hsdag evaluations=100", 1, 4e6, None),
        ("random-sets samples=300", 1, 3e6, None),
    )  # fmt: skip
    lines = module.curves(given).splitlines()
    assert lines[2] == "| `hsdag` | 4.000, 100.0 % | – | – | – |"
    assert lines[3] == "| `random-sets` | – | 3.000, 50.0 % | – | – |"
