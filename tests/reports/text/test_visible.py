"""Texts of unknown origin."""

from boundmark.reports.text.visible import visible


def test_what_cannot_be_seen_is_escaped_and_lines_stay() -> None:
    """Letters and blanks that do not break stay; control characters and lone surrogates do not."""
    assert visible("25\xa0% Größe [/b] 東\nx") == "25\xa0% Größe [/b] 東\nx"
    assert visible("\x1b[31m\x00\ud800\u202e") == r"\x1b[31m\x00\ud800\u202e"
