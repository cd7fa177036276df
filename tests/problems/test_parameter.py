import pytest

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.parameter import ChoiceParameter, IntegerParameter

COUNT = IntegerParameter("k", "number of stages", least=1, default=None)
MODE = ChoiceParameter("transfers", "who shares them", ("per-edge", "per-tensor"), "per-edge")


def test_values_are_read_from_texts() -> None:
    """The command line gives texts, suites values; both mean the same."""
    assert COUNT.read("8") == COUNT.check(8) == 8
    assert MODE.read("per-tensor") == MODE.check("per-tensor") == "per-tensor"


def test_help_shows_what_is_expected() -> None:
    """Integers by their type, choices by their names."""
    assert COUNT.metavar == "INTEGER"
    assert MODE.metavar == "[per-edge|per-tensor]"


@pytest.mark.parametrize("value", [0, -3, 1.0, True, "8", None, [1]])
def test_what_is_no_integer(value: object) -> None:
    """The sentence has name, value and what was expected."""
    with pytest.raises(InvalidInputError, match=r"^k is .*; expected an integer of at least 1\.$"):
        COUNT.check(value)


@pytest.mark.parametrize("text", ["", "eight", "1.5", "0", "9" * 5000])
def test_texts_that_are_no_integer(text: str) -> None:
    """A text is not mistaken for a number."""
    with pytest.raises(InvalidInputError, match="expected an integer of at least 1"):
        COUNT.read(text)


@pytest.mark.parametrize("value", ["per-node", "", 1, None, ["per-edge"]])
def test_what_is_no_choice(value: object) -> None:
    """The sentence lists the choices."""
    with pytest.raises(InvalidInputError, match=r"transfers is .*; expected 'per-edge' or 'per-t"):
        MODE.check(value)


@pytest.mark.parametrize("name", ["K", "a-b", "", "_k", "two words", "1st", "k_"])
def test_names_that_options_cannot_have(name: str) -> None:
    """Names are lower-case words, which suites and the command line can spell."""
    with pytest.raises(InvalidInputError, match="expected lower-case words"):
        IntegerParameter(name, "anything", least=0, default=0)


@pytest.mark.parametrize("name", ["out", "method", "time_limit", "dataset", "file", "h"])
def test_names_that_are_taken(name: str) -> None:
    """A parameter cannot take the place of an option or of a suite's field."""
    with pytest.raises(InvalidInputError, match="which suites or commands use"):
        ChoiceParameter(name, "anything", ("a",), "a")


def test_a_default_is_a_choice() -> None:
    """Otherwise the problem would not be what it says."""
    with pytest.raises(InvalidInputError, match="objective is 'worst'"):
        ChoiceParameter("objective", "what counts", ("best", "mean"), "worst")


@pytest.mark.parametrize("choice", ["Best", "a b", "a=b", "", "-a"])
def test_choices_that_labels_cannot_have(choice: str) -> None:
    """Labels and file names are made of choices."""
    with pytest.raises(InvalidInputError, match="expected lower-case letters, digits, dashes"):
        ChoiceParameter("objective", "what counts", (choice,), None)
