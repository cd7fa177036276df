"""Patterns from files: the same as Python's own, without going back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.datasets.layers.patterns import PatternError, read_pattern, read_wildcards

ONES = st.sampled_from(
    ["a", "b", "_", r"\.", ".", "[ab]", "[^a]", r"[^\d.]", "[0-9a]", r"\d", r"\W"]
)
SIGNS = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "*?", "??", ""])


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return patterns that are made of smaller ones."""
    return st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("({}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, SIGNS),
        st.builds("^{}".format, inner),
        st.builds("{}$".format, inner),
    )


@given(st.recursive(ONES, larger, max_leaves=8), st.lists(st.text("ab_.1", max_size=7)))
def test_patterns_match_what_python_matches(pattern: str, names: list[str]) -> None:
    """At the beginning of a name, as tools have it."""
    automaton = read_pattern(pattern)
    expected = [re.match(pattern, name) is not None for name in names]
    assert [automaton.matches(name) for name in names] == expected


def test_names_are_read_once() -> None:
    """What makes Python go back for ages does not matter here."""
    automaton = read_pattern("^(([a-z._0-9])+)+$X")
    assert not automaton.matches("model.layers.0.self_attn.q_proj" * 100)


def test_wildcards_are_whole_words() -> None:
    """Between points."""
    names = ["layers.1.mlp.up", "x.layers.1.mlp", "layers.1.mlpx", "alayers.1.mlp"]
    automaton = read_wildcards("layers.*.mlp")
    assert [automaton.matches(name) for name in names] == [True, True, False, False]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(", r"\) is missing"), ("a)", r"\) too many"), ("[a", "missing"), ("a**", r"\* follows"),
        ("(?!a)", r"\(\?, which is not known"), (r"\b", r"\\b, which is not known"),
        ("a{3", "without numbers"), ("a{9999}", "9999 times"), ("a{2,1}", "from 2 to 1"),
        ("[b-a]", "a class from b to a"), ("(" * 60 + ")" * 60, "more than 50 deep"),
        ("((a{99}){99}){99}", "more than 1,000 states"), ("((){999}){999}", "1,000 states"),
        ("a" * 1001, "more than 1,000 characters"), ("\\", "missing"),
    ],
)  # fmt: skip
def test_what_an_automaton_cannot_do_is_refused(pattern: str, expected: str) -> None:
    """And patterns that are none, or too large."""
    with pytest.raises(PatternError, match=expected):
        read_pattern(pattern)
