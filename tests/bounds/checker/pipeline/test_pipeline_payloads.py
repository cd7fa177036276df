import copy
from typing import Any

import pytest
from certified import certified
from hypothesis import given
from hypothesis import strategies as st
from mutation import JSON

from boundmark.bounds import checker

TREE_ROWS = ("cost", "share", "overflow", "enters", "leaves", "edge", "later")


@pytest.mark.parametrize("name", ["node-cut", "share, one node"])
def test_every_flow_entry_matters(name: str) -> None:
    """A single flow that proves the optimum has no slack: each entry dropped costs the bound."""
    sample = certified("pipeline", name).instance.to_json()
    certificate = certified("pipeline", name).certificate
    flows = certificate["payload"].get("flows", [certificate["payload"]])
    for flow in range(len(flows)):
        for i in range(len(flows[flow]["edges"])):
            changed = copy.deepcopy(certificate)
            entry = changed["payload"].get("flows", [changed["payload"]])[flow]
            del entry["edges"][i], entry["amounts"][i]
            with pytest.raises(checker.Rejected):
                checker.check_certificate(sample, changed)


FLOW = st.fixed_dictionaries(
    {
        "node": st.integers(-1, 6) | JSON,
        "io_weight": st.integers(-1, 65) | JSON,
        "edges": st.lists(st.integers(-1, 6), max_size=6) | JSON,
        "amounts": st.lists(st.integers(-100, 100), max_size=6) | JSON,
    }
)
LEAF = st.fixed_dictionaries(
    {
        name: st.lists(st.integers(0, 7), max_size=8) | st.lists(st.integers(-1, 99), max_size=3)
        for name in TREE_ROWS
    }
)
PAYLOAD = (
    JSON
    | FLOW
    | st.fixed_dictionaries(
        {"threshold": st.integers(-5, 50), "flows": st.lists(FLOW, max_size=3) | JSON}
    )
    | st.fixed_dictionaries(
        {
            "threshold": st.integers(-5, 50),
            "flows": st.lists(FLOW, max_size=1),
            "nodes": st.lists(LEAF | st.lists(st.integers(-1, 6), max_size=3) | JSON, max_size=4),
        }
    )
    | st.fixed_dictionaries(
        {"threshold": st.integers(-5, 50), "ignored": st.lists(st.integers(-1, 6)) | JSON}
    )
)


@given(payload=PAYLOAD, kind=st.sampled_from(sorted(checker.KINDS)), bound=st.just(0) | JSON)
def test_arbitrary_payloads_are_rejected_or_true(payload: Any, kind: str, bound: Any) -> None:
    """Nothing but a rejection comes of nonsense, and nothing false is proved."""
    sample = certified("pipeline", "fractional-load")
    document = {**sample.certificate, "kind": kind, "payload": payload, "bound": bound}
    try:
        proved = checker.check_certificate(sample.instance.to_json(), document)
    except checker.Rejected:
        return
    assert proved <= sample.optimum


def test_integers_may_be_decimal_texts() -> None:
    """Amounts beyond 2^53 survive JSON readers that know only floating point."""
    sample = certified("pipeline", "node-cut")
    document = copy.deepcopy(sample.certificate)
    document["payload"]["amounts"] = [str(x) for x in document["payload"]["amounts"]]
    assert checker.check_certificate(sample.instance.to_json(), document) == document["bound"]
