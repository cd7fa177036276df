"""Sessions: demo, tests, lint; nightly, asv and faults for slow evidence."""

import nox

nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["tests", "lint"]

PROJECT = nox.project.load_toml("pyproject.toml")


def install(session: nox.Session, *groups: str) -> None:
    """Install the project, editable so that compiled kernels are kept, and dependency groups."""
    extra = [name for group in groups for name in nox.project.dependency_groups(PROJECT, group)]
    session.install("-e", ".", *extra)


def certify(session: nox.Session, *suites: str) -> None:
    """Run suites, check everything they claim, and report; resumes where it was stopped."""
    install(session)
    out = session.posargs[0] if session.posargs else f"results/{suites[0]}"
    for suite in suites:
        session.run("boundmark", "run", suite, "--out", out)
    session.run("boundmark", "verify", out)
    session.run("boundmark", "report", out)


@nox.session
def demo(session: nox.Session) -> None:
    """Partition real model graphs, schedule layouts, certify the bounds, and report."""
    certify(session, "demo", "demo-schedules")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the test suite, on all CPUs; pass options of pytest, e.g. `-- -k dag`, to run a part."""
    install(session, "test")
    everything = ["-n", "logical", "--maxprocesses", "8", "--dist", "worksteal"]
    session.run("pytest", *(session.posargs or everything))


@nox.session
def lint(session: nox.Session) -> None:
    """Check format, lint rules, types and the direction of imports."""
    install(session, "lint", "test")
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("mypy")
    session.run("lint-imports")


@nox.session
def nightly(session: nox.Session) -> None:
    """Run the nightly suites and report on them."""
    certify(session, "nightly", "schedules")


@nox.session
def fuzz(session: nox.Session) -> None:
    """Damage certificates, files and results folders; pass the minutes of each campaign."""
    install(session, "test", "fuzz")
    minutes = session.posargs[0] if session.posargs else "1"
    session.run("python", "tests/campaigns/mutations.py", "--minutes", minutes)
    session.run("python", "tests/campaigns/readers.py", "--minutes", minutes)
    session.run("boundmark", "run", "smoke", "--out", "results/smoke")
    session.run("python", "tests/campaigns/altered_folders.py", "results/smoke")


@nox.session
def asv(session: nox.Session) -> None:
    """Time the hot code of this checkout; pass e.g. `-- -b slicing` to choose."""
    install(session, "asv")
    session.run("asv", "machine", "--yes")
    session.run("asv", "run", "--python=same", "--show-stderr", *session.posargs)


@nox.session
def faults(session: nox.Session) -> None:
    """Let methods do everything wrong and kill runs at random; pass e.g. `-- 10` for minutes."""
    install(session, "test")
    minutes = session.posargs[:1] or ["2"]
    session.run("python", "tests/campaigns/faults.py", "--minutes", *minutes, *session.posargs[1:])
