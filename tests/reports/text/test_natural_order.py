"""Names in the order people expect."""

from boundmark.reports.text.natural_order import natural_order


def test_natural_order_compares_numbers_by_value() -> None:
    """More evaluations come after fewer, and names may begin with a number or be one."""
    names = ["random-10000", "random-100", "9", "10", "random-100", "mla"]
    assert natural_order(names) == ["9", "10", "mla", "random-100", "random-10000"]
