"""Sessions: demo, tests, tests-all, tests-3.12 and on, lint, docs, nightly; more for slow runs."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nox
from nox.virtualenv import PassthroughEnv

nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["tests", "lint"]

# Tests start hundreds of processes: each loads what the first has compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# What nights are compared with, one file per suite; committed.
BASELINES = Path("benchmarks/baselines")

# Those that `pyproject.toml` promises, the oldest first; `tests` takes whichever runs nox.
PYTHONS = ("3.11", "3.12", "3.13", "3.14")

# What a release of any of our dependencies may change, without a line of ours.
SMOKE = "smoke"

# One of each problem, which the wheel solves without any extra.
INSTANCES = {
    "pipeline": ("onnx-light/squeezenet", "-k", "4"),
    "microbatch": ("shapes/nn-4-train",),
    "placement": ("onnx-light/squeezenet",),
    "ordering": ("onnx-light/squeezenet",),
    "slicing": ("onnx-light/squeezenet",),
    "layers": ("language-models/llama-3-8b", "--devices", "2xH100"),
}

PROJECT = nox.project.load_toml("pyproject.toml")


def install(session: nox.Session, *groups: str, extras: str = "all") -> None:
    """Install the project, editable so that compiled kernels are kept, and dependency groups.

    With `nox --no-venv`, what is installed is used as it is.
    """
    if has_no_environment(session):
        session.log("using what is installed")
        return
    extra = [name for group in groups for name in nox.project.dependency_groups(PROJECT, group)]
    session.install("-e", f".[{extras}]", *extra)


def has_no_environment(session: nox.Session) -> bool:
    """Whether nox was told to use what is installed, with `--no-venv`."""
    return isinstance(session.virtualenv, PassthroughEnv)


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
    """Solve instances of all problems, certify how far from optimal, and report."""
    certify(session, "demo")
    command = "boundmark" if has_no_environment(session) else f"{session.bin}/boundmark"
    session.log("Open results/demo/report.html in a browser. Then try a model of your own:")
    session.log(f"{command} solve MODEL.onnx -k 4")


# Options of pytest: all CPUs, and the slowest ten tests at the end.
ON_ALL_CPUS = ["-n", "logical", "--maxprocesses", "8", "--dist", "worksteal", "--durations", "10"]

# Without the slow tests, and of random examples the first few.
FEW = ["-m", "not slow", "--hypothesis-profile", "few"]


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests but the slow ones; pass options of pytest, e.g. `-- -k dag`, to run a part.

    Of random examples, the first few are tried; `tests-all` tries all.
    """
    install(session, "test")
    session.run("pytest", *(session.posargs or [*ON_ALL_CPUS, *FEW]))


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the same tests, and say which lines they enter: a table in build/coverage.md."""
    install(session, "test", "coverage")
    session.run(
        "pytest", *ON_ALL_CPUS, *FEW, "--cov", "--cov-report", "markdown:build/coverage.md",
        *session.posargs,
    )  # fmt: skip


@nox.session(name="tests-all")
def tests_all(session: nox.Session) -> None:
    """Run all tests; pass `-- -m "slow or hypothesis"` for what `tests` leaves out, in part."""
    install(session, "test")
    session.run("pytest", *ON_ALL_CPUS, *session.posargs)


def try_out(session: nox.Session, *versions: str) -> None:
    """Install the wheel, solve, run the suite of smoke tests, and test commands and functions.

    The smoke run is compared with the baseline, whose costs and bounds another Python found.

    Parameters
    ----------
    versions
        Options of pip that say which versions are taken.
    """
    tests = nox.project.dependency_groups(PROJECT, "test")
    # Not editable, so that what a wheel lacks is missing here, too.
    session.install(".[all]", *tests, *versions)
    out = Path("results", "pythons", session.name).resolve()
    shutil.rmtree(out, ignore_errors=True)
    with session.chdir(session.create_tmp()):
        session.run("boundmark", "--version")
        session.run("boundmark", "solve", "onnx-light/squeezenet", "-k", "4")
        session.run("boundmark", "run", SMOKE, "--out", str(out), "--fail-on", "crashed,error")
        session.run("boundmark", "verify", "--quiet", str(out))
    session.run(
        "boundmark", "compare", str(BASELINES / f"{SMOKE}.parquet"), str(out),
        "--thresholds", str(BASELINES / "thresholds.toml"),
    )  # fmt: skip
    # Old releases warn of what newer ones have changed since.
    quiet = ["-W", "ignore::DeprecationWarning", "-W", "ignore::FutureWarning"] if versions else []
    chosen = session.posargs or ["tests/benchmarks", "tests/behaviour"]
    session.run("pytest", *ON_ALL_CPUS, *FEW, *quiet, *chosen)


def tests_of(version: str) -> None:
    """Make the session that tries boundmark out with a version of Python."""

    @nox.session(name=f"tests-{version}", python=version)
    def tests_with(session: nox.Session) -> None:
        try_out(session)

    tests_with.__doc__ = f"Install the wheel, solve and test with Python {version}, if it is there."


for _version in PYTHONS[1:]:
    tests_of(_version)


@nox.session(name="tests-lowest", python=PYTHONS[0])
def tests_lowest(session: nox.Session) -> None:
    """Do the same with the oldest Python and the lowest versions of all dependencies."""
    lowest = Path(session.create_tmp(), "lowest.txt").resolve()
    session.install("uv")
    session.run(
        "uv", "pip", "compile", "--quiet", "--resolution", "lowest-direct", "--extra", "all",
        "--python-version", PYTHONS[0], "--output-file", str(lowest), "pyproject.toml",
    )  # fmt: skip
    try_out(session, "--constraint", str(lowest))


@nox.session
def constraints(session: nox.Session) -> None:
    """Write the newest versions that go together, for all Pythons, for the workflows' checks."""
    session.install("uv")
    groups = [word for name in PROJECT["dependency-groups"] for word in ("--group", name)]
    session.run(
        "uv", "pip", "compile", "--quiet", "--upgrade", "--universal", "--python-version",
        PYTHONS[0], "--no-annotate", "--no-header", "--all-extras", *groups, "--output-file",
        ".github/constraints.txt", "pyproject.toml",
    )  # fmt: skip


@nox.session(reuse_venv=False)
def package(session: nox.Session) -> None:
    """Build sdist and wheel into dist/, install each in an environment of its own, and try them."""
    shutil.rmtree("dist", ignore_errors=True)
    folder = Path(session.create_tmp()).resolve()
    session.install(*nox.project.dependency_groups(PROJECT, "package"))
    session.run("python", "-m", "build", ".")
    (wheel,), (sdist,) = Path("dist").glob("*.whl"), Path("dist").glob("*.tar.gz")
    session.run("twine", "check", "--strict", str(wheel), str(sdist))
    for built in (wheel, sdist):
        place = folder / f"from-{built.suffix.lstrip('.')}"
        session.run("python", "-m", "venv", "--clear", str(place))
        python = place / "bin" / "python"
        session.run(str(python), "-m", "pip", "install", "--quiet", str(built), external=True)
        command = (str(place / "bin" / "boundmark"),)
        with session.chdir(place):
            session.run(*command, "--version", external=True)
            for problem, instance in INSTANCES.items():
                given = ("--problem", problem, "--time-limit", "5", "--library", "none")
                session.run(*command, "solve", *instance, *given, external=True)
            session.run(*command, "conformance", "max-work", external=True)
            session.run(str(python), "-c", "import boundmark; boundmark.solve", external=True)
    size = sum(path.lstat().st_size for path in (folder / "from-whl" / "lib").rglob("*"))
    session.log(f"wheel {wheel.stat().st_size / 1e6:.1f} MB, installed {size / 1e6:,.0f} MB")


@nox.session
def torch(session: nox.Session) -> None:
    """Run what needs PyTorch: modules, exported programs, and what its exporters of today write."""
    install(session, "test", "torch", extras="all,zoo")
    session.run(
        "pytest", "tests/behaviour/test_torch_exports.py", "tests/datasets/readers/torch_export",
        "tests/datasets/layers/test_families.py", "tests/datasets/zoo/test_export.py",
        "tests/benchmarks/measuring", "tests/benchmarks/test_api.py",
        "tests/datasets/pipeline/test_torch_split.py",
        "tests/heuristics/microbatch/test_two_stages_in_a_v.py",
        *session.posargs,
    )  # fmt: skip


@nox.session
def tools(session: nox.Session) -> None:
    """Fetch releases of tools that split language models; their own code reads what --as prints.

    Of most, functions are taken out of wheels and source archives; llama.cpp's server is built.
    """
    install(session, "test", "torch", extras="all,zoo")
    folder = Path("results", "tools").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    fetch = ("python", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder))
    wheels = ("accelerate", "megatron-core", "sglang", "torchtitan", "vllm")
    session.run(*fetch, "--only-binary", ":all:", *wheels)
    # Their archives say what they need by running code that wants torch, or a builder.
    session.install("cmake", "ninja", "scikit-build-core", "setuptools", "wheel")
    sources = ("deepspeed", "llama-cpp-python")
    session.run(*fetch, "--no-build-isolation", "--no-binary", ",".join(sources), *sources)
    places = {"BOUNDMARK_TOOLS": str(folder), "BOUNDMARK_LLAMA": str(built_llama(session, folder))}
    tests = "tests/behaviour/test_tools_parsers.py"
    session.run("pytest", "-q", "-rs", tests, *session.posargs, env=places)


def built_llama(session: nox.Session, folder: Path) -> Path:
    """Build llama.cpp's servers of the archive in a folder, unless they are, and say where.

    They are to read options and to spread an empty model, so that nothing is optimised.
    """
    (archive,) = folder.glob("llama_cpp_python-*.tar.gz")
    place = Path(session.create_tmp(), archive.name.removesuffix(".tar.gz")).resolve()
    if not place.exists():
        shutil.unpack_archive(archive, place.parent)
    build = place / "build"
    switches = (
        "GGML_RPC=ON", "GGML_NATIVE=OFF", "GGML_OPENMP=OFF", "GGML_LLAMAFILE=OFF",
        "BUILD_SHARED_LIBS=OFF", "LLAMA_OPENSSL=OFF", "LLAMA_USE_PREBUILT_UI=OFF",
        "LLAMA_BUILD_TESTS=OFF", "LLAMA_BUILD_EXAMPLES=OFF", "LLAMA_BUILD_APP=OFF",
        "CMAKE_BUILD_TYPE=None", "CMAKE_C_FLAGS=-O0 -w", "CMAKE_CXX_FLAGS=-O0 -w",
    )  # fmt: skip
    session.run(
        "cmake", "-G", "Ninja", "-S", str(place / "vendor" / "llama.cpp"), "-B", str(build),
        *(f"-D{one}" for one in switches), silent=True,
    )  # fmt: skip
    targets = ("llama-server", "ggml-rpc-server")
    session.run("cmake", "--build", str(build), "--target", *targets, silent=True)
    return build / "bin"


@nox.session
def properties(session: nox.Session) -> None:
    """Run all tests with new random examples of their properties, more of them than `tests`."""
    install(session, "test")
    session.run("pytest", "--hypothesis-profile", "search", *(session.posargs or ON_ALL_CPUS))


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation's site, with warnings as errors, in build/docs; needs no network."""
    install(session, "docs")
    session.run("sphinx-build", "-b", "html", "-W", "--keep-going", "-q", "docs", "build/docs")
    session.log("Open build/docs/index.html in a browser.")


@nox.session
def lint(session: nox.Session) -> None:
    """Check format, lint rules, types and the direction of imports."""
    install(session, "lint", "test")
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("mypy")
    session.run("lint-imports")
    session.run("zizmor", "--offline", "--quiet", ".github")


# Where nights are kept, and what they are compared with.
NIGHTS = ("--baselines", str(BASELINES), "--nights", "results/nights")


@nox.session
def nightly(session: nox.Session) -> None:
    """Run the nightly suites afresh, verify, report, and compare with the baseline.

    Pass another suite, e.g. `-- smoke`, or options of `boundmark nightly`.
    """
    install(session)
    session.run("boundmark", "nightly", *NIGHTS, "--library", "library", *session.posargs)


@nox.session
def baseline(session: nox.Session) -> None:
    """Refresh the baseline from three fresh runs, and print what changed: of `-- SUITE`."""
    install(session)
    session.run("boundmark", "nightly", *NIGHTS, "--refresh", *session.posargs)


@nox.session
def gpu(session: nox.Session) -> None:
    """Tune models on a GPU of this machine, within ten minutes; goes on where it stopped.

    With `--no-venv`, torch and transformers are those that are installed. Pass a folder, and
    perhaps options of docs/tables/machine_runs.py such as `--torch-device cpu`.
    """
    install(session, "torch", extras="all,zoo")
    folder, *options = session.posargs or ["results/gpu"]
    session.run(
        "python", "docs/tables/machine_runs.py", folder, "--torch-device", "cuda", "--compiled",
        "--stages", "4", "8", "--seconds", "10", "--minutes", "10", "--save", *options,
    )  # fmt: skip


@nox.session
def library(session: nox.Session) -> None:
    """Let the checker see the library, and make every instance again from its data set."""
    install(session)
    session.run("boundmark", "verify", "--sources", "library")


@nox.session
def fuzz(session: nox.Session) -> None:
    """Damage certificates and files; pass the minutes of each campaign."""
    install(session, "test", "fuzz")
    minutes = session.posargs[0] if session.posargs else "1"
    session.run("python", "tests/campaigns/mutations.py", "--minutes", minutes)
    session.run("python", "tests/campaigns/readers.py", "--minutes", minutes)


def commit_of(session: nox.Session, name: str) -> str:
    """Return the full hash of a commit."""
    command = ["git", "rev-parse", "--verify", f"{name}^{{commit}}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        session.error(f"there is no commit {name!r}; expected a name that git knows.")
    return done.stdout.strip()


def measure(session: nox.Session, commit: str, *options: str, code: str = "") -> None:
    """Run the benchmarks with what is installed, and store the results under a commit.

    Parameters
    ----------
    code
        A folder whose code goes before what is installed, as in PYTHONPATH.
    """
    # It writes its questions down and takes its own answers.
    session.run("asv", "machine", "--yes", silent=True)
    session.run(
        "asv", "run", "--environment", "installed:python", "--set-commit-hash", commit,
        "--show-stderr", *options, env={"ASV_PYTHONPATH": code} if code else {},
    )  # fmt: skip


@nox.session
def asv(session: nox.Session) -> None:
    """Time the hot code of this checkout, stored under its commit, and write the site of curves.

    Pass options of `asv run`, e.g. `-- -b Placements`, to choose.
    """
    install(session, "asv")
    measure(session, commit_of(session, "HEAD"), *session.posargs)
    session.run("asv", "publish")
    session.log("curves: .asv/html/index.html (asv preview serves them)")


@contextmanager
def checked_out(session: nox.Session, commit: str) -> Iterator[Path]:
    """Check a commit out aside, and remove what was checked out afterwards."""
    checkout = Path(session.create_tmp(), commit).resolve()
    git = ("git", "worktree")
    if not checkout.exists():
        session.run(*git, "add", "--force", "--detach", str(checkout), commit, external=True)
    try:
        yield checkout
    finally:
        session.run(*git, "remove", "--force", str(checkout), external=True)


@nox.session
def gate(session: nox.Session) -> None:
    """Run suites on a commit and on this checkout, and fail if anything is worse: `-- main SUITE`.

    The first word names the commit, the others suites; `smoke` if there are none. Each side has its
    own dependencies. `results/gate` has the comparison, and a summary for the pull request.
    """
    if not session.posargs:
        session.error("expected a commit to compare with: nox -s gate -- origin/main [SUITE...]")
    name, *suites = session.posargs
    commit = commit_of(session, name)
    install(session)
    out = Path("results", "gate")
    shutil.rmtree(out, ignore_errors=True)
    with checked_out(session, commit) as checkout:
        place = checkout / ".venv"
        session.run("python", "-m", "venv", str(place))
        old = str(place / "bin" / "python")
        session.run(old, "-m", "pip", "install", "--quiet", "-e", f"{checkout}[all]", external=True)
        session.run(
            "boundmark", "gate", old, *(suites or [SMOKE]), "--out", str(out), "--thresholds",
            str(BASELINES / "thresholds.toml"),
        )  # fmt: skip


@nox.session(name="asv-compare")
def asv_compare(session: nox.Session) -> None:
    """Compare the benchmarks of two commits: `-- A B`, then options of `asv run`.

    Each commit is checked out aside and measured by today's benchmarks, with today's dependencies.
    """
    if len(session.posargs) < 2:
        session.error("expected two commits: nox -s asv-compare -- A B")
    commits = [commit_of(session, name) for name in session.posargs[:2]]
    install(session, "asv")
    for commit in commits:
        with checked_out(session, commit) as checkout:
            measure(session, commit, *session.posargs[2:], code=str(checkout / "src"))
    session.run("asv", "compare", "--split", *commits)


@nox.session
def faults(session: nox.Session) -> None:
    """Let methods do everything wrong and kill runs at random; pass e.g. `-- 10` for minutes."""
    install(session, "test")
    minutes = session.posargs[:1] or ["2"]
    session.run("python", "tests/campaigns/faults.py", "--minutes", *minutes, *session.posargs[1:])


@nox.session
def load(session: nox.Session) -> None:
    """Solve instances of every problem beside eight busy processes: each has to have a bound."""
    install(session, "test")
    session.run("python", "tests/campaigns/under_load.py", *session.posargs)


@nox.session
def defaults(session: nox.Session) -> None:
    """Look for a heuristic that beats the default answer in a tenth of the time. For nights."""
    install(session, "test")
    session.run("python", "tests/campaigns/default_answers.py", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Change the checker's code in one place at a time: do its own tests notice? For nights.

    Goes on where it was stopped. Pass options of the campaign, e.g. `-- --only pipeline/leaf`, or
    `-- --part 1/7` for a seventh of the pass each night.
    """
    install(session, "test")
    session.run("python", "tests/campaigns/mutants.py", "--jobs", "2", *session.posargs)
