"""Documentation: commands that it shows exist with their options, and its links lead somewhere."""

import itertools
import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from boundmark.benchmarks.cli.group import main
from boundmark.benchmarks.running.suite_file import part_names, suite_names
from boundmark.benchmarks.solving.own_method import is_file
from boundmark.bounds.checker.registry import PROBLEMS
from boundmark.problems.catalog import datasets, methods

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
# The changelog names what was removed.
PAGES = [page for page in PAGES if "generated" not in page.parts and page.stem != "CHANGELOG"]

BLOCK = re.compile(r"^(```[^\n]*\n.*?^```|(?:^ {4}[^\n]*\n)+)", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^[ $]*(?:\S*/)?boundmark +([^\n]*)", re.MULTILINE)
# What comes after is no option of the command.
ENDS = ("--", "|", "||", "&&", ">", "2>&1", ";")

LINK = re.compile(r"\]\(([^)#:\s]*)(#[^)\s]*)?\)")


def anchors(page: Path) -> set[str]:
    """Return what code hosts and the site make of a page's headings, to be linked to."""
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", page.read_text(), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def commands() -> list[str]:
    """Return what follows `boundmark` in each line of a block of code that begins with it."""
    found = []
    for page in PAGES:
        for block in BLOCK.findall(page.read_text().replace("\\\n", " ")):
            found += [f"{page.name}: {line.strip()}" for line in COMMAND.findall(block)]
    return sorted(set(found))


def test_there_are_commands() -> None:
    """The pattern finds them."""
    assert len(commands()) > 50


@pytest.mark.parametrize("line", commands())
def test_commands_exist(line: str) -> None:
    """So do their options, and suites, data sets and methods that are named."""
    text = line.partition(": ")[2].rstrip(" \\")
    # A text in quotes may go on in the next line.
    words = shlex.split(text if text.count('"') % 2 == 0 else text + '"', comments=True)
    words = list(itertools.takewhile(lambda word: word not in ENDS, words))
    command: click.Command = main
    context = click.Context(main)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        known = command.get_command(context, words[0])
        assert known is not None, f"there is no command {words[0]!r}"
        command, words = known, words[1:]
    taken = {opt: one for one in command.get_params(context) for opt in one.opts}
    takes_more = getattr(command, "context_settings", {}).get("ignore_unknown_options")
    values = iter(words)
    for word in values:
        name, _, value = word.partition("=")
        if not re.match("--?[a-zA-Z]", name) or takes_more:
            continue
        assert name in taken or name == "--help", f"there is no option {name}"
        option = taken.get(name)
        if not isinstance(option, click.Option) or option.is_flag:
            continue
        value = value or next(values, "")
        if name == "--method" and value.islower():
            assert is_file(value) or value.partition("=")[0] in methods()
    if command.name == "run" and words and words[0].islower() and "." not in words[0]:
        assert words[0] in [*suite_names(), *part_names()]
    named = re.fullmatch("([a-z-]+)/[a-z0-9.-]+", words[0]) if words else None
    is_model_file = bool(words) and words[0].endswith((".onnx", ".pt2", ".json", ".csv", ".gguf"))
    if command.name == "solve" and named and not is_model_file:
        assert named[1] in datasets()


def options(command: click.Command) -> set[str]:
    """Return the options of a command and of those below it."""
    context = click.Context(command)
    found = {opt for one in command.get_params(context) for opt in (*one.opts, *one.secondary_opts)}
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            found |= options(below)
    return found


def test_what_the_readme_says_that_tools_take() -> None:
    """The command before the table prints each row's texts, in their order around ``..``."""
    text = (ROOT / "README.md").read_text().replace("\\\n", "")
    page = text.split("| the command above, with | prints |")
    (command,) = re.findall(r"^\$ boundmark (solve language-models/.*)", page[0], re.MULTILINE)[-1:]
    rows = re.findall(r"^\| `(--as \S+)` \| (.*) \|$", page[1].split("\n\n")[0], re.MULTILINE)
    assert len(rows) == 5
    for option, texts in rows:
        words = (*shlex.split(command), "--quiet", *shlex.split(option))
        printed = re.sub(r"\s", "", CliRunner().invoke(main, words).stdout).replace(",}", "}")
        for text in re.findall(r"`([^`]+)`", texts.replace(r"\|", "|")):
            pieces = (re.sub(r"\s|^,|,$|\(\)", "", one) for one in text.split(".."))
            assert re.search(".*".join(map(re.escape, pieces)), printed), (option, text)


def test_options_in_sentences_exist() -> None:
    """What begins with dashes in a sentence is an option of some command, or of a tool."""
    tools = re.compile(
        "--((pipeline-model-parallel|decoder-first-pipeline|hybrid-layer|num-layers-per)-|[pt]p-size)"
    )
    named = {
        (page.name, option)
        for page in PAGES
        for option in re.findall("`(--[a-z][a-z-]*)", BLOCK.sub("", page.read_text()))
        if not tools.match(option)
    }
    known = options(main) | {"--help"}
    assert len(named) > 50
    assert {pair for pair in named if pair[1] not in known} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """To files that are there, and headings that they have."""
    text = BLOCK.sub("", page.read_text())
    text = re.sub(r"`[^`\n]*`", "", text)
    missing = []
    for target, place in LINK.findall(text):
        path = (page.parent / target).resolve() if target else page
        if not path.exists():
            missing.append(target)
        elif place and path.suffix == ".md" and place[1:] not in anchors(path):
            missing.append(target + place)
    assert missing == []


@pytest.mark.parametrize("name", ["papers.md", "where-each-paper-is.md"])
def test_files_of_papers_are_there(name: str) -> None:
    """And folders, which end with a slash or are two names."""
    text = (ROOT / "docs" / name).read_text()
    layers = "problems|datasets|heuristics|bounds|benchmarks|reports|tests|docs"
    named = set(re.findall(rf"`((?:{layers})/[\w/.-]*)`", text)) - {"benchmarks/suites/NAME.toml"}
    examples = {"bounds/x/y.py", "tests/bounds/x/test_y.py"}
    assert len(named) > 20
    assert {path for path in named - examples if not (ROOT / path).exists()} == set()


@pytest.mark.parametrize("problem", PROBLEMS)
def test_kinds_of_certificates_are_described(problem: str) -> None:
    """Each kind is in the overview, and its theorem and format are on the page of its problem."""
    overview = (ROOT / "docs/certificates.md").read_text()
    page = (ROOT / f"docs/certificates/{problem}.md").read_text()
    assert f"(certificates/{problem}.md)" in overview
    for kind in PROBLEMS[problem].kinds:
        assert f"`{kind}`" in overview
        assert f"`{kind}`" in page


@pytest.mark.parametrize("problem", PROBLEMS)
def test_methods_are_on_the_page_of_their_problem(problem: str) -> None:
    """Each registered method is named there, so that readers find what it does and guarantees."""
    page = (ROOT / f"docs/problems/{problem}.md").read_text()
    assert [name for name in methods(problem) if f"`{name}`" not in page] == []


def on_one_line(text: str) -> str:
    """Return Python or a command without white space and commas before a bracket."""
    return re.sub(r",(?=[}\])])", "", re.sub(r"\s+", "", text))


def test_splits_of_the_readme_are_what_solve_prints() -> None:
    """Each row of its table of `--as`: what stands between two dots is in the output."""
    readme = (ROOT / "README.md").read_text()
    (command,) = re.findall(r"<!-- boundmark (solve language-models/.*) -->\n\n```", readme)
    rows = re.findall(r"^\| `--as (\S+)` \| (.*) \|$", readme, re.MULTILINE)
    assert len(rows) > 4
    for tool, cell in rows:
        shown = CliRunner().invoke(main, [*command.split(), "--as", tool])
        assert shown.exit_code == 0, shown.output
        for code in re.findall(r"`([^`]+)`", cell.replace("\\|", "|")):
            pieces = map(on_one_line, re.split(r",? ?\.\.,? ?", code))
            assert [piece for piece in pieces if piece not in on_one_line(shown.output)] == []
