"""Any text as a name of a file."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from boundmark.reports.text.file_name import file_name


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
