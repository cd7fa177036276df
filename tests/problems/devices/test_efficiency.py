"""Tables of efficiencies are those that their script fits to the committed measurements."""

import efficiency
import pytest

from boundmark.datasets.measured import measured_model, measured_models
from boundmark.problems.devices.efficiency import efficiency_tables

MODELS = [measured_model(name) for name in measured_models()]


def test_the_table_is_fitted_to_the_measurements() -> None:
    """The same classes, and the same curves to the digits that are kept."""
    stored = efficiency_tables()["nvidia-h100"].curves
    found = efficiency.fitted(MODELS).curves
    assert stored.keys() == found.keys()
    for name, curve in stored.items():
        # The last of three digits may differ with the library of linear algebra.
        assert vars(found[name]) == pytest.approx(vars(curve), rel=0.02, abs=0.02), name


def test_predictions_of_a_model_do_not_know_its_family() -> None:
    """A table without ResNet-50 is another one, and of both batch sizes."""
    assert {efficiency.family(one.name) for one in MODELS if "resnet" in one.name} == {"resnet-50"}
    others = [one for one in MODELS if efficiency.family(one.name) != "resnet-50"]
    assert len(others) == len(MODELS) - 2
    own = next(one for one in MODELS if one.name.endswith("resnet-50-b32"))
    with_it, without = (
        efficiency.predicted(own, efficiency.fitted(some)) for some in (MODELS, others)
    )
    assert (with_it != without).any()


def test_what_was_fitted_is_right_in_sum() -> None:
    """Operators of each model add up to .75 to 1.33 of their times, but where attention differs."""
    table = efficiency_tables()["nvidia-h100"]
    for one in MODELS:
        share = efficiency.predicted(one, table).sum() / one.measured_ns.sum()
        if "bert" not in one.name and "t5" not in one.name:
            assert 0.75 < share < 1.33, one.name
