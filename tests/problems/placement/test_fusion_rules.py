import pytest

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.placement.fusion import RULE_SETS, FusionRules


def test_rules_and_their_parts() -> None:
    """A part is next to each other in a rule, has two types at least, and is not all of it."""
    rules = FusionRules((("a", "b", "c", "d"), ("b", "c")))
    assert rules.is_rule(("a", "b", "c", "d"))
    assert rules.is_rule(("b", "c"))
    assert not rules.is_rule(("a", "b"))
    parts = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "b", "c"), ("b", "c", "d")]
    assert all(rules.is_part(part) for part in parts)
    for other in (("a", "c"), ("b", "a"), ("a",), ("a", "b", "c", "d"), ("a", "b", "d")):
        assert not rules.is_part(other)


def test_table_i() -> None:
    """The published rules are among ours, an addition being Add or Sum in ONNX."""
    assert set(RULE_SETS["moirai"].rules) > {
        ("Conv", "BatchNormalization"),
        ("Conv", "BatchNormalization", "Relu"),
        ("Conv", "BatchNormalization", "Add", "Relu"),
        ("Conv", "BatchNormalization", "Sum", "Relu"),
    }
    assert set(RULE_SETS["moirai"].rules) < set(RULE_SETS["backends"].rules)


@pytest.mark.parametrize("rule", [(), ("Conv",), ("Conv", ""), ("Conv", 3)])
def test_what_is_no_rule(rule: tuple[str, ...]) -> None:
    """A rule joins at least two operators."""
    with pytest.raises(InvalidInputError, match="expected at least two types of operators"):
        FusionRules((rule,))
