"""The campaign changes what it says it changes, and the list of survivors is about what exists."""

import ast
import sys
import types
from pathlib import Path

import pytest
from code_mutants import Mutant, code_alone, difference, mutants
from listed_mutants import CLASSES, class_by_name, read_list, unused
from mutant_trials import put_in_place

from boundmark.bounds import checker

FOLDER = Path(str(checker.__file__)).parent

SOURCE = '''
LIMIT = 3

def count(values, spend):
    """Count what is below the limit."""
    spend(1 + len(values))
    if len(values) > 9:
        raise TooLarge("more than 9")
    if not values:
        raise Rejected("no values" + str(1 - 0))
    return sum(value < LIMIT for value in values[1:])
'''


def test_changes_by_hand() -> None:
    """Each place is changed once, but for what is said and what is spent."""
    found = [f"{m.function}: {m.change}" for m in mutants("a.py", SOURCE)]
    assert found == [
        "<module>: LIMIT = {3 -> 4}",
        "<module>: LIMIT = {3 -> 2}",
        "count: {if not values -> if False}",
        "count: if {not values -> values}",
        "count: return sum((value {< -> <=} LIMIT for value in values[1:]))",
        "count: return sum((value < LIMIT for value in values[{1 -> 2}:]))",
        "count: return sum((value < LIMIT for value in values[{1 -> 0}:]))",
    ]


def test_repeated_changes_have_numbers() -> None:
    """A name is that of one mutant, wherever the lines are."""
    twice = "def f(a):\n    a += 1\n    a += 1\n"
    names = [m.name for m in mutants("a.py", twice)]
    assert len(set(names)) == len(names) == 6
    assert names == [m.name for m in mutants("a.py", "\n\n" + twice)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a < b", "a <= b", "a {< -> <=} b"),
        ("f(a - 1)", "f(a + 1)", "f(a {- -> +} 1)"),
        ("max(a, b)", "min(a, b)", "{max -> min}(a, b)"),
        ("x = 10", "x = 11", "x = {10 -> 11}"),
    ],
)
def test_differences_are_words(before: str, after: str, expected: str) -> None:
    """What was changed is shown in its place."""
    assert difference(before, after) == expected


def by_name(source: str) -> dict[str, Mutant]:
    """Return the mutants of a module by their change."""
    return {mutant.change: mutant for mutant in mutants("toy.py", source)}


def test_everybody_sees_the_mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions and values that other modules have imported already are changed as well."""
    source = "LIMIT = 3\n\ndef below(value):\n    return value < LIMIT\n"
    package, toy, user = (types.ModuleType(name) for name in ("toys", "toys.toy", "toys.user"))
    toy.__file__ = "toy.py"
    exec(compile(source, "toy.py", "exec"), toy.__dict__)
    exec("LIMIT, below = toy.LIMIT, toy.below", {"toy": toy}, user.__dict__)
    for module in (package, toy, user):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    assert (user.below(3), user.LIMIT) == (False, 3)
    put_in_place(package, by_name(source)["return value {< -> <=} LIMIT"])
    assert (user.below(3), user.LIMIT) == (True, 3)
    put_in_place(package, by_name(source)["LIMIT = {3 -> 2}"])
    assert (user.below(2), user.LIMIT) == (False, 2)


def test_what_is_known_of_a_module_holds_for_its_code() -> None:
    """Other words and lines change nothing, another number does."""
    other = SOURCE.replace("Count what is", "Return how many are").replace(
        "LIMIT = 3", "# Most.\nLIMIT = 3"
    )
    assert code_alone(ast.parse(other)) == code_alone(ast.parse(SOURCE))
    assert code_alone(ast.parse(SOURCE.replace("9", "8"))) != code_alone(ast.parse(SOURCE))


def test_groups_name_mutants_or_have_patterns() -> None:
    """What is listed and is of no mutant is told."""
    every = list(mutants("toy.py", SOURCE))
    (first, *_) = [mutant.name for mutant in every]
    groups = [
        {"class": "same", "mutants": [first, "toy.py count: gone"]},
        {"class": "limits", "patterns": ["toy.py count: if *", "other.py *"]},
    ]
    found = class_by_name(groups, every)
    assert found[first] == "same"
    limits = {name for name, group in found.items() if group == "limits"}
    assert limits == {mutant.name for mutant in every if mutant.change.startswith("if ")}
    names = {mutant.name for mutant in every}
    assert unused(groups, names) == ["toy.py count: gone", "other.py *"]


def test_listed_mutants_exist() -> None:
    """Entries go when the code goes that they are about; each has a class and a reason, once."""
    groups = read_list()
    names = [name for group in groups for name in group.get("mutants", ())]
    assert len(set(names)) == len(names)
    known = {
        mutant.name
        for path in FOLDER.rglob("*.py")
        for mutant in mutants(path.relative_to(FOLDER).as_posix(), path.read_text())
    }
    assert unused(groups, known) == []
    assert {group["class"] for group in groups} <= set(CLASSES)
    assert all(group["reason"] for group in groups)
