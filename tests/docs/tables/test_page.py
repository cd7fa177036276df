"""Pages are filled from stored data: each is that of today, and what cannot be filled is said."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import page
import pandas as pd
import pytest
from page import Filling, filled

from boundmark.benchmarks.cli.group import main
from boundmark.problems.catalog import methods
from boundmark.problems.errors import InvalidInputError
from boundmark.reports.pipeline import REPORT

PATH = Path("page.md")
FILLINGS = [pytest.param(name, make, id=f"{of}-{name}") for of, name, make in page.fillings()]


@pytest.mark.parametrize(("name", "make"), FILLINGS)
def test_pages_are_those_of_today(name: str, make: Callable[[], Filling]) -> None:
    """`python docs/tables/page.py` fills them; filled again, they are the same."""
    path = page.ROOT / name
    text = path.read_text()
    assert filled(text, make(), path) == text


QUOTING = [path for path in page.pages() if page.COMMAND.search(path.read_text())]


@pytest.mark.slow
@pytest.mark.parametrize("path", QUOTING, ids=lambda path: path.name)
def test_outputs_are_those_of_today(path: Path) -> None:
    """`python docs/tables/page.py outputs` runs the commands; what they print has not changed.

    What is found within a time limit, and what is measured, depends on the machine: these run.
    """
    text = path.read_text()
    if page.MEASURED.search("\n".join(page.COMMAND.findall(text))):
        pytest.importorskip("torch")
    made = {
        command: output
        for command, output in page.outputs_of(text).items()
        if "--time-limit" not in command and "times.json" not in command
    }
    assert filled(text, Filling(made), path) == text


def test_files_of_a_page_are_there_when_its_commands_run() -> None:
    """Blocks with a name are files; a command that fails is named with what it said."""
    text = "```python make.py\nprint(40 + 2)\n```\n\n<!-- python make.py -->\n"
    assert page.outputs_of(text) == {"python make.py": "```text\n$ python make.py\n42\n```"}
    with pytest.raises(InvalidInputError, match=r"python make.py: (?s:.*)No such file"):
        page.outputs_of("<!-- python make.py -->\n")


def test_long_commands_are_broken() -> None:
    """A shell reads the lines as the command that ran, and a page shows all of each."""
    for command in page.COMMAND.findall("\n".join(path.read_text() for path in QUOTING)):
        lines = page.prompt(command)
        assert max(map(len, lines)) <= page.LINE
        assert re.sub(r" \\\n +", " ", "\n".join(lines)) == f"$ {command}"


def test_an_option_stays_with_its_value() -> None:
    """Where a line is full, both go to the next."""
    assert page.prompt(f"boundmark solve {'a' * 60} --time-limit 20 | grep '^b c'") == [
        f"$ boundmark solve {'a' * 60} \\", "    --time-limit 20 | grep '^b c'"
    ]  # fmt: skip


# What shows an output, and no input or format: the report of a command, or numbers with units.
PRINTED = re.compile(r"^(?:gap|certified bound|cost|bottleneck|period) {2,}|^\$ ", re.MULTILINE)


@pytest.mark.parametrize("path", page.pages(), ids=lambda path: path.name)
def test_no_output_is_quoted_by_hand(path: Path) -> None:
    """A block with what a command prints stands between the marks of that command."""
    text = path.read_text()
    for command in page.COMMAND.findall(text):
        before, _, rest = text.partition(f"<!-- {command} -->")
        text = before + rest.partition(f"<!-- end of {command} -->")[2]
    blocks = re.findall(r"^```[^\n]*\n.*?^```", text, re.MULTILINE | re.DOTALL)
    assert [one for one in blocks if PRINTED.search(one)] == []


def test_the_list_names_the_script_of_each_figure(capsys: pytest.CaptureFixture[str]) -> None:
    """Parts, sentences and commands, a line each with its page."""
    page.print_list()
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert all((page.ROOT / name).exists() for name, _, _ in rows)
    assert ["docs/index.md", "docs/tables/pictures.py", "picture zoo"] in rows
    assert any(script == "docs/tables/page.py outputs" for _, script, _ in rows)


def test_every_part_has_one_source() -> None:
    """What stands between marks is made by one function, and nothing else has marks."""
    made = sorted((name, part) for _, name, make in page.fillings() for part in make().parts)
    marks = [
        (path.relative_to(page.ROOT).as_posix(), mark)
        for path in page.pages()
        for mark in re.findall(r"^<!-- end of (.*) -->$", path.read_text(), re.MULTILINE)
        if not mark.startswith(("boundmark ", "python "))
    ]
    assert made == sorted(marks)


def test_a_part_is_put_between_its_marks() -> None:
    """What stood there is gone, and the rest stays; without marks, the sentence names them."""
    text = "before\n\n<!-- a b -->\n\nold\n\n<!-- end of a b -->\n\nafter\n"
    assert filled(text, Filling({"a b": "new"}), PATH) == text.replace("old", "new")
    with pytest.raises(ValueError, match=r"page.md: <!-- table 9 -->"):
        filled("# Page\n", Filling({"table 9": "text"}), PATH)


@pytest.mark.parametrize(
    ("text", "sentence", "expected"),
    [
        ("It is 1.5 % of\n 1,234, in two.", "20 % of 9, in three", "It is 20 % of\n 9, in three."),
        ("On 3 of 4, 5 of 6.", "On 3 of 4, 5 of 7.", "On 3 of 4, 5 of 7."),
        ("k = 16, where", "k = 8", "k = 8, where"),
    ],
)  # fmt: skip
def test_numbers_of_a_sentence_are_replaced(text: str, sentence: str, expected: str) -> None:
    """In digits and in words; white space stays as it is, and so does a comma behind a number."""
    assert filled(text, Filling({}, [sentence]), PATH) == expected


@pytest.mark.parametrize("text", ["It was 1 %.", "It is 1 %. It is 2 %."])
def test_a_sentence_stands_on_the_page_once(text: str) -> None:
    """Otherwise nobody knows which numbers to replace."""
    with pytest.raises(ValueError, match=r"page.md: there are [02] sentences like 'is 3 %'"):
        filled(text, Filling({}, ["is 3 %"]), PATH)


def run_of(out: Path, *options: str, **environment: Any) -> Path:
    """Run a suite of two methods into a folder; what it records of code and machine is given."""
    suite = out.parent / "own.toml"
    suite.write_text(
        'description = "Ours."\nproblem = "pipeline"\nmethods = ["uniform", "max-work"]\n'
        "time_limit_seconds = 5\nmemory_limit_gib = 1\nseeds = [1]\n"
        '[[instances]]\ndataset = "onnx-light"\nmembers = ["squeezenet"]\nk = [2]\n'
    )
    main(["run", str(suite), "--out", str(out), *options], standalone_mode=False)
    (record,) = (out / "environments").iterdir()
    known = {"commit": "0123456789abcdef", "dirty": False, "cpu": "Z80", "cores": 1}
    record.write_text(json.dumps(json.loads(record.read_text()) | known | environment))
    return out


def test_rows_are_kept_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the same task are replaced; code that was not committed is refused."""
    monkeypatch.setattr(page, "TABLES", tmp_path)
    out = run_of(tmp_path / "out")
    page.save("own", [str(out)])
    page.save("own", [str(out)])
    rows = page.stored("own", "pipeline")
    assert rows["method"].tolist() == ["max-work", "uniform"]
    assert rows["instance_sha256"].nunique() == 1
    (known,) = page.results(REPORT, rows).certified.to_dict("records")
    assert known["objective"] == rows["objective"].max()
    assert known["bound"] == rows["bound_certified"].max()
    with pytest.raises(InvalidInputError, match="commit the code, and run the suite into a new"):
        page.save("own", [str(run_of(out, dirty=True))])


def test_a_file_may_have_more_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What only one page shows is in its file alone, such as when a cost was first reported."""
    monkeypatch.setattr(page, "TABLES", tmp_path)
    monkeypatch.setitem(page.MORE, "own", ("seconds_to_objective",))
    out = run_of(tmp_path / "out")
    page.save("own", [str(out)])
    page.save("other", [str(out)])
    rows = pd.read_csv(tmp_path / "own.csv").set_index("method")
    assert 0 <= rows.loc["uniform", "seconds_to_objective"] <= rows.loc["uniform", "wall_seconds"]
    assert "seconds_to_objective" not in pd.read_csv(tmp_path / "other.csv")


def test_rows_that_did_not_run_again_keep_their_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One method of two runs again; parameters that older rows lack are no other task.

    A row of an older version of what ran goes, unless it is of an instance that the newer one
    lacks. The table of runs has a line for each commit.
    """
    monkeypatch.setattr(page, "TABLES", tmp_path)
    page.save("own", [str(run_of(tmp_path / "own"))])
    kept = pd.read_csv(tmp_path / "own.csv", dtype=object)
    older = kept[kept["method"] == "uniform"].assign(seed="7", method_version="0")
    pd.concat([kept, older]).assign(params="{}").to_csv(tmp_path / "own.csv", index=False)
    again = run_of(tmp_path / "again", "--filter", "*uniform*", commit="98765432109", cores=9)
    page.save("own", [str(again)])
    rows = pd.read_csv(tmp_path / "own.csv", dtype=object)
    assert rows[["method", "seed", "commit", "machine"]].to_numpy().tolist() == [
        ["max-work", "1", "0123456789", "1 cores of Z80"],
        ["uniform", "1", "9876543210", "9 cores of Z80"],
    ]
    old, new = page.runs_of("own").splitlines()[2:]
    assert old.startswith("| `own` | `max-work` | 0123456789 | ")
    assert new.startswith("| `own` | `uniform` | 9876543210 | ")
    assert " | 9 cores of Z80 | 1 | 5 | 0.0 |" in new
    rows.assign(instance_sha256="other costs").to_csv(tmp_path / "own.csv", index=False)
    page.save("own", [str(again)])
    assert pd.read_csv(tmp_path / "own.csv")["method"].tolist() == ["uniform"]
    of_two = pd.concat([older, older.assign(instance="alexnet")])
    pd.concat([of_two, kept[kept["method"] == "max-work"]]).to_csv(tmp_path / "own.csv")
    page.save("own", [str(again)])
    rows = pd.read_csv(tmp_path / "own.csv", dtype=object)
    assert rows.loc[rows["method"] == "uniform", ["instance", "seed"]].to_numpy().tolist() == [
        ["alexnet", "7"], ["squeezenet", "7"],
    ]  # fmt: skip


def test_tables_of_reports_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the same data set and group are replaced, and the columns are those of the file.

    Means over fewer instances are no substitute.
    """
    monkeypatch.setattr(page, "TABLES", tmp_path)
    (tmp_path / "own").mkdir()
    (run_of(tmp_path / "out") / "tables" / "pipeline").mkdir(parents=True)
    path = tmp_path / "own" / "gap_by_k.csv"
    old = pd.DataFrame(
        {
            "dataset": "zoo",
            "param_k": [2, 4, 8],
            "instances": 7,
            "optimal": [1, 2, 5],
            "commit": "012",
        }
    )
    old.to_csv(path, index=False)
    new = pd.DataFrame(
        {
            "param_k": [4, 4, 8, 16], "dataset": ["zoo", "all", "zoo", "zoo"],
            "instances": [7, 9, 6, 1], "optimal": [3, 9, 6, 1], "more": 0,
        }
    )  # fmt: skip
    new.to_parquet(tmp_path / "out" / "tables" / "pipeline" / "gap_by_k.parquet")
    page.keep("own", str(tmp_path / "out"), "gap_by_k")
    assert path.read_text() == (
        "dataset,param_k,instances,optimal,commit\nzoo,2,7,1,012\nzoo,4,7,3,0123456789\n"
        "zoo,8,7,5,012\nzoo,16,1,1,0123456789\n"
    )


def rows_of(name: str, head: str) -> dict[str, list[str]]:
    """Return the rows of the table of a page whose heads begin so, by their first cell."""
    _, _, text = (page.ROOT / name).read_text().partition(f"| {head} |")
    lines = text.partition("\n\n")[0].splitlines()[2:]
    cells = ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines)
    return {first: rest for first, *rest in cells}


def test_hyper_parameters_are_the_methods() -> None:
    """HSDAG's Table 6, written by hand, has what `hsdag` has by default."""
    rows = rows_of("docs/results-hsdag.md", "parameter | paper")
    ours = dict(re.findall(r"`(\w+)` = ([\d.]+)", " ".join(own for _, own in rows.values())))
    params = methods("placement")["hsdag"].params
    assert len(ours) == 5
    assert {name: float(value) for name, value in ours.items()} == {
        name: params[name] for name in ours
    }
