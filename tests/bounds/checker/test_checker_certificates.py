import json
import re
from pathlib import Path
from typing import Any

import pytest
from certified import NAMES, Certified, certified
from hypothesis import given
from hypothesis import strategies as st
from mutation import JSON, mutants

from boundmark.bounds import checker
from boundmark.bounds.checker import pipeline


@pytest.fixture(params=NAMES, ids=": ".join, scope="module")
def sample(request: pytest.FixtureRequest) -> Certified:
    """Return each certificate that there is for tests."""
    return certified(*request.param)


def test_every_kind_has_a_sample() -> None:
    """What is said below of all kinds is said of each kind that the checker knows."""
    assert {certified(*name).certificate["kind"] for name in NAMES} == set(checker.KINDS)


def test_kinds_of_pipeline_are_explained() -> None:
    """The checker's own list of proofs and the page have each kind that is registered, once."""
    lines = re.findall(r"^\S+/\d+(?:, \S+/\d+)*$", pipeline.__doc__ or "", re.MULTILINE)
    proofs = [kind for line in lines for kind in line.split(", ")]
    page = Path(__file__).parents[3] / "docs/certificates/pipeline.md"
    rows = re.findall(r"^\| (`[^|]*/\d`[^|]*)\|", page.read_text(encoding="utf-8"), re.MULTILINE)
    explained = [kind for row in rows for kind in re.findall(r"`([a-z-]+/\d+)`", row)]
    assert sorted(proofs) == sorted(explained) == sorted(pipeline.KINDS)


def test_tight_bound_is_the_optimum(sample: Certified) -> None:
    """The samples are what the tests below take them for."""
    assert sample.certificate["bound"] == sample.optimum
    proved = checker.check_certificate(sample.instance.to_json(), sample.certificate)
    assert proved == sample.optimum


def test_one_tick_more_is_rejected(sample: Certified) -> None:
    """No kind proves more than the optimum."""
    greedy = {**sample.certificate, "bound": sample.optimum + 1}
    with pytest.raises(checker.Rejected, match="is more than it proves"):
        checker.check_certificate(sample.instance.to_json(), greedy)


def test_mutants_prove_nothing_false(sample: Certified) -> None:
    """Whatever is changed, the certificate is rejected, or what it proves is still true."""
    document = sample.instance.to_json()
    rejected = 0
    for mutant in mutants(sample.certificate):
        # As greedy as can be: a mutant that proves anything at all claims all of the optimum.
        for changed in (mutant, {**mutant, "bound": sample.optimum + 1}):
            try:
                proved = checker.check_certificate(document, changed)
                assert int(changed["bound"]) <= proved <= sample.optimum
            except checker.Rejected:
                rejected += 1
    assert rejected > 50


def test_certificate_of_another_instance_is_rejected(sample: Certified) -> None:
    """A certificate holds for its own instance only."""
    for name in NAMES:
        other = certified(*name).instance
        if other.sha256 != sample.instance.sha256:
            with pytest.raises(checker.Rejected, match=r"instance_sha256|problem"):
                checker.check_certificate(other.to_json(), sample.certificate)


def test_mutated_instance_is_rejected(sample: Certified) -> None:
    """Every value of the instance is covered by its hash."""
    document = sample.instance.to_json()
    for mutant in mutants(document):
        if json.dumps(mutant) != json.dumps(document):
            with pytest.raises(checker.Rejected):
                checker.check_certificate(mutant, sample.certificate)


@given(JSON, JSON)
def test_arbitrary_documents_are_rejected(first: Any, second: Any) -> None:
    """Whatever a JSON reader can return is rejected, not stumbled over."""
    sample = certified("pipeline", "fractional-load")
    good = sample.instance.to_json()
    for document, other in ((first, second), (good, second), (first, sample.certificate)):
        with pytest.raises(checker.Rejected):
            checker.check_certificate(document, other)
        with pytest.raises(checker.Rejected):
            checker.check_solution(document, other)


@given(st.sampled_from(NAMES), JSON)
def test_arbitrary_payloads_are_rejected_or_true(name: tuple[str, str], payload: Any) -> None:
    """Nothing but a rejection comes of nonsense, and nothing false is proved."""
    sample = certified(*name)
    document = {**sample.certificate, "payload": payload, "bound": 0}
    try:
        proved = checker.check_certificate(sample.instance.to_json(), document)
    except checker.Rejected:
        return
    assert proved <= sample.optimum
