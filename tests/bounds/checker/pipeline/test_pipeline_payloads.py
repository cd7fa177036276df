import copy

import pytest
from certified import certified

from boundmark.bounds import checker


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


def test_integers_may_be_decimal_texts() -> None:
    """Amounts beyond 2^53 survive JSON readers that know only floating point."""
    sample = certified("pipeline", "node-cut")
    document = copy.deepcopy(sample.certificate)
    document["payload"]["amounts"] = [str(x) for x in document["payload"]["amounts"]]
    assert checker.check_certificate(sample.instance.to_json(), document) == document["bound"]
