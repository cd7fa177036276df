from typing import Any

import pytest
from certified import certified

from boundmark.bounds import checker


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("work", [], "not of one length above 0"),
        ("edges", [[0, 1], [1, 2], [2, 0]], "has a cycle"),
        ("edges", [[1, 1]], "has a cycle"),
        ("phase", "decode", "it has 'phase'"),
        ("phase", ["training"], "it has 'phase'"),
        ("training", "phase", "it has 'training'"),
    ],
)
def test_malformed_instances(field: str, value: Any, reason: str) -> None:
    """An instance that breaks its format is rejected, with the field."""
    document = {**certified("pipeline", "node-cut").instance.to_json(), field: value}
    with pytest.raises(checker.Rejected, match=reason):
        checker.check_instance(document)


@pytest.mark.parametrize("phase", ["training", "inference"])
def test_an_instance_may_have_a_phase(phase: str) -> None:
    """Which does not matter to its costs."""
    document = certified("pipeline", "node-cut").instance.to_json()
    assert checker.check_instance({**document, "phase": phase}) == (
        checker.check_instance(document)
    )


def test_all_costs_together_are_limited() -> None:
    """Work, transfer, param_load and the cache add up to 2^53 at most, whichever is the largest."""
    sample: dict[str, Any] = {
        "format": "boundmark-instance/1", "problem": "pipeline", "k": 2, "cache": 3,
        "edges": [[0, 1]], "work": [1, 2], "transfer": [4, 5], "param_load": [6, 7],
    }  # fmt: skip
    for name in ("work", "transfer", "param_load"):
        rest = 3 + sum(sum(sample[other]) for other in ("work", "transfer", "param_load"))
        first, second = sample[name]
        most = 2**53 - rest + first
        checker.check_instance({**sample, name: [most, second]})
        with pytest.raises(checker.Rejected, match="costs of the instance add up to more than"):
            checker.check_instance({**sample, name: [most + 1, second]})


def test_huge_integers_are_rejected() -> None:
    """Integers too long to print are rejected without printing them."""
    sample = certified("pipeline", "fractional-load")
    document = sample.instance.to_json()
    with pytest.raises(checker.Rejected, match="k of the instance is not an integer"):
        checker.check_instance({**document, "k": 10**5000})
    with pytest.raises(checker.Rejected, match="instance_sha256"):
        checker.check_certificate(document, {**sample.certificate, "instance_sha256": 10**5000})
