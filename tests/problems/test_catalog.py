import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugin_packages import install

from boundmark.problems import catalog, entry_points
from boundmark.problems.entry_points import registered
from boundmark.problems.method import Method


def test_own_methods_come_through_entry_points() -> None:
    """The project registers as third-party packages do."""
    assert {"fractional-load", "brkga-10000"} <= set(catalog.methods())
    assert {"onnx-light", "regal-style"} <= set(catalog.datasets())
    assert {"pipeline", "microbatch"} <= set(catalog.problems())


def test_problems_are_in_the_order_of_their_precedence() -> None:
    """Where several suit, `solve` takes the first."""
    order = [problem.precedence for problem in catalog.problems().values()]
    assert order == sorted(order)
    assert next(iter(catalog.problems())) == "pipeline"


def test_methods_of_one_problem_are_imported_alone() -> None:
    """Kernels of other problems are neither loaded nor, in a fresh checkout, compiled."""
    code = (
        "import sys; from boundmark.problems.catalog import methods; "
        "assert set(m.problem for m in methods('microbatch').values()) == {'microbatch'}; "
        "print([name for name in sys.modules if 'kernels' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("problem", catalog.problems())
def test_one_problem_has_the_methods_that_all_have(problem: str) -> None:
    """What is left out is only what is not asked for."""
    treating = {
        name: method for name, method in catalog.methods().items() if method.problem == problem
    }
    assert treating
    assert catalog.methods(problem) == treating


@pytest.mark.parametrize(
    ("entry_point", "wanted"),
    [
        ("pipeline", True),
        ("pipeline-bounds", True),
        ("pipelines", True),
        ("theirs", True),
        ("microbatch", False),
        ("microbatch-heuristics", False),
    ],
)
def test_entry_points_named_after_another_problem_are_not_loaded(
    entry_point: str, wanted: bool
) -> None:
    """Others may hold methods for any problem."""
    assert catalog.may_treat(entry_point, "pipeline") == wanted


def test_the_longest_name_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem's name may begin with that of another one."""
    for name in ("one", "one-machine"):
        monkeypatch.setitem(catalog.problems(), name, None)
    assert catalog.may_treat("one-machine-bounds", "one-machine")
    assert not catalog.may_treat("one-machine-bounds", "one")
    assert catalog.may_treat("one-bounds", "one")


GROUP = "boundmark.methods"
CODE = """
from boundmark.problems.method import Method

def method(name):
    return Method(name, "one-machine", "bound", "Nothing.", run=lambda *a, **k: None)

FIRST, SECOND = method("first"), method("second")
BOTH = (FIRST, SECOND)
TWICE = (FIRST, FIRST)
OURS = method("fractional-load")
MIXED = (FIRST, 3)
NAMELESS = method(None)
"""


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[Path]:
    """Return a folder on Python's path; entry points are looked for anew."""
    caplog.set_level(logging.WARNING, "boundmark")
    monkeypatch.syspath_prepend(str(tmp_path))
    entry_points._entry_points.cache_clear()
    before = set(sys.modules)
    yield tmp_path
    entry_points._entry_points.cache_clear()
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_our_own_come_first(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody replaces a method of ours, whatever the entry point is called."""
    install(folder, "aa-plugin", {GROUP: {"a": "aa_plugin:OURS", "b": "aa_plugin:SECOND"}}, CODE)
    found = registered(GROUP, Method)
    assert found["fractional-load"].problem == "pipeline"
    assert found["second"].problem == "one-machine"
    (line,) = caplog.messages
    assert "left out entry point 'a' (boundmark.methods) of package aa-plugin" in line
    assert "'fractional-load' is taken" in line


def test_an_object_or_several(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An entry point holds one object, or a tuple of them."""
    install(folder, "many", {GROUP: {"one": "many:BOTH"}}, CODE)
    assert {"first", "second"} <= set(registered(GROUP, Method))
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("value", "code", "reason"),
    [
        ("broken:METHOD", "import no_such_module", "ModuleNotFoundError: No module named"),
        ("broken:METHOD", "def f(:", "SyntaxError: invalid syntax"),
        ("broken:METHOD", "raise RuntimeError('two\\nlines')", "RuntimeError: two lines"),
        ("broken:METHOD", "raise SystemExit(3)", "SystemExit: 3"),
        ("broken:METHOD", "class Odd(BaseException): pass\nraise Odd()", "Odd:"),
        ("broken:METHOD", "", "AttributeError: module 'broken' has no attribute 'METHOD'"),
        ("broken:METHOD", "METHOD = 'x'", "it holds a str; expected a Method or a tuple of them"),
        ("broken:MIXED", CODE, "it holds a int; expected a Method"),
        ("broken:TWICE", CODE, "'first' is taken"),
        ("broken:NAMELESS", CODE, "name is None; expected a text"),
        ("broken:OURS", CODE, "'fractional-load' is taken; expected a name of its own"),
        # What it raises depends on whose loader of metadata is in charge.
        ("not a module at all", "", "Error: "),
        ("broken:METHOD", f"raise ValueError('{'x' * 1000}')", "ValueError: xxx"),
    ],
)
def test_broken_entry_points_are_left_out(
    value: str, code: str, reason: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One line says which and why; all others work."""
    install(folder, "broken", {GROUP: {"aaa": value}}, code)
    install(folder, "whole", {GROUP: {"zzz": "whole:SECOND"}}, CODE)
    found = registered(GROUP, Method)
    assert {"fractional-load", "second"} <= set(found)
    assert "first" not in found
    (line,) = caplog.messages
    assert line.startswith("warning: left out entry point 'aaa' (boundmark.methods) of package bro")
    assert reason in line
    assert "\n" not in line
    assert len(line) < 500
    assert caplog.records[0].levelno == logging.WARNING


@pytest.mark.parametrize(
    "name",
    ["", " a", "a ", "a\x07b", "a\nb", "a\u200bb", "a\u2028b", "a\u202eb", "a\ue000b", "a\u0378b"],
)
def test_names_that_cannot_be_seen_are_refused(
    name: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Control, zero-width, private and unassigned characters would make two names look alike."""
    code = CODE + f"UNSEEN = method({name!r})\n"
    install(folder, "unseen", {GROUP: {"aaa": "unseen:UNSEEN"}}, code)
    assert name not in registered(GROUP, Method)
    (line,) = caplog.messages
    assert f"name is {name!a}; expected visible characters" in line


def test_names_of_any_visible_characters_are_kept(folder: Path) -> None:
    """What they mean to HTML, LaTeX and formulas matters where they are drawn."""
    code = CODE + "ODD = method('a$b_c|d<e>&%#')\n"
    install(folder, "odd", {GROUP: {"aaa": "odd:ODD"}}, code)
    assert "a$b_c|d<e>&%#" in registered(GROUP, Method)


def test_interrupts_are_obeyed(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Ctrl-C while a package is imported stops the program, and it is told which one it was."""
    install(folder, "slow", {GROUP: {"aaa": "slow:METHOD"}}, "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        registered(GROUP, Method)
    (line,) = caplog.messages
    told = "interrupted while entry point 'aaa' (boundmark.methods) of package slow was imported"
    assert line == f"warning: {told}"


@pytest.mark.parametrize(
    "content", [b"[boundmark.methods]\nno equals sign\n", b"[boundmark.methods]\na = \xff\xfe"]
)
def test_damaged_files_are_left_out(
    content: bytes, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A package whose entry points cannot be read does not hide the others."""
    info = install(folder, "damaged", {})
    (info / "entry_points.txt").write_bytes(content)
    assert "fractional-load" in registered(GROUP, Method)
    (line,) = caplog.messages
    assert line.startswith("warning: left out the entry points of")
    assert "damaged" in line


def test_a_copy_further_down_the_path_does_not_count(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The first of two copies is the one that is imported; nothing is said about the other."""
    for place in ("later", "sooner"):
        (folder / place).mkdir()
        install(folder / place, "twice", {GROUP: {"a": "twice:FIRST"}}, CODE)
        monkeypatch.syspath_prepend(str(folder / place))
    assert "first" in registered(GROUP, Method)
    assert caplog.messages == []


def test_names_may_be_taken_by_others(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What the caller has already is not replaced either."""
    install(folder, "command", {GROUP: {"a": "command:FIRST"}}, CODE)
    assert "first" not in registered(GROUP, Method, taken=["first"])
    assert "'first' is taken" in caplog.text


def test_nothing_is_printed_among_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a package prints when it is imported goes to standard error: commands print JSON."""
    install(folder, "chatty", {GROUP: {"a": "chatty:FIRST"}}, "print('Hello!')\n" + CODE)
    assert "first" in registered(GROUP, Method)
    assert capsys.readouterr() == ("", "Hello!\n")
