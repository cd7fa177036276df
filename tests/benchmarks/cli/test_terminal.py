"""Tables fit, and names are shown as they are, whatever is in them."""

import pytest
from rich.table import Table

from boundmark.benchmarks.cli.terminal import echo, plain, print_table, wide_tables

HOSTILE = "[red]a[/red]\x1b[2J\u202e\n[link=x]"


def test_a_printed_line_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Line breaks and control characters of names are escapes; letters of any language stay."""
    echo("a b\u00e9\n\x1b.json")
    assert capsys.readouterr() == ("a b\u00e9\\n\\x1b.json\n", "")
    echo("late", err=True)
    assert capsys.readouterr() == ("", "late\n")


def table(*last: str) -> Table:
    """Return a table with a name, a number and a text."""
    made = Table("name", "number", "text", box=None, pad_edge=False)
    for text in last:
        made.add_row(plain("a-name-of-thirty-characters-ok"), "1,234,567", plain(text))
    return made


def test_the_last_column_is_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a pipe, rows have 80 columns; names and numbers are whole."""
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table(table("word " * 30, "short"))
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["name", "number", "text"]
    assert len(first) == 80
    assert first.startswith("a-name-of-thirty-characters-ok  1,234,567  word word")
    assert first.endswith("…")
    assert second.endswith("short")


def test_numbers_that_do_not_fit_are_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are longer then."""
    monkeypatch.delenv("COLUMNS", raising=False)
    made = Table(*(f"number {at}" for at in range(9)), box=None, pad_edge=False)
    made.add_row(*[f"{at}1,234,567,890" for at in range(9)])
    print_table(made)
    last = capsys.readouterr().out.splitlines()[1].split()
    assert last[:8] == [f"{at}1,234,567,890" for at in range(8)]
    assert len(last) == 9


def test_wide_tables_are_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """As wide as they need to be, and no wider."""
    with wide_tables(True):
        print_table(table("word " * 30 + "end"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].endswith("word end")
    assert len(lines[1]) == 30 + 2 + 9 + 2 + 153


def test_hostile_names(capsys: pytest.CaptureFixture[str]) -> None:
    """No mark-up is obeyed, no cursor moves, no line is begun."""
    print_table(table(HOSTILE))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[1].isprintable()
    assert r"[red]a[/red]\x1b[2J\u202e\n[" in lines[1]
