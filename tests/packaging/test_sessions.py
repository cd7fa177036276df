"""Sessions of nox: whatever tells somebody to run one names one that there is."""

import ast
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
NOXFILE = ast.parse((ROOT / "noxfile.py").read_text())
WORKFLOW = ROOT / ".github" / "workflows" / "checks.yml"
PAGES = ["README.md", "CONTRIBUTING.md", "Containerfile", "docs/nightly.md", ".ci/run"]

ASKED = re.compile(r"-m nox -s ((?:[a-z][\w.-]*|\$\{\{ matrix\.session \}\})(?: [a-z][\w.-]*)*)")


def sessions() -> set[str]:
    """Return the names of all sessions, read off the file: nox itself is not there in tests."""
    (pythons,) = [
        ast.literal_eval(node.value)
        for node in NOXFILE.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PYTHONS"
    ]
    found = set()
    for node in ast.walk(NOXFILE):
        for decorator in getattr(node, "decorator_list", ()):
            if not ast.unparse(decorator).startswith("nox.session"):
                continue
            given = {one.arg: one.value for one in getattr(decorator, "keywords", ())}
            name = given.get("name", ast.Constant(getattr(node, "name", "")))
            if isinstance(name, ast.Constant):
                found.add(str(name.value))
            else:
                assert ast.unparse(name) == "f'tests-{version}'"
                found |= {f"tests-{version}" for version in pythons[1:]}
    return found


def jobs() -> dict[str, dict[str, object]]:
    """Return the jobs of our workflow."""
    found: dict[str, dict[str, object]] = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    return found


def commands(value: object) -> list[str]:
    """Return everything that a job or step runs."""
    if isinstance(value, list):
        return [text for one in value for text in commands(one)]
    if isinstance(value, dict):
        own = [value["run"]] if isinstance(value.get("run"), str) else []
        return own + [text for one in value.values() for text in commands(one)]
    return []


def test_sessions_are_found() -> None:
    """Those with a name of their own, too, and one for each newer Python."""
    assert {"demo", "tests", "tests-all", "tests-3.12", "tests-3.13", "tests-lowest"} <= sessions()


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_sessions_that_there_are(page: str) -> None:
    """In every command."""
    asked = [name for names in ASKED.findall((ROOT / page).read_text()) for name in names.split()]
    assert asked
    # The snippet of the workflow has the matrix's.
    assert {*asked} <= sessions()


def test_the_workflow_calls_sessions_that_there_are() -> None:
    """On every Python that we promise, also with the lowest versions of what we depend on."""
    asked = [names for text in commands([*jobs().values()]) for names in ASKED.findall(text)]
    assert sorted(asked) == ["${{ matrix.session }}", "gate"]
    include = jobs()["session"]["strategy"]["matrix"]["include"]  # type: ignore[index]
    called = {one["session"]: one["python"] for one in include}
    assert {*called} <= sessions()
    assert {"tests", "lint", "docs", "tests-lowest"} <= {*called}
    newer = {name for name in sessions() if re.fullmatch(r"tests-3\.\d+", name)}
    assert {name: f"tests-{called[name]}" for name in newer} == {name: name for name in newer}


def test_the_page_shows_our_workflow() -> None:
    """Its job on pull requests, as it is, but for the condition that other events need."""
    page = (ROOT / "docs/nightly.md").read_text()
    shown = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    (gate,) = [one["jobs"]["gate"] for one in shown if "gate" in one.get("jobs", {})]
    own = dict(jobs()["gate"])
    assert own.pop("if") == "github.event_name == 'pull_request'"
    assert gate == own
    (gitlab,) = [one["gate"] for one in shown if "gate" in one]
    (line,) = gitlab["script"]
    (ours,) = [text for text in commands(gate) if "nox" in text]
    base = "${{ github.event.pull_request.base.sha }}"
    assert line.replace("$CI_MERGE_REQUEST_DIFF_BASE_SHA", base) == ours


def test_the_container_runs_the_two_commands_of_the_readme() -> None:
    """The first while it is built, the second when it is run; every line is an instruction."""
    lines = (ROOT / "Containerfile").read_text().splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    known = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "CMD"}
    assert {step for step, _ in steps} == known
    assert steps[0] == ["FROM", "docker.io/library/python:3.11"]
    readme = (ROOT / "README.md").read_text()
    first, second = re.findall(r"^    (python3 -m .*nox -s .*)$", readme, re.MULTILINE)[:2]
    assert [text for step, text in steps if step == "RUN"] == [first]
    assert [" ".join(ast.literal_eval(text)) for step, text in steps if step == "CMD"] == [second]
    # What the README's first command leaves where.
    (path,) = [text for step, text in steps if step == "ENV"]
    folder = dict(step for step in steps if step[0] != "RUN")["WORKDIR"]
    assert path == f'PATH="$PATH:{folder}/.nox/demo/bin"'


def test_what_a_checkout_makes_stays_out_of_the_container() -> None:
    """Environments of another machine do not run there."""
    left = (ROOT / ".dockerignore").read_text().split()
    assert {".nox", ".venv", "build", "dist", "results"} <= {*left}
