"""Two instances of one label, of a file that was changed between two runs into one folder."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import Boundmark
from tiny_instances import MODULES, tiny

import boundmark as api
from boundmark.benchmarks.running.execution.in_process import run_here
from boundmark.benchmarks.running.planning import NamedInstance, plan_tasks
from boundmark.benchmarks.running.settings import RunSettings
from boundmark.benchmarks.running.storing import storing
from boundmark.benchmarks.solving.own_method import method_choice
from boundmark.problems.catalog import methods
from boundmark.problems.problem import Instance
from boundmark.reports.stored.store import ResultStore

pytestmark = pytest.mark.usefixtures("all_undrawn")

# Methods that need a moment.
QUICK = {
    "pipeline": ("max-work", "mean-work", "uniform", "slicegraph"),
    "microbatch": ("device-load", "1f1b", "modulo"),
    "placement": ("critical-path", "preferred-device", "heft", "m-etf"),
    "slicing": ("slice-compute", "one-device", "equal-slices"),
    "ordering": ("operator-memory", "default-order", "greedy-order"),
    "layers": ("layer-load", "interleave"),
}

# Methods of papers' tables and their parameters, whose rows are copies of the last one's.
COPIES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "pipeline": [("brkga-100", {}), ("bottleneck", {})],
    "microbatch": [("tessel", {})],
    "placement": [("hsdag", {"evaluations": 10}), ("hsdag", {"evaluations": 100})],
    "slicing": [("geneflow", {}), ("slice-search", {})],
}

# Parameters that sections are about. Two instances have the first, and one each of the others: who
# puts all of a name together would join the last two, which may be of different files.
SWEEPS: dict[str, list[dict[str, Any]]] = {
    "pipeline": [{"k": 2}, {"k": 4}, {"k": 8}],
    "microbatch": [{"memory": 4}, {"memory": 8}, {"memory": 16}],
    "placement": [
        {"transfers": "per-edge"},
        {"transfers": "per-edge", "fusion": "elementwise"},
        {"transfers": "per-edge", "fusion": "matmul"},
    ],
    "slicing": [{"edge_devices": 2, "memory_percent": n} for n in (50, 100, 200)],
    "ordering": [{"metric": name} for name in ("sum", "peak", "none")],
    "layers": [{"devices": name} for name in ("2xA", "3xA", "4xA")],
}


def chosen(problem: str) -> list[Instance]:
    """Return four instances of a problem, the first two of which have the same parameters."""
    large = [sample for sample, best in tiny(problem) if sample.nodes >= 3 and best > 0]
    common = Counter(json.dumps(dict(one.parameters)) for one in large).most_common(1)[0][0]
    alike = [one for one in large if json.dumps(dict(one.parameters)) == common]
    found = list({one.sha256: one for one in alike}.values())[:4]
    assert len(found) == 4
    return found


def run_into(folder: Path, problem: str, instance: Instance) -> None:
    """Run the quick methods of a problem on an instance, as if it were in a file."""
    source = NamedInstance("file", "net.json", instance)
    choices = [method_choice(name, problem=problem) for name in QUICK[problem]]
    planned = list(plan_tasks("mine", [source], choices, RunSettings(10.0, 2**30)))
    known = methods(problem)
    with storing(source, folder) as keep:
        for one in planned:
            keep([(one, run_here(one.task, known[one.task.method], instance))])


def add_papers_rows(folder: Path) -> None:
    """Give the instances the parameters of a sweep, and copy rows to methods of papers' tables."""
    store = ResultStore.open(folder)
    rows, traces = store.results(), store.traces()
    found = []
    for problem, own in rows.groupby("problem"):
        # In the order in which they were run.
        digests = own.sort_values("started_at")["instance_sha256"].unique()
        sweep = SWEEPS[str(problem)]
        params = dict(zip(digests, map(json.dumps, [sweep[0], *sweep]), strict=True))
        own = own.assign(instance_params=own["instance_sha256"].map(params))
        found.append(own)
        last = own[own["method"] == QUICK[str(problem)][-1]]
        for method, given in COPIES.get(str(problem), []):
            copy = last.assign(method=method, params=json.dumps(given))
            copy["task_id"] = [f"{method}-{given}-{at}".encode().hex() for at in copy["task_id"]]
            found.append(copy)
    store.put(pd.concat(found), traces)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with four instances of one label for each problem; not to be changed."""
    folder = tmp_path_factory.mktemp("changed") / "out"
    for problem in MODULES:
        for instance in chosen(problem):
            run_into(folder, problem, instance)
    return folder


@pytest.fixture
def papers(changed: Path, tmp_path: Path) -> Path:
    """Return a copy of that folder with what papers' tables are made of."""
    shutil.copytree(changed, tmp_path / "papers")
    add_papers_rows(tmp_path / "papers")
    return tmp_path / "papers"


def names_of(folder: Path) -> dict[str, set[str]]:
    """Return what each problem's instances should be called."""
    found: dict[str, set[str]] = {}
    for row in ResultStore.open(folder).results().to_dict("records"):
        name = f"net.json ({row['instance_sha256'][:6]})"
        found.setdefault(row["problem"], set()).add(name)
    return found


# The tables and plots that name instances, of those that these rows make.
NAMING = {
    *(f"tables/{name}.parquet" for name in ("certified", "failures")),
    *(
        f"tables/microbatch/{name}.parquet"
        for name in ("best_schedules", "bubble_rates", "communication", "schedules", "search_time")
    ),
    *(f"tables/placement/{name}.parquet" for name in ("curves", "latencies", "learned")),
    *(f"tables/slicing/{name}.parquet" for name in ("device_loads", "latency", "searches")),
    *(f"tables/{name}/speedups.parquet" for name in ("microbatch", "placement", "slicing")),
    "tables/ordering/savings.parquet",
    "plots/microbatch/communication.parquet",
    "plots/microbatch/search_time.parquet",
    "plots/placement/learning_curves.parquet",
    "plots/slicing/device_loads_1.parquet",
}


def test_no_row_mixes_instances(papers: Path, boundmark: Boundmark) -> None:
    """All are in the tables, plots and pages, each under a name of its own."""
    names = names_of(papers)
    everything = set().union(*names.values())
    assert len(everything) == 4 * len(MODULES)
    boundmark("report", papers, "--format", "html,md,latex,csv", "--quiet")
    seen = set()
    for path in [*papers.glob("tables/**/*.parquet"), *papers.glob("plots/**/*.parquet")]:
        table = pd.read_parquet(path)
        if "instance" not in table or table.empty:
            continue
        seen.add(path.relative_to(papers).as_posix())
        assert set(table["instance"]) <= everything, path
        if "instance_sha256" in table:
            own = "net.json (" + table["instance_sha256"].str[:6] + ")"
            assert (table["instance"] == own).all(), path
    assert seen >= NAMING
    assert set(pd.read_parquet(papers / "tables/certified.parquet")["instance"]) == everything
    html = (papers / "report.html").read_text()
    markdown = (papers / "report.md").read_text()
    latex, csv = (
        "".join(path.read_text() for path in papers.glob(f"page_tables/*.{ending}"))
        for ending in ("tex", "csv")
    )
    for text in (html, markdown, latex, csv):
        assert [name for name in everything if name not in text] == []
        # Nowhere is the label alone.
        assert re.findall(r"file/net\.json(?! \()", text) == []


@pytest.mark.usefixtures("undrawn")
def test_all_commands_keep_instances_apart(
    changed: Path, tmp_path: Path, boundmark: Boundmark
) -> None:
    """What is printed names both, and what is compared or merged is paired by the hash."""
    everything = set().union(*names_of(changed).values())
    rows = ResultStore.open(changed).results()
    boundmark("verify", changed, "--quiet")
    found = api.results(changed)
    assert set(found.best["instance"]) == set(found.tasks["instance"]) == everything
    copy = tmp_path / "copy"
    shutil.copytree(changed, copy)
    printed = boundmark("report", copy, "--format", "md").stdout
    assert [name for name in everything if f"file/{name}" not in printed] == []
    merged = boundmark("merge", changed, copy, "--out", tmp_path / "merged").stdout
    assert f"{len(rows)} tasks of 2 folders, {len(rows)} duplicates, 0 conflicts" in merged
    boundmark("baseline", changed, tmp_path / "base.parquet")
    # One solution of each problem is gone: the comparison says of which instance.
    lost = rows[rows["objective"].notna()].drop_duplicates("problem")
    store = ResultStore.open(copy)
    is_lost = rows["task_id"].isin(lost["task_id"])
    rows.loc[is_lost, ["objective", "solution_sha256"]] = None
    store.put(rows, store.traces())
    for base in (changed, tmp_path / "base.parquet"):
        told = boundmark("compare", base, copy, "--json", check=False).stdout
        subjects = [one["subject"] for one in json.loads(told)["findings"]]
        for row in lost.to_dict("records"):
            digest = row["instance_sha256"][:6]
            assert [one for one in subjects if f"({digest}), {row['method']}" in one]
