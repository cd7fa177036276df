"""Headline figures of the README and the problems' pages are those of committed tables."""

import re
from pathlib import Path

import pandas as pd

from boundmark.benchmarks.library import Library
from boundmark.reports.true_costs import engine_steps, summary, totals

DOCS = Path(__file__).resolve().parents[2] / "docs"


def page(name: str) -> str:
    """Return a page's text, each run of white space as one space."""
    return re.sub(r"\s+", " ", (DOCS / f"{name}.md").read_text())


def rows(name: str, table: str) -> dict[str, list[str]]:
    """Return the rows of a table between its marks, by their first cell."""
    text = (DOCS / f"{name}.md").read_text()
    found = text.partition(f"<!-- {table} -->")[2].partition("<!-- end of")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in found.splitlines()
        if line.startswith("|")
    ]
    return {first: rest for first, *rest in cells}


def test_cells_of_the_zoo() -> None:
    """How many are proven optimal, and of how many."""
    proven = rows("how-far-from-optimal", "zoo")["proven optimal"][1:]
    optimal, of = (sum(int(cell.split(" of ")[i]) for cell in proven) for i in (0, 1))
    assert f"{optimal} of {of} cells of the zoo" in page("problems/pipeline")


def test_placements() -> None:
    """Optima and mean gap of all pairs of a model and a cluster, and of small modules."""
    table = rows("how-far-from-optimal", "placements")
    pairs, optimal, mean, _ = table["all"]
    text = page("problems/placement")
    assert f"{pairs} pairs of a model and a cluster" in text
    assert f"{optimal} are proven optimal, and the mean gap is {mean}" in text
    small, _, mean, _ = table["models that fall into modules of at most 40 operators"]
    assert f"It is {mean} for the {small} whose modules" in text


def test_learned_placements() -> None:
    """Gaps of HSDAG on the paper's models."""
    _, _, inception, _, _, resnet, _, _, bert = rows("results-hsdag", "table 2")["HSDAG"]
    gaps = [float(cell.rstrip(" %")) for cell in (inception, resnet, bert)]
    text = page("problems/placement")
    assert f"{gaps[1]:.1f} and {gaps[2]:.1f} % above the certified optimum" in text
    assert f"On Inception-v3 it is {round(gaps[0] + 1e-9)} % above it" in text


def test_periods() -> None:
    """How many are certified optimal on 4, and on 8 and 16 devices, and after how long."""
    table = rows("results-tessel", "devices")
    text = page("problems/microbatch")
    of, tessel, _, _, seconds = table["4"]
    assert (of, tessel) == ("10", "10")
    assert f"all ten instances within {seconds} s" in text
    more = table["8"], table["16"]
    optimal, instances = (sum(int(row[i]) for row in more) for i in (3, 0))
    assert f"{optimal} of {instances} are" in text
    assert f"after {max(float(row[4]) for row in more)} s at most" in text


def test_library() -> None:
    """How many instances it has, and how many are proven optimal."""
    entries = Library.open(DOCS.parent / "library").entries()
    optimal = sum(one.is_optimal for one in entries)
    assert f"{len(entries)} instances of all six problems" in page("library")
    assert f"{optimal} are proven optimal" in page("library")


def test_orders() -> None:
    """Optima of the eleven models, savings, and what the paper's search leaves."""
    runs = pd.read_csv(DOCS / "tables" / "memorianova" / "orders.csv")
    text = page("problems/ordering")
    of_metric = {}
    for metric, found in runs.groupby("metric"):
        costs = found.pivot_table("objective", "model", "method")
        bounds = found.pivot_table("bound", "model", "method")
        best = costs["downset-dp"]
        assert (best == bounds["downset-dp"]).all()
        saved = 100 * (1 - best / costs["default-order"])
        left = 100 * (best / bounds["live-cut"] - 1)
        of_metric[metric] = (f"{saved.max():.1f} % of the {metric} ({saved.idxmax()})", left.max())
        if metric == "sum":
            above = 100 * (costs["btsearch marking hashing"] / best - 1)
            least, most = (f"{value:.0f}" for value in (above[above > 0].min(), above.max()))
            assert (len(best), (above == 0).sum(), (above > 0).sum()) == (11, 8, 3)
            assert f"{least} to {most} % above" in text
    (saved_sum, left_sum), (saved_peak, left_peak) = of_metric["sum"], of_metric["peak"]
    assert f"saves up to {saved_sum} and up to {saved_peak}" in text
    assert f"gaps of up to {left_sum:.1f} % for the sum, and none for the peak" in text
    assert left_peak == 0
    seconds = runs[runs["method"] == "downset-dp"]["seconds"].max()
    assert f"within {seconds} s of processor time" in text


def test_random_graphs() -> None:
    """Mean gaps of weighted graphs, as the overview has them."""
    (result,) = re.findall(
        r"weighted ones within ([\d.]+ to [\d.]+ %)", page("how-far-from-optimal")
    )
    assert f"Weighted random graphs are within {result}" in page("problems/pipeline")
    assert f"weighted random graphs are within {result}" in page("../README")


def test_models_of_the_mtpp_paper() -> None:
    """How many instances of the first table are proven optimal, by how many models there are."""
    table = rows("results-mtpp", "table 1")
    optimal, instances = (
        [int(cell) for cell in table[name][1:] if cell] for name in ("proven optimal", "instances")
    )
    assert instances == [70, 70, 70, 70, 0, 0]
    assert f"it is {sum(optimal)} of {sum(instances)}." in page("problems/pipeline")
    still_open = f"on the {sum(instances) - sum(optimal)} cells that they left open"
    assert still_open in page("how-far-from-optimal")
    zoo = rows("how-far-from-optimal", "zoo")
    assert not any(name.endswith("-training") for name in zoo)
    assert "all 20 instances of them are [proven" in page("results-mtpp")


def test_defaults_of_tools() -> None:
    """What vLLM's even splits cost, and the largest gap of all."""
    table = rows("how-far-from-optimal", "defaults")
    _, _, _, median, largest = table["vLLM"]
    text = page("problems/layers")
    assert f"vLLM's even splits are {median} above them in the median and {largest} at most" in text
    gaps = [float(row[-1].rstrip(" %")) for row in table.values() if row[-1].endswith("%")]
    times = f"up to {1 + max(gaps) / 100:.1f} times as long"
    assert times in page("how-far-from-optimal")
    assert 4 < 1 + max(gaps) / 100 < 4.5
    assert "defaults are up to four times slower" in page("../README")


def test_throughput() -> None:
    """How many times as fast Tessel is for GPT on 8 GPUs."""
    row = rows("results-tessel", "figure 13")["8"]
    plus, own = (re.findall(r"\(([\d.]+)\)", row[i])[0] for i in (1, 2))
    text = page("problems/microbatch")
    assert f"{float(own):.1f} times that of 1F1B, and {plus} times that of 1F1B+" in text


def test_readme() -> None:
    """Its headline results are those of the tables."""
    text = page("../README")
    proven = rows("how-far-from-optimal", "zoo")["proven optimal"][1:]
    optimal, of = (sum(int(cell.split(" of ")[i]) for cell in proven) for i in (0, 1))
    assert f"{optimal} of {of} cells of the zoo" in text
    pairs, _, mean, _ = rows("how-far-from-optimal", "placements")["all"]
    percent = f"{float(mean.rstrip(' %')):.1f} %"
    assert f"[{pairs} pairs of a model and a cluster]" in text
    assert f"within {percent} in the geometric mean" in text
    (line,) = re.findall(r"\| Gigabit \| 4 \| (.*?) \| \|", page("problems/slicing"))
    found, most = (round(float(cell.split(" %")[0])) for cell in line.split(" | ")[-2:])
    assert f"save {found} % of one device's latency, and {most} % is the most" in text


def test_cards_of_the_first_page() -> None:
    """They say what the pages say that they lead to."""
    text, overview = page("index"), rows("how-far-from-optimal", "overview")
    proven = overview["pipeline partitions of models"][-1].removesuffix(" proven optimal")
    assert f"card result {proven} pairs" in text
    instances, result = overview["layers of language models"]
    of = instances.removesuffix(" instances")
    assert f"card result {result.partition(' ')[0]} of {of} instances" in text
    assert result.partition("; ")[2] in text
    percents = page("true-costs").partition("roofline was ")[2].partition(" above")[0]
    assert f"card result {percents} above the optimum" in text


def test_widest_placements() -> None:
    """The instances named below the table are those with gaps of more than 3 %."""
    table = pd.read_csv(DOCS / "tables" / "gaps" / "placements.csv")
    gaps = table["gap"].str.removesuffix(" %").replace("optimal", "0").astype(float)
    wide = table[gaps > 3].assign(gap=gaps)
    said = page("how-far-from-optimal").partition("widest are")[2].partition(").")[0]
    for row in wide.itertuples():
        assert row.model in said
        assert f"{row.gap:.1f}" in said
    assert len(re.findall(r"\d\.\d", said)) == len(wide)


def test_how_true_costs_are() -> None:
    """Excess of partitions that are optimal on the roofline, and on calibrated costs."""
    found = {
        costs: [one for one in summary() if one.costs == costs]
        for costs in ("roofline", "calibrated")
    }
    said = {
        costs: "{}, {} and {} %".format(*(f"{100 * one.excess:.0f}" for one in several))
        for costs, several in found.items()
    }
    close = {costs: sum(one.close for one in several) for costs, several in found.items()}
    text = page("true-costs")
    for where in (text, page("how-far-from-optimal"), page("../README"), page("../CHANGELOG")):
        assert said["roofline"] in where
    assert f"still {said['calibrated']} above the optimum" in text
    assert f"in {close['calibrated']} of 39 cases (the roofline: {close['roofline']})" in text
    shortest = 1 / max(one.most for one in found["roofline"])
    longest = 1 / min(one.least for one in found["roofline"])
    assert f"took {shortest:.1f} to {longest:.1f} times as long as predicted" in text
    shares = [one.measured / one.whole for one in totals()]
    for where in (text, page("datasets")):
        assert f"{min(shares):.2f} to {max(shares):.2f} times" in where
    steps = [one.ratio for one in engine_steps()]
    assert f"takes {min(steps):.2f} to {sorted(steps)[-3]:.1f} times what the roofline says" in text


def test_partitions_that_ran_on_a_processor() -> None:
    """Which were the best of three, and how far the others were from it."""
    table = pd.read_csv(
        DOCS / "tables" / "processor_costs.tsv", sep="\t",
        names=["model", "k", "costs", "predicted", "real"],
    )  # fmt: skip
    best = table.groupby(["model", "k"])["real"].transform("min")
    table["excess"] = 100 * (table["real"] / best - 1)
    excess = table.groupby("costs")["excess"]
    own = table[table["costs"] == "measured"]
    text = page("true-costs")
    assert f"in {(own['excess'] == 0).sum()} of {len(own)} cells" in text
    assert f"at most {excess.max()['measured']:.1f} % above the best in the others" in text
    assert f"roofline's were up to {excess.max()['roofline']:.0f} % above it" in text
    assert f"which are a GPU's, up to {excess.max()['calibrated']:.0f} %" in text
    off = (own["predicted"] / own["real"] - 1).abs().max()
    assert f"predicted within {100 * off:.0f} %" in text
