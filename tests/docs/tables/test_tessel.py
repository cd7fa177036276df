"""The script that makes the tables of docs/results-tessel.md."""

import pandas as pd
from results_page import filled
from table_scripts import load_script


def test_the_page_is_what_the_script_makes() -> None:
    """From the data that stand beside it; made again, it is the same."""
    module = load_script("tessel")
    page = module.PAGE.read_text()
    assert filled(page, module.parts(), module.PAGE) == page
    assert module.tables() == module.TABLES_FILE.read_text()


def test_a_rate_that_may_not_be_the_smallest_has_a_star() -> None:
    """And more micro-batches are in brackets only where they change the rate."""
    columns = ["shape", "is_papers", "micro_batches", "memory", "bubble", "is_proven"]
    rows = pd.DataFrame(
        [
            ("x", True, 3, 1, None, True), ("x", False, 9, 1, None, True),
            ("x", True, 3, 2, 25.0, True), ("x", False, 9, 2, 11.1, False),
            ("x", True, 3, 3, 11.1, True), ("x", False, 9, 3, 11.1, False),
        ],
        columns=columns,
    )  # fmt: skip
    assert (
        load_script("tessel").figure_12(rows).splitlines()[2]
        == "| X, 3 | – | 25.0 (11.1*) | 11.1 |"
    )


def test_proven_periods_are_counted_by_devices() -> None:
    """Of each method, and of the better one of each layout."""
    rows = pd.DataFrame(
        [("v-4", 4, 4, 5, 0.5), ("x-4", 8, 9, 8, 0.25), ("v-16", 4, 6, 6, 2.0)],
        columns=["shape", "bound", "tessel", "modulo", "to_period"],
    )
    assert load_script("tessel").device_summary(rows).splitlines()[2:] == [
        "| 4 | 2 | 1 | 1 | 2 | 0.50 |",
        "| 16 | 1 | 0 | 0 | 0 | 2.00 |",
    ]


def test_what_does_not_fit_is_a_cross_and_has_no_ratio() -> None:
    """Nor have others where Tessel itself does not fit."""
    rows = pd.DataFrame(
        [("gpt", 4, "Tessel", 64.0, 8.0), ("gpt", 4, "1F1B", 128.0, 8.0),
         ("gpt", 8, "1F1B", 128.0, 16.0)],
        columns=["model", "gpus", "schedule", "seconds", "operations"],
    )  # fmt: skip
    four, eight = load_script("tessel").speed_table(rows, "gpt").splitlines()[2:4]
    assert four == "| 4 | 0.125 | × | 0.062 (2.00) | × | × | × | × |"
    assert eight == "| 8 | × | × | 0.125 | × | × | × | × |"


def test_a_search_that_did_not_end_takes_longer() -> None:
    """Its ratio is a bound, and there is none if the other one did not end either."""
    module = load_script("tessel")
    ended, limited = (
        pd.Series({"seconds": seconds, "is_limited": seconds == 45.0}) for seconds in (5.0, 45.0)
    )
    assert module._ratio(ended, ended) == "1.0"
    assert module._ratio(limited, ended) == "> 9.0"
    assert module._ratio(ended, limited) == "< 0.1"
    assert module._ratio(limited, limited) == "–"


def test_other_assumptions_begin_with_ours() -> None:
    """The first line of the sensitivity table is what Figure 15 has."""
    found = pd.read_csv(load_script("tessel").DATA / "sensitivity.csv")
    ours = found[found["assumption"] == found["assumption"][0]].set_index("samples")["over_tp"]
    speed = pd.read_csv(load_script("tessel").DATA / "inference.csv").pivot_table(
        "samples_per_second", "samples", "shape"
    )
    assert (ours - speed["k"] / speed["tp"]).abs().max() < 1e-5
