"""Numbers and names as readers see them."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from boundmark.reports.text import amount, file_name, gap_percent, natural_order, visible


def test_plain_names_stay() -> None:
    """Letters, digits, dashes and underscores say what they said."""
    assert file_name("gap_by_k-2") == "gap_by_k-2"


@given(st.text())
def test_names_stay_within_their_folder(text: str) -> None:
    """Whatever the text, nothing in the name leads elsewhere, and it is not hidden."""
    name = file_name(text)
    assert Path("folder", name).name == name
    assert name
    assert "." not in name


@given(st.lists(st.text(), unique=True))
def test_different_texts_have_different_names(texts: list[str]) -> None:
    """No file replaces another one."""
    assert len({file_name(text) for text in texts}) == len(texts)


def test_natural_order_compares_numbers_by_value() -> None:
    """More evaluations come after fewer, and names may begin with a number or be one."""
    names = ["random-10000", "random-100", "9", "10", "random-100", "mla"]
    assert natural_order(names) == ["9", "10", "mla", "random-100", "random-10000"]


def test_what_cannot_be_seen_is_escaped_and_lines_stay() -> None:
    """Letters and blanks that do not break stay; control characters and lone surrogates do not."""
    assert visible("25\xa0% Größe [/b] 東\nx") == "25\xa0% Größe [/b] 東\nx"
    assert visible("\x1b[31m\x00\ud800\u202e") == r"\x1b[31m\x00\ud800\u202e"


def test_only_a_gap_of_nothing_is_optimal() -> None:
    """No other gap is shown as 0, and none that is open as optimal."""
    gaps = [0, 1e-12, 4.9e-5, 5e-5, 9.4e-4, 9.6e-4, 0.032, 3.0, None]
    assert [gap_percent(gap) for gap in gaps] == [
        "optimal", "< 0.01", "< 0.01", "0.01", "0.09", "0.1", "3.2", "300.0", "–",
    ]  # fmt: skip
    assert gap_percent(1e-5, "%", 2) == "< 0.01%"
    assert gap_percent(0.114, "%", 2) == "11.40%"
    assert gap_percent(0, "%") == "optimal"


def test_amounts_are_told_to_the_last_tick() -> None:
    """Up to 2^53, whose floating-point numbers are exact; ratios have four digits."""
    assert amount(2.0**53 - 1) == "9,007,199,254,740,991"
    assert [amount(x) for x in (0, 7.0, 6.25, 1 / 3, 12345.6)] == [
        "0",
        "7",
        "6.25",
        "0.3333",
        "12,346",
    ]
    assert amount(float("inf")) == "inf"
