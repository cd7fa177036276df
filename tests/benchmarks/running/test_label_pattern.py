import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.benchmarks.running.label_pattern import (
    ALL_LABELS,
    LabelPattern,
    LabelPatterns,
    LabelWord,
)

SOURCE, METHOD = "d/a b", "sh"
WORDS = [LabelWord("k=", characters="12"), LabelWord("m=", ("a", "bb"))]
LABELS = [
    "".join([SOURCE, *words, f" {METHOD}"])
    for count in range(4)
    for words in itertools.product([" k=1", " k=2", " k=12", " m=a", " m=bb"], repeat=count)
]


@given(st.lists(st.sampled_from([*"dabkmsh12=/ *?[]!", "[ab]", "[!a]", "[]", "[!]", "k=1"])))
def test_what_matches_may_match(parts: list[str]) -> None:
    """No source is left out for which some task's label matches, whatever the pattern is."""
    pattern = LabelPattern("".join(parts))
    if any(pattern.matches(label) for label in LABELS):
        assert pattern.may_match(SOURCE, WORDS, METHOD)


@pytest.mark.parametrize(
    "text", ["d/b", "sh ", "k=3", "k= ", "m=b s", "d/a b ?=* share", "*k=1*d/a*", "m=a[!b ]"]
)
def test_what_cannot_match_is_told(text: str) -> None:
    """Other members, methods and values of choices are left out."""
    assert not LabelPattern(text).may_match(SOURCE, WORDS, METHOD)


def test_one_of_several_patterns_has_to_match() -> None:
    """Without patterns, every label matches."""
    patterns = LabelPatterns.of(["k=1 sh", "k=2 sh"])
    assert [label for label in LABELS if patterns.matches(label)] == [
        label for label in LABELS if label.endswith(("k=1 sh", "k=2 sh"))
    ]
    assert patterns.may_match(SOURCE, WORDS, METHOD)
    assert not LabelPatterns.of(["k=3", "k= "]).may_match(SOURCE, WORDS, METHOD)
    assert ALL_LABELS.matches("")
    assert ALL_LABELS.may_match(SOURCE, WORDS, METHOD)
