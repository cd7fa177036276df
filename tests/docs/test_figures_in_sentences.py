"""Figures that sentences of the results pages state are those of the committed data."""

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from boundmark.datasets import zoo

DOCS = Path(__file__).resolve().parents[2] / "docs"
TABLES = DOCS / "tables"

NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def page(name: str) -> str:
    """Return a page's text, each run of white space as one space."""
    return re.sub(r"\s+", " ", (DOCS / f"{name}.md").read_text())


def percents(column: "pd.Series[str]") -> "pd.Series[float]":
    """Return gaps as numbers, 0 for `optimal` and NaN where there is none."""
    text = column.replace({"optimal": "0 %", "none": "nan"}).str.removeprefix("< ")
    return text.str.removesuffix(" %").astype(float)


def mean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(np.asarray(list(values), dtype=float)))))


def moirai() -> pd.DataFrame:
    """Return the tasks of docs/results-moirai.md."""
    return pd.read_csv(TABLES / "moirai" / "tasks.csv")


def makespans() -> pd.DataFrame:
    """Return a row for each cluster, fusion and model, and a column for each method."""
    return moirai().pivot_table("makespan", ["cluster", "fusion", "model"], "method", "min")


def test_best_placements() -> None:
    """How many are optimal, of which models, and the median gap."""
    graphs = moirai().groupby(["cluster", "fusion", "model"])
    best, bound = graphs["makespan"].min(), graphs["bound"].max()
    optimal = best[best == bound]
    models = [model.partition("-")[0] for *_, model in optimal.index]
    assert set(models) == {"gpt", "swin"}
    text = page("results-moirai")
    swin = NUMBERS[models.count("swin")]
    assert (
        f"is optimal on {len(optimal)} of the {len(best)} graphs, {models.count('gpt')} of GPT and "
        f"{swin} of Swin"
    ) in text
    assert f"{100 * ((best / bound).median() - 1):.1f} % above the bound in the median" in text


def test_methods_beside_the_program() -> None:
    """How much better local search is than `moirai-milp`, and how much slower `getf`."""
    found = makespans()
    ratio = found["placement-search"] / found["moirai-milp"]
    better = [100 * (1 - mean(group)) for _, group in ratio.groupby(level=[0, 1])]
    text = page("results-moirai")
    assert f"is {min(better):.1f} to {max(better):.1f} % better" in text
    assert f"worse on {(ratio > 1).sum()} of {len(ratio)} graphs" in text
    between = (found["getf"] / found["moirai-milp"]).loc["inter-server", "none"]
    slow = between[between > 2]
    assert between.isna().sum() == 1
    assert (
        f"is {slow.min():.1f} to {slow.max():.1f} times slower on {NUMBERS[len(slow)]} models "
        "and has no placement of another"
    ) in text


def test_what_is_left_to_gain() -> None:
    """The most that one device leaves on original graphs of GPT and Swin, and what fusion saves."""
    given = moirai()
    one = given[(given["method"] == "single-device") & (given["fusion"] == "none")]
    most = (one["makespan"] / one["bound"])[~one["model"].str.startswith("evoformer")].max()
    text = page("results-moirai")
    assert f"is more than {np.ceil(100 * most) / 100:.2f} times as fast as one device" in text
    bounds = given.pivot_table("bound", ["cluster", "model"], "fusion", "max")
    saved = [
        f"{100 * (1 - mean(group)):.0f}"
        for _, group in (bounds["moirai"] / bounds["none"]).groupby(level=0)
    ]
    assert f"Our effect is larger, {' to '.join(sorted(set(saved)))} % of the certified" in text


def test_a_transfer_for_each_edge() -> None:
    """How many times as long the paper's other methods take there."""
    found = pd.read_csv(TABLES / "moirai" / "per_edge.csv").pivot_table(
        "makespan", ["cluster", "fusion", "model"], "method", "min"
    )
    most = found[["m-sct", "getf"]].div(found["moirai-milp"], axis=0).groupby("cluster").max()
    text = page("results-moirai")
    within, between = most.loc["intra-server"], most.loc["inter-server"]
    assert within["getf"] < 1.03
    assert f"and m-SCT takes up to {within['m-sct']:.1f} times as long" in text
    assert f"GETF takes up to {between['getf']:.0f} times as long" in text


def test_short_operators() -> None:
    """The longest of the upper quartiles of their times."""
    times = pd.read_csv(TABLES / "moirai" / "operator_times.csv")
    assert times["p75"].max() < 150
    assert "three quarters of them take less than 0.15 ms" in page("results-moirai")


def test_seconds_of_placement() -> None:
    """On the slower cluster for each model, and on fused graphs over those on original ones."""
    seconds = moirai().pivot_table("seconds", ["cluster", "fusion", "model"], "method", "max")
    text = page("results-moirai")
    slower = seconds.xs("none", level="fusion").groupby("model").max()
    for method in ("m-sct", "getf"):
        times = slower[method]
        assert f"`{method}` {'takes ' * (method == 'm-sct')}{times.min():.2f} to" in text
        assert f" to {times.max():.1f}" in text
    times = slower["moirai-milp"]
    assert f"and `moirai-milp` {times.min():.1f} to {times.max():.1f}." in text
    ratio = seconds.xs("moirai", level="fusion") / seconds.xs("none", level="fusion")
    sct, getf = (f"{100 * mean(ratio[method]):.0f} %" for method in ("m-sct", "getf"))
    assert f"those of `m-sct` to {sct} and of `getf` to {getf}" in text


def test_orders_beside_random_ones() -> None:
    """How much the best order saves of the mean of random ones, for the sum and the peak."""
    runs = pd.read_csv(TABLES / "memorianova" / "orders.csv")
    best = runs[runs["method"] == "downset-dp"].set_index(["metric", "model"])["objective"]
    random = pd.read_csv(TABLES / "memorianova" / "random_orders.csv")
    ratio = best / random.set_index(["metric", "model"])["mean"]
    total, peak = ratio["sum"], ratio["peak"]
    text = page("results-memorianova")
    assert (
        f"saves {100 * (1 - total.min()):.1f} % at most ({total.idxmin()}) and "
        f"{100 * (1 - mean(total)):.1f} % in the mean"
    ) in text
    assert f"the best is at most {100 * (1 - peak.min()):.1f} % below the mean" in text


def test_slices_over_a_slow_network() -> None:
    """On how many models cutting saves next to nothing, and what the bounds allow there."""
    text = (DOCS / "results-memorianova.md").read_text()
    table = text.partition("<!-- fast ethernet -->")[2].partition("<!-- end of")[0]
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in table.splitlines()]
    cells = {row[0]: [float(c.removesuffix(" %")) for c in row[2:]] for row in rows[4:] if row[1:]}
    little = {m: row for m, row in cells.items() if max(row[0::3] + row[1::3]) <= 0.1}
    assert (len(cells), len(little)) == (9, 6)
    allowed = {model: max(row[2::3]) for model, row in little.items()}
    assert max(allowed, key=lambda model: allowed[model]) == "densenet121"
    del allowed["densenet121"]
    said = page("results-memorianova")
    assert "cutting six of the nine models saves nothing or 0.1 %" in said
    most = max(allowed.values())
    assert f"no plan saves more than {most} % on five of these; densenet121 is open" in said


def test_slices_over_gigabit() -> None:
    """What four devices save by each search, what they can at most, and gaps by devices."""
    lines = (DOCS / "results-memorianova.md").read_text().splitlines()
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in lines]
    gigabit = [row for row in rows if row[0] == "Gigabit" and row[1] in ("2", "4", "8")]
    (saved,) = (row for row in gigabit if row[1] == "4")
    genetic, search, most = (saved[at].split(" (")[0] for at in (4, 6, 7))
    text = page("results-memorianova")
    assert f"GenEFlow saves {genetic}**. The bounds allow {most} at most" in text
    assert f"`slice-search` saves {search} in the same time" in text
    two, four, eight = (row[8].split(" %")[0] for row in gigabit)
    assert f"Gaps grow with the number of devices: {two}, {four} and {eight} %." in text


def test_slices_over_mixed_devices() -> None:
    """What eight devices save, and on how many models the genetic algorithm saves nothing."""
    text = (DOCS / "results-memorianova.md").read_text()
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines()]
    (saved,) = (row for row in rows if row[:2] == ["Gigabit, mixed devices", "8"])
    genetic, search, most = (saved[at].split(" (")[0] for at in (4, 6, 7))
    table = text.partition("<!-- mixed devices -->")[2].partition("<!-- end of")[0]
    cells = [line.split("|") for line in table.strip().splitlines()[2:]]
    nothing = sum(row[9].strip() == "0.0 %" for row in cells)
    assert len(cells) == 9
    assert (
        f"with eight, `geneflow` saves {genetic} and nothing at all on {NUMBERS[nothing]} of the "
        f"nine models, `slice-search` {search}, and the bounds allow {most}"
    ) in page("results-memorianova")


def test_waiting_and_blocking() -> None:
    """How long busiest devices wait in training, and what blocking transfers cost."""
    found = pd.read_csv(TABLES / "tessel" / "training.csv").set_index("schedule")
    waits = 100 * (1 - found["busiest"] / found["seconds"])
    own, plus = waits["Tessel"], waits["1F1B+"]
    blocking = (found["blocking_seconds"] / found["seconds"])["Tessel"]
    text = page("results-tessel")
    assert f"busiest device waits {own.min():.1f} to {own.max():.1f} % of the time" in text
    assert f"that of 1F1B+ {plus.min():.1f} to {plus.max():.1f} %" in text
    assert f"schedules {blocking.min():.2f} to {blocking.max():.2f} times as long" in text


def test_flava_over_tensor_parallelism() -> None:
    """K's throughput over it."""
    found = pd.read_csv(TABLES / "tessel" / "sensitivity.csv").set_index("assumption")["over_tp"]
    ours = found[found.index[0]]
    text = page("results-tessel")
    assert f"K's throughput is {ours.min():.2f} to {ours.max():.2f} of TP's" in text
    assert found["texts as long as images"].min() > 1
    assert 1.45 < found["all four"].min() < 1.5 < found["all four"].max()
    single = [found[name].max() for name in list(dict.fromkeys(found.index))[1:5]]
    assert max(single) < 1.45


def test_memory_without_bubbles() -> None:
    """From how many activations on each shape has none, and which periods are not proven."""
    found = pd.read_csv(TABLES / "tessel" / "by_memory.csv")
    least = found[(found["bubble"] == 0) & found["is_papers"]].groupby("shape")["memory"].min()
    text = page("results-tessel")
    assert (least["v"], least["x"]) == (4, 4)
    assert f"K has no bubbles from {least['k']} activations on, V and X from 4" in text
    assert f"M from {least['m']} and NN from {least['nn']}" in text
    periods = pd.read_csv(TABLES / "tessel" / "devices.csv")
    shape = periods["shape"].str.partition("-")
    periods = periods.assign(name=shape[0], devices=shape[2].astype(int))
    best = periods[["modulo", "tessel"]].min(axis=1)
    is_open = periods[best != periods["bound"]]
    assert set(is_open["name"]) == {"m", "nn", "nn_eager", "interleaved"}
    assert len(is_open) == 8
    assert (is_open["memory"] == is_open["devices"]).all()


def test_searches_for_all_blocks_at_once() -> None:
    """How many end, how long they take over Tessel's, and which makespans are certified."""
    found = pd.read_csv(TABLES / "tessel" / "all_at_once.csv")
    is_third = found["shape"] == "v-4-train-b2"
    third, ninth = found[is_third], found[~is_third].assign(shape=found["shape"].str[:-2])
    ended = third[~third["is_limited"]]
    text = page("results-tessel")
    assert f"to {ended['micro_batches'].max()} micro-batches it ends within" in text
    assert f"ends within {ended['seconds'].max():.1f} s" in text
    assert (ended["objective"] == ended["certified"]).all()
    assert third[third["is_limited"]]["micro_batches"].to_list() == [9, 10, 12, 16]
    ninth = ninth.set_index(["shape", "micro_batches"])
    to, tessel = (ninth[ninth["method"] == name] for name in ("time-optimal", "tessel"))
    done = to[~to["is_limited"]]
    assert f"within the limit on {len(done)} of {len(to)} layouts" in text
    whole = tessel.xs(0, level="micro_batches")["seconds"]
    ratio = done["seconds"].div(whole, level="shape")
    assert (
        f"up to {ratio.max():.0f} times as slowly as Tessel ({ratio.idxmax()[0].upper()})" in text
    )
    assert set(ratio[ratio < 1].index) == {("m", 2), ("nn", 2)}
    proven = to[to["objective"] == to["certified"]]
    assert set(proven.index) == {("v", 2), ("v", 4), ("v", 6), ("x", 2), ("k", 2)}
    claimed = to[(to["objective"] == to["claimed"]) & (to["objective"] > to["certified"])]
    assert set(claimed.index) == {("m", 2), ("nn", 2)}
    more = tessel["objective"].reindex(to.index) - to["objective"]
    assert set(more[more > 0].index) == {("v", 2), ("x", 2), ("m", 2), ("nn", 2), ("m", 4)}
    bubbles = 100 * (1 - 8 * 6 / tessel.loc[("nn", 6), "objective"])
    assert f"with 6 micro-batches has a bubble rate of {bubbles:.1f} %" in text


def test_claims_of_solvers() -> None:
    """Gurobi's are highest and those of HiGHS lowest on every graph, on two as high as SCIP's."""
    found = pd.read_csv(TABLES / "mtpp" / "solvers.csv")
    claims = found[found["program"] == "bottleneck"].pivot_table("claimed", "graph", "solver")
    assert (claims["gurobi"] > claims[["scip", "highs"]].max(axis=1)).all()
    assert (claims["highs"] <= claims["scip"] + 1e-6).all()
    assert np.isclose(claims["highs"], claims["scip"]).sum() == 2


def test_bounds_beside_the_simple_one() -> None:
    """Gaps of certified bounds on models and on random graphs, and what is proven optimal."""
    found = pd.read_csv(TABLES / "mtpp" / "hierarchy_by_k.csv")
    proven = pd.read_csv(TABLES / "mtpp" / "optimal_by_k.csv").set_index(["dataset", "param_k"])
    means = found.pivot_table("mean", ["dataset", "level"], "param_k")
    certified = means.xs("best certified bound of all methods", level="level")
    best = means.xs("best solution of all methods", level="level")
    gap = 100 * (best / certified - 1)
    sizes = found[found["level"] == "exact"].set_index(["dataset", "param_k"])["instances"]
    optimal, of_zoo = proven["optimal"].loc["zoo"], sizes.loc["zoo"]
    text = page("results-mtpp")

    assert of_zoo.to_dict() == {k: len(zoo.index()) for k in (2, 4, 8, 16)}
    assert f"{optimal.sum()} of these {of_zoo.sum()} instances are proven optimal" in text
    *some, last = (f"{np.ceil(100 * one) / 100:.2f}" for one in gap.loc["zoo"].dropna())
    assert f"within {', '.join(some)} and {last} % of the best partition in the mean" in text
    exact = means.loc[("zoo", "exact")]
    assert f"`exact` is at {exact[4]:.2f} with 4 stages and at {exact[16]:.2f} with 16" in text
    times = pd.read_csv(TABLES / "mtpp" / "program_times.csv")
    of_exact = times[(times["dataset"] == "zoo") & (times["method"] == "exact")]
    solved = (of_exact["wall_seconds"] < 60).groupby(of_exact["param_k"]).sum()
    assert f"on {solved[4]} models with 4 stages and on {solved[16]} with 16" in text
    assert f"graphs, of up to {times['nodes'].max():,} nodes" in text

    random = gap.loc["regal-style"]
    assert random[[2, 64]].max() < 0.005
    assert "best partition for 2 and 64 stages" in text
    several = ", ".join(f"{np.ceil(random[k]):.0f}" for k in (4, 8, 16))
    assert f"within {several} and {np.ceil(random[32]):.0f} % of it for 4, 8, 16 and 32" in text
    *better, last = (f"{100 * (1 - cost):.0f}" for cost in best.loc["regal-style"])
    assert f"cost {', '.join(better)} and {last} % less than BRKGA's" in text
    simple = means.loc[("regal-style", "simple (Lemma 3.3)")]
    assert f"from {simple[2]:.3f} to {simple[64]:.3f} where the paper has 0.958 to 0.334" in text
    closed = (means.loc[("regal-style", "exact")] - simple) / (best.loc["regal-style"] - simple)
    assert closed[2] > 0.99
    assert 0.5 < closed[4] < 0.99
    assert 0 < closed[8] < 0.1
    assert (closed[[16, 32, 64]] < 0.0001).all()
    assert "closes the gap with 2 stages and most of it with 4, gets a little beyond" in text


def test_partitions_of_slicegraph() -> None:
    """How close BRKGA's are with 16 stages, and the largest models' times."""
    levels = pd.read_csv(TABLES / "mtpp" / "hierarchy_by_k.csv")
    is_shown = (levels["dataset"] == "zoo") & (levels["param_k"] == 16)
    means = levels[is_shown].set_index("level")["mean"]
    above = np.ceil(1e4 * (1 / means["best certified bound of all methods"] - 1)) / 100
    text = page("results-mtpp")
    assert f"`brkga-10000` is within {above:.2f} % of the best" in text

    times = pd.read_csv(TABLES / "mtpp" / "program_times.csv")
    of_zoo = times[times["dataset"] == "zoo"]
    seconds = of_zoo.groupby("method")["wall_seconds"].max()
    assert seconds["slicegraph"] < 0.04
    assert "takes less than 0.04 s on every model" in text
    largest = of_zoo[of_zoo["nodes"] == of_zoo["nodes"].max()].set_index("method")["wall_seconds"]
    assert (largest[["brkga-10000"]] >= 60).all()


def test_exact_is_tight_in_the_case_study() -> None:
    """Programs of three superblocks are far from the best partition."""
    found = pd.read_csv(TABLES / "mtpp" / "case_study.csv").set_index("method")
    simple = found.loc[["max-work", "mean-work"], "bound_certified"].max()
    programs = ["bottleneck", "bottleneck-guess", "exact"]
    claimed, best = found.loc[programs, "bound_claimed"], found["objective"].min()
    assert claimed["exact"] == pytest.approx(best)
    assert (found.loc[programs, "wall_seconds"] < 60).all()
    closed = (claimed[["bottleneck", "bottleneck-guess"]] - simple) / (best - simple)
    assert 0.2 < closed.min() <= closed.max() < 0.3
    text = page("results-mtpp")
    assert "only `exact` shows it" in text
    assert "those of three superblocks close a quarter of the gap" in text


def test_worst_orders() -> None:
    """How far methods are above the optimum, k + 1, and that `certify` proves it everywhere."""
    found = pd.read_csv(TABLES / "mtpp" / "worst_orders.csv")
    optimum = found["param_k"] + 1
    certified = found["method"] == "certify"
    assert (found["bound_certified"] == optimum)[certified].all()
    above = 100 * (found["objective"] / optimum - 1)[~certified].groupby(found["method"]).max()
    most = np.ceil(above.drop(["slicegraph", "mla-weighted"]).max())
    assert f"are within {most:.0f} % of the optimum, but for `mla-weighted`" in page("results-mtpp")
    assert f"`mla-weighted` (up to {above['mla-weighted']:.0f} %)" in page("results-mtpp")


def test_seconds_of_optimal_placements() -> None:
    """Within how many `placement-certify` proves the optima of HSDAG's models."""
    tasks = pd.read_csv(TABLES / "hsdag" / "tasks.csv")
    of_method = tasks[(tasks["method"] == "placement-certify") & (tasks["part"] == "small")]
    assert len(of_method) == 3
    seconds = int(np.ceil(of_method["cpu_seconds"].max()))
    text = page("results-hsdag")
    assert f"`placement-certify` finds and proves it within {seconds} seconds" in text


def test_readings_of_hsdag() -> None:
    """In how many searches several groups are left, and how far latencies are from each other."""
    found = pd.read_csv(TABLES / "hsdag" / "readings.csv")
    text = page("results-hsdag")
    both = found[found["reading"].isin(["logarithms of shapes", "compared before the sigmoid"])]
    assert f"leaves several in {(both['groups'] > 1).sum()} of {len(both)} searches" in text
    medians = found.groupby(["model", "reading"])["makespan"].median().unstack("model") / 1e6
    inception = medians["inception-v3"]
    assert f"are {inception.min():.2f} to {inception.max():.2f} ms on Inception-v3" in text
    assert (medians[["resnet-50", "bert-base"]].nunique() == 1).all()
    slow = found[found["makespan"] > 7e6].sort_values("makespan")
    assert set(slow["model"]) == {"resnet-50"}
    assert list(slow["reading"]) == ["compared before the sigmoid", "edges to consumers only"]
    first, second = (f"{one:.1f}" for one in slow["makespan"] / 1e6)
    assert f"Two of the {len(found)} searches ended at {first} and {second} ms" in text


def test_measured_times() -> None:
    """How far the roofline's optimum is from the optimum in each phase."""
    found = pd.read_csv(TABLES / "gaps" / "measured.csv")
    most = percents(found["the roofline's optimum"]).groupby(found["phase"]).max()
    assert (
        f"within {most['prefill']:.0f} % of the optimum for prompts, but up to "
        f"{most['decode']:.0f} % above it in decoding"
    ) in page("how-far-from-optimal")


def test_defaults_on_equal_and_unequal_devices() -> None:
    """Even splits suit prompts on equal devices; llama.cpp's is best on two kinds of them."""
    found = pd.read_csv(TABLES / "gaps" / "defaults-serving.csv")
    is_equal = ~found["devices"].str.contains(",")
    gaps = found.iloc[:, 3:].apply(percents)
    assert gaps[is_equal & (found["phase"] == "prefill")]["vLLM"].max() < 0.5
    assert gaps[~is_equal].median().idxmin() == "llama.cpp"
    assert gaps[~is_equal].count().idxmax() == "llama.cpp"


@pytest.mark.parametrize("path", ["README.md", "docs/index.md"])
def test_short_table_of_todays_tools(path: str) -> None:
    """Its means are those of the long table, which a script makes of the committed data."""
    long = (DOCS / "how-far-from-optimal.md").read_text()
    cells = {
        row[0]: (row[2], row[5])
        for row in (line.strip("| ").split(" | ") for line in long.splitlines())
        if len(row) == 7
    }
    text = (DOCS.parent / path).read_text()
    begin = text.index("| what you use today |")
    short = text[begin : text.index("\n\n", begin)].splitlines()[2:]
    assert len(short) == 6
    for line in short:
        title, roofline, *measured = line.strip("| ").split(" | ")
        if "PiPPy" in title:
            assert not measured
            row = next(one for one in long.splitlines() if one.startswith(f"| {title} |"))
            assert f"| {roofline} |" in row
            continue
        assert (roofline, *measured) == cells[title]


def test_partitions_of_todays_tools() -> None:
    """The table has a gap for each tool and cell, and none is below the bound."""
    cells = pd.read_csv(TABLES / "gaps" / "tools-partitions.csv", dtype=str)
    assert cells["costs"].value_counts().to_dict() == {"measured": 26, "roofline": 26}
    gaps = cells[cells.columns[4:]].apply(percents)
    assert (gaps.min() >= 0).all()
    assert gaps.isna().sum().drop("equal parameters (PiPPy)").sum() == 0
