"""Sessions of nox, and what runs them: workflows, the container and pages name those there are."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
NOXFILE = ast.parse((ROOT / "noxfile.py").read_text())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PAGES = ["README.md", "CONTRIBUTING.md", "Containerfile", "docs/nightly.md", ".ci/run"]

ASKED = re.compile(r'-m nox -s ((?:[a-z][\w.-]*|"\$SESSION")(?: [a-z][\w.-]*)*)')


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


def jobs(workflow: str) -> dict[str, Any]:
    """Return the jobs of one of our workflows."""
    text = (ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text()
    found: dict[str, Any] = yaml.safe_load(text)["jobs"]
    return found


def steps(workflow: str) -> list[dict[str, Any]]:
    """Return the steps of all jobs of a workflow."""
    return [step for job in jobs(workflow).values() for step in job["steps"]]


def asked(workflow: str) -> set[str]:
    """Return the sessions that a workflow's commands name."""
    commands = [step.get("run", "") for step in steps(workflow)]
    return {name for text in commands for names in ASKED.findall(text) for name in names.split()}


def test_sessions_are_found() -> None:
    """Those with a name of their own, too, and one for each newer Python."""
    assert {"demo", "tests", "tests-all", "tests-3.12", "tests-3.13", "tests-lowest"} <= sessions()


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_sessions_that_there_are(page: str) -> None:
    """In every command."""
    named = [name for names in ASKED.findall((ROOT / page).read_text()) for name in names.split()]
    assert named
    assert {*named} <= sessions()


def test_checks_run_on_every_change() -> None:
    """On every Python that we promise, also with the lowest versions of what we depend on."""
    assert asked("checks") == {'"$SESSION"', "gate"}
    include = jobs("checks")["session"]["strategy"]["matrix"]["include"]
    called = {one["session"]: one["python"] for one in include}
    assert {*called} <= sessions()
    assert {"demo", "tests", "lint", "docs", "package", "torch", "tests-lowest"} <= {*called}
    newer = {name for name in sessions() if re.fullmatch(r"tests-3\.\d+", name)}
    assert {name: f"tests-{called[name]}" for name in newer} == {name: name for name in newer}


def test_nights_and_releases_run_sessions_that_there_are() -> None:
    """A release builds with the session that tries what it has built."""
    assert asked("nightly") == {"nightly"}
    assert asked("release") == {"package"}


@pytest.mark.parametrize("workflow", [path.stem for path in WORKFLOWS])
def test_workflows_trust_nobody(workflow: str) -> None:
    """Actions are of one commit, checkouts keep no credentials, and jobs say what they may do."""
    text = (ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text()
    assert re.search(r"^permissions: {}$", text, re.MULTILINE)
    assert all("permissions" in job and "timeout-minutes" in job for job in jobs(workflow).values())
    used = [step for step in steps(workflow) if "uses" in step]
    assert used
    for step in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])
        if step["uses"].startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_only_who_runs_nothing_of_a_change_may_write() -> None:
    """The job with the comment on a pull request checks nothing out."""
    for name, job in jobs("checks").items():
        may_write = "write" in job["permissions"].values()
        assert may_write == (name == "comment")
        assert may_write != any("checkout" in step.get("uses", "") for step in job["steps"])


def stages() -> dict[str, list[tuple[str, str]]]:
    """Return the instructions of the Containerfile by stage; the last, without a name, is ""."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in (ROOT / "Containerfile").read_text().splitlines():
        if line and not line.startswith("#"):
            word, rest = line.split(maxsplit=1)
            if word == "FROM":
                base, _, name = rest.partition(" AS ")
                found[name] = [("FROM", base)]
            else:
                found[name].append((word, rest))
    return found


def test_a_container_runs_the_two_commands_of_the_readme() -> None:
    """The first while it is built, the second when it is run."""
    steps = stages()["checkout"]
    readme = (ROOT / "README.md").read_text()
    first, second = re.findall(r"^    (python3 -m .*nox -s .*)$", readme, re.MULTILINE)[:2]
    assert ("RUN", first) in steps
    assert " ".join(ast.literal_eval(steps[-1][1])) == second


def test_the_container_by_default_is_the_wheel_and_a_user_without_rights() -> None:
    """It has neither a checkout nor what builds one, and compiles kernels as that user."""
    *_, (name, steps) = stages().items()
    assert name == ""
    copied = [rest for word, rest in steps if word == "COPY"]
    assert copied == ["--from=wheel /dist /dist"]
    assert not any("nox" in rest or "hatch" in rest for _, rest in steps)
    as_user = steps[[word for word, _ in steps].index("USER") :]
    assert as_user[0][1] != "root"
    assert any(word == "RUN" and "boundmark" in rest for word, rest in as_user)
    assert steps[-2:] == [("ENTRYPOINT", '["boundmark"]'), ("CMD", '["--help"]')]


def test_what_a_checkout_makes_stays_out_of_the_container() -> None:
    """Whatever git ignores; environments of another machine do not run there."""
    left = {line.removeprefix("**/") for line in (ROOT / ".dockerignore").read_text().split()}
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text().split()}
    assert ignored | {".git"} <= left
