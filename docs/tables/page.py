"""Fill pages from stored data: `python docs/tables/page.py`; with `--check`, only compare.

A page has three sorts of generated text. A part stands between `<!-- name -->` and `<!-- end of
name -->`: a table, mostly one of a report's section. A sentence is known by its words, and its
numbers are made anew. A part whose name is a command, `boundmark ...` or `python ...`, is what this
prints: `python docs/tables/page.py outputs` runs those of all pages, or of pages that are named, in
a folder with the page's files: blocks whose first line has a name behind the language. Everything
else is written by hand; tables there name the commit they are of. `page.py list` prints all
parts and sentences, with the script of each.

`python docs/tables/page.py save NAME RESULTS...` keeps rows of results folders as
`docs/tables/NAME.csv`, each in the place of the row of the same task; rows that were not run again
stay, with their commit and date. A newer version of a method counts once it has run on all
instances that the older one has; then rows of the older one go.
`keep NAME RESULTS TABLE...` does so with tables of a folder's report, in `docs/tables/NAME/`.
Each module in `MODULES` says what it fills, by the page's path below the repository. Pictures are
drawn by `python docs/tables/pictures.py`.
"""

import hashlib
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from boundmark.problems.catalog import methods
from boundmark.problems.errors import InvalidInputError
from boundmark.reports.microbatch.schedules import seconds_to_objective
from boundmark.reports.pages.formats import markdown_rows
from boundmark.reports.pages.page import Group, Section
from boundmark.reports.problem_report import ProblemReport, ProblemResults
from boundmark.reports.stored.parquet import as_frame
from boundmark.reports.stored.run_records import read_environments
from boundmark.reports.stored.schema import RESULTS, TRACES
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.stored.verified_results import verified_results
from boundmark.reports.tables.parameters import with_parameter_columns
from boundmark.reports.tables.tasks import certified_of_tasks, with_names
from boundmark.reports.text import decimal

TABLES = Path(__file__).resolve().parent
DOCS = TABLES.parent
ROOT = DOCS.parent

MODULES = ("papers", "tessel", "gaps", "declared_tables", "pictures")


class Filling(NamedTuple):
    """The contents to be filled into a page: parts by the name in their marks, and sentences."""

    parts: Mapping[str, str]
    sentences: Sequence[str] = ()


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """Return a table whose first columns are text, and the others numbers.

    A head that begins with `>` is of a column of numbers wherever it stands.
    """
    rule = [
        "---:" if at >= text_columns or name.startswith(">") else "---"
        for at, name in enumerate(head)
    ]
    titles = [name.removeprefix(">") for name in head]
    return "\n".join("| " + " | ".join(line) + " |" for line in (titles, rule, *rows))


def by_stages(sizes: Iterable[int]) -> list[str]:
    """Return the heads of columns for numbers of stages."""
    return [f"k = {k}" for k in sizes]


def filled(page: str, made: Filling, path: Path) -> str:
    """Return a page with its parts and the numbers of its sentences made anew."""
    for name, text in made.parts.items():
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, _, rest = page.partition(start)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"{path}: {start} or {end} is missing; expected both.")
        page = f"{before}{start}\n\n{text}\n\n{end}{after}"
    for sentence in made.sentences:
        page = _with_sentence(page, sentence, path)
    return page


WORDS = "one|two|three|four|five|six|seven|eight|nine|ten"
NUMBER = re.compile(rf"\d+(?:,\d{{3}})*(?:\.\d+)?|\b(?:{WORDS})\b")


def _with_sentence(page: str, sentence: str, path: Path) -> str:
    """Return a page with the numbers of a sentence in the place of those that stand there."""
    words = [r"\s+".join(map(re.escape, re.split(r"\s+", one))) for one in NUMBER.split(sentence)]
    found = list(re.finditer(f"({NUMBER.pattern})".join(words), page))
    if len(found) != 1:
        raise ValueError(
            f"{path}: there are {len(found)} sentences like {sentence!r}; expected one."
        )
    for at, number in reversed(list(enumerate(NUMBER.findall(sentence), 1))):
        start, end = found[0].span(at)
        page = page[:start] + number + page[end:]
    return page


COMMAND = re.compile(r"^<!-- ((?:boundmark|python) .*) -->$", re.MULTILINE)

# These need PyTorch.
MEASURED = re.compile(r"boundmark (?:measure|profile) ")

# A block that a page gives as a file.
FILE = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# How lines begin that differ from run to run, or only say what was solved.
NOT_QUOTED = ("seconds ", "instance ", "compiling ")


def outputs_of(page: str) -> dict[str, str]:
    """Return the commands of a page, each with what it prints, as the page shows it.

    They run one after the other in a folder with the page's files.
    """
    programs = Path(sys.executable).parent
    variables = {
        **os.environ, "COLUMNS": "80", "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"
    }  # fmt: skip
    made = {}
    with TemporaryDirectory() as folder:
        (Path(folder) / "docs").symlink_to(DOCS)
        for name, text in FILE.findall(page):
            (Path(folder) / name).write_text(text)
        for command in COMMAND.findall(page):
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command], cwd=folder, env=variables,
                capture_output=True, text=True,
            )  # fmt: skip
            if done.returncode not in (0, 1 if "--max-gap" in command else 0):
                raise InvalidInputError(f"{command}: {done.stderr.strip()}")
            lines = [one for one in done.stdout.splitlines() if not one.startswith(NOT_QUOTED)]
            made[command] = "\n".join(["```text", *prompt(command), *map(str.rstrip, lines), "```"])
    return made


# So many letters of a block are shown without scrolling.
LINE = 88


def prompt(command: str) -> list[str]:
    """Return the lines of a command behind a prompt, broken where it is long.

    An option stays with its value.
    """
    parts: list[str] = []
    for one in shlex.split(command, posix=False):
        if parts and re.fullmatch(r"-\S+|\|", parts[-1]):
            parts[-1] += f" {one}"
        else:
            parts.append(one)
    lines = ["$"]
    for part in parts:
        if len(f"{lines[-1]} {part} \\") > LINE:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {part}"
    return lines


def word(number: int) -> str:
    """Return a number up to ten as a word."""
    return WORDS.split("|")[number - 1] if 0 < number <= 10 else str(number)


# What tells instances apart in stored rows, which have no hashes.
SOURCE = ["problem", "dataset", "instance", "device", "instance_params"]
KEPT = [
    "suite", *SOURCE, "nodes", "method", "method_version", "method_kind", "params", "seed",
    "status", "objective", "bound_certified", "wall_seconds", "cpu_seconds", "time_limit_seconds",
    "commit", "date", "machine", "instance_sha256",
]  # fmt: skip

# Columns that only rows of some files have.
_OF_SOLVERS = ("bound_claimed", "seconds_to_objective")
MORE = {"mtpp": ("bound_claimed",), "moirai": _OF_SOLVERS, "tessel": _OF_SOLVERS}


def stored(name: str, problem: str) -> pd.DataFrame:
    """Return the rows of a problem that `save` has kept, with the columns of results.

    Hashes of instances are made of their names, since documents of results are not kept.
    """
    rows = pd.read_csv(TABLES / f"{name}.csv", keep_default_na=False, na_values=[""])
    rows = rows[rows["problem"] == problem].reset_index(drop=True).astype({"device": object})
    sources = rows[SOURCE].fillna("").agg("\n".join, axis=1)
    rows = rows.reindex(columns=RESULTS.names).assign(
        task_id=rows.index.map(str),
        instance_sha256=[hashlib.sha256(source.encode()).hexdigest() for source in sources],
        started_at=pd.Timestamp(0, tz="UTC"),
        device=rows["device"].fillna(""),
    )
    return as_frame(pa.Table.from_pandas(rows, RESULTS, preserve_index=False))


def results(
    report: ProblemReport, rows: pd.DataFrame, chosen: "pd.Series[bool] | None" = None
) -> ProblemResults:
    """Return rows of one problem as the sections of its report take them.

    Parameters
    ----------
    chosen
        Rows whose tasks are shown; all of them bound the same instances.
    """
    shown = rows if chosen is None else rows[chosen]
    beside = rows[rows["instance_sha256"].isin(shown["instance_sha256"])]
    tasks, certified = with_names(shown), certified_of_tasks(with_names(beside))
    nothing: Any = None
    assert report.grouping is not None
    return ProblemResults(
        str(rows["problem"].iloc[0]), *map(with_parameter_columns, (tasks, certified)),
        pd.DataFrame(columns=TRACES.names), nothing, report.grouping,
    )  # fmt: skip


def section_table(
    section: Section | None, title: str = "", only: Sequence[str] = (), *, details: bool = True
) -> str:
    """Return a table of a report's section."""
    assert section is not None
    table = next(one for one in section.tables if one.title.startswith(title))
    places = [table.columns.index(name) for name in only or table.columns]
    groups = tuple(
        Group(
            # A heading may be one cell for all columns, or say nothing.
            tuple(group.heading[at] for at in places if at < len(group.heading))
            if any(cell.text for cell in group.heading)
            else (),
            tuple(
                tuple(row[at] if details else replace(row[at], detail="") for at in places)
                for row in group.rows
            ),
        )
        for group in table.groups
    )
    heads = tuple(table.columns[at] for at in places)
    texts = sum(not table.is_number(at) for at in places)
    shown = replace(table, columns=heads, groups=groups, text_columns=texts, text_columns_right=0)
    return "\n".join(markdown_rows(shown))


def results_in(folder: str | Path) -> pd.DataFrame:
    """Return the verified rows of a results folder."""
    return verified_results(ResultStore.open(Path(folder))).results


def newest_versions(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of each method's newest version, by instance.

    A folder that went on after a change has several versions of a method.
    """
    versions = rows.groupby(["instance", "instance_params", "method"])["method_version"]
    return rows[rows["method_version"] == versions.transform("max")]


def runs_in(folder: str | Path) -> pd.DataFrame:
    """Return the verified rows of a results folder, each with its commit, day and machine.

    Raises `InvalidInputError` if code that was not committed made a row.
    """
    rows, store = results_in(folder), ResultStore.open(Path(folder))
    records = read_environments(store)
    if any(one["dirty"] or not one["commit"] for one in records.values()):
        raise InvalidInputError(
            f"{folder}: its results were made by code that was not committed; commit the code, "
            "and run the suite into a new folder."
        )
    made_by = rows["environment_sha256"].map(records)
    return rows.assign(
        commit=[one["commit"][:10] for one in made_by],
        date=rows["started_at"].dt.strftime("%Y-%m-%d"),
        machine=[f"{one['cores']} cores of {one['cpu']}" for one in made_by],
        seconds_to_objective=seconds_to_objective(rows, store.traces()),
    )


def _with_all_params(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows whose parameters are complete: older rows lack those that a method has got."""

    def complete(problem: str, method: str, params: str) -> str:
        known = methods(problem)
        if method not in known:
            return params
        return json.dumps({**known[method].params, **json.loads(params)}, sort_keys=True)

    names = rows[["problem", "method", "params"]].itertuples(index=False)
    return rows.assign(params=[complete(*one) for one in names])


def _newest_on_all(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of each method's newest version that has run on all instances of a suite."""
    kept = []
    for (suite, method), own in rows.groupby(["suite", "method"]):
        sizes = own.drop_duplicates(["method_version", *SOURCE])["method_version"].value_counts()
        versions = sizes.index[sizes == len(own.drop_duplicates(SOURCE))]
        chosen = own[own["method_version"].isin([versions.max()])] if len(versions) else own
        if chosen["method_version"].max() < own["method_version"].max():
            print(f"{suite}: the newest {method} ran on a part of the instances; old rows stay.")
        kept.append(chosen)
    return pd.concat(kept)


def _of_todays_instances(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows without those of instances whose costs have changed: the last rows' hash counts.

    Rows of before 30 November 2026 name no hash, and stay.
    """
    place = rows.groupby(["suite", *SOURCE], dropna=False)["instance_sha256"]
    changed = rows["instance_sha256"].notna() & (rows["instance_sha256"] != place.transform("last"))
    for suite, instance in sorted(
        set(rows[changed][["suite", "instance"]].itertuples(index=False))
    ):
        print(f"{suite}: the costs of {instance} have changed; rows of the old ones go.")
    return rows[~changed]


def save(name: str, folders: Iterable[str]) -> None:
    """Keep rows of folders; those that were run again are in the place of theirs."""
    path, columns = TABLES / f"{name}.csv", [*KEPT, *MORE.get(name, ())]
    new = pd.concat([runs_in(folder)[columns] for folder in folders])
    seconds = ("wall_seconds", "cpu_seconds", "seconds_to_objective")
    text = new.round(dict.fromkeys(seconds, 3)).to_csv(index=False)
    parts = [path] * path.exists() + [StringIO(text)]
    rows = pd.concat([pd.read_csv(one, dtype=object).reindex(columns=columns) for one in parts])
    rows["method_version"] = rows["method_version"].astype("Int64")
    key = ["suite", *SOURCE, "method", "params", "seed"]
    rows = _with_all_params(rows).drop_duplicates([*key, "method_version"], keep="last")
    rows = _newest_on_all(_of_todays_instances(rows))
    rows.sort_values([one for one in key if one != "problem"], kind="stable").to_csv(
        path, index=False
    )


def runs_of(name: str) -> str:
    """Return a table of the runs that made the rows that `save` has kept."""
    # A commit may have digits only.
    rows, lines = pd.read_csv(TABLES / f"{name}.csv", dtype={"commit": str}), []
    for (suite, *run), of_run in rows.groupby(["suite", "commit", "date", "machine"], sort=False):
        names = sorted(set(of_run["method"]))
        whole = names == sorted(set(rows.loc[rows["suite"] == suite, "method"]))
        failed = of_run.loc[of_run["status"] != "ok", "status"].value_counts()
        lines.append(
            [
                f"`{suite}`", "all" if whole else ", ".join(f"`{one}`" for one in names), *run,
                ", ".join([f"{len(of_run):,}", *(f"{n} {how}" for how, n in failed.items())]),
                f"{of_run['time_limit_seconds'].max():g}",
                decimal(of_run["cpu_seconds"].sum(min_count=1) / 60, 1),
            ]
        )  # fmt: skip
    head = ["suite", "methods", "commit", "date", "machine", ">tasks", ">limit [s]", ">CPU minutes"]
    return markdown(head, lines, len(head))


def _are_in(rows: pd.DataFrame, keys: Any) -> Any:
    return pd.MultiIndex.from_frame(rows).isin(keys)


def keep(name: str, folder: str, *tables: str) -> None:
    """Put rows of a report's tables in the place of stored ones of their data set and group.

    Means over fewer instances than those that are stored are no substitute, and left out.
    """
    made = runs_in(folder)[["commit", "date"]].agg(lambda one: ", ".join(sorted(set(one))))
    for one in tables:
        path = TABLES / name / f"{one}.csv"
        old = pd.read_csv(path, dtype={"commit": str})
        (table,) = Path(folder).glob(f"tables/*/{one}.parquet")
        new = pd.read_parquet(table).assign(**made)[list(old.columns)]
        key = [column for column in old.columns if column in ("dataset", "param_k")]
        known, sizes = (rows.groupby(key)["instances"].max() for rows in (old, new))
        known = known.reindex(sizes.index, fill_value=0)
        fewer = sizes.index[sizes < known]
        new = new[new["dataset"].isin(old["dataset"]) & ~_are_in(new[key], fewer)]
        if len(fewer):
            print(f"{path.name}: {folder} has fewer instances of {list(fewer)}; old rows stay.")
        found = pd.concat([old[~_are_in(old[key], pd.MultiIndex.from_frame(new[key]))], new])
        found.sort_values(key, kind="stable").round(6).to_csv(path, index=False)


@cache
def fillings() -> list[tuple[str, str, Callable[[], Filling]]]:
    """Return modules, pages by path below the repository, and what makes contents, each once."""
    return [
        (module, name, cache(make))
        for module in MODULES
        for name, make in importlib.import_module(module).PAGES.items()
    ]


def pages() -> list[Path]:
    """Return all pages that may have parts."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def run_outputs(names: Sequence[str]) -> None:
    """Run the commands that pages quote; a page with one that fails stays, and is named."""
    failed = False
    for path in [Path(name).resolve() for name in names] or pages():
        text = path.read_text()
        try:
            path.write_text(filled(text, Filling(outputs_of(text)), path))
        except InvalidInputError as error:
            print(f"{path.relative_to(ROOT)}: {error}", file=sys.stderr)
            failed = True
    sys.exit(failed)


def print_list() -> None:
    """Print what is filled into pages: the page, the script, and the part or sentence."""
    for module, name, make in fillings():
        parts, sentences = make()
        for text in (*parts, *(f'"{one}"' for one in sentences)):
            print(f"{name}\tdocs/tables/{module}.py\t{text}")
    for path in pages():
        for command in COMMAND.findall(path.read_text()):
            print(f"{path.relative_to(ROOT)}\tdocs/tables/page.py outputs\t{command}")


def fill(*, only_check: bool = False) -> bool:
    """Fill all pages and name those that change; with `only_check`, return whether none does."""
    old = []
    for _, name, make in fillings():
        path = ROOT / name
        text = path.read_text()
        page = filled(text, make(), path)
        if page != text:
            old.append(name)
            if not only_check:
                path.write_text(page)
    if old:
        print(f"{'Not of today' if only_check else 'Filled'}: {', '.join(old)}.")
    return not only_check or not old


def main() -> None:
    """Fill all pages, compare or list them, run the commands that they quote, or keep rows."""
    if sys.argv[1:2] == ["save"]:
        save(sys.argv[2], sys.argv[3:])
        return
    if sys.argv[1:2] == ["keep"]:
        keep(*sys.argv[2:])
        return
    if sys.argv[1:2] == ["outputs"]:
        run_outputs(sys.argv[2:])
    if sys.argv[1:] == ["list"]:
        print_list()
        return
    if not fill(only_check=sys.argv[1:] == ["--check"]):
        sys.exit(1)


if __name__ == "__main__":
    main()
