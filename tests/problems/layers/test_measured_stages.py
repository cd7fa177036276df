"""Devices are as fast as their stages were, and files that do not fit are refused."""

import json
from pathlib import Path

import pytest

from boundmark.datasets.layers.language_models import load
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import PROBLEM, LayerAssignment, LayersInstance

MODEL = "llama-3-8b"


def instance(**given: object) -> LayersInstance:
    """Return the model on two devices of one kind and one of another."""
    fleet = {"devices": "2xA100-80GB,1xA10", "phase": "decode", "batch": 1, "context": 1024}
    made = PROBLEM.maker(load(MODEL))({**fleet, **given})
    assert isinstance(made, LayersInstance)
    return made


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_stages_take_what_was_measured(tmp_path: Path, suffix: str) -> None:
    """The split that was measured, on the devices that had its stages, and in their order."""
    before = instance()
    names, layers = before.chain.device_names, before.chain.layers
    rows = [(names[2], 6, 0.004), (names[0], 10, 0.003), (names[1], layers - 16, 0.0051)]
    path = tmp_path / f"log.{suffix}"
    header = ("device", "layers", "seconds")
    if suffix == "csv":
        lines = [header, *rows]
        path.write_text("\n".join(",".join(map(str, line)) for line in lines))
    else:
        path.write_text(json.dumps([dict(zip(header, row, strict=True)) for row in rows]))
    found = instance(measured=str(path))
    split = LayerAssignment.from_json({"devices": [2] * 6 + [0] * 10 + [1] * (layers - 16)})
    loads = found.stage_loads(split)
    # Each layer's time is rounded.
    assert [load.computing for load in loads] == pytest.approx([4e6, 3e6, 5.1e6], abs=layers)
    assert [load.sending for load in loads] == [x.sending for x in before.stage_loads(split)]
    assert found.chain.capacity[found.chain.devices[2]] == before.chain.capacity[1]
    assert found.chain.types == 3
    assert "A10" in found.notes[-1] or "a10" in found.notes[-1]


def test_devices_that_ran_nothing_keep_their_times(tmp_path: Path) -> None:
    """The first two devices have stages, so the third is as it was."""
    before = instance()
    half = before.chain.layers // 2
    path = tmp_path / "log.csv"
    path.write_text(f"layers,seconds\n{half},0.01\n{before.chain.layers - half},0.01\n")
    found = instance(measured=str(path))
    assert found.chain.time[found.chain.devices[2]].tolist() == before.chain.time[1].tolist()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty; expected times of stages."),
        ("layers,seconds\n", "it has no stages; expected a row for each."),
        ("layers\n34\n", "row 1 has 'layers'; expected layers and seconds, and perhaps device."),
        ("layers,seconds,power\n34,1,2\n", "row 1 has 'layers', 'seconds', 'power'; expected"),
        ("layers,seconds\n34\n", "row 1 has 1 cells; expected 2, as the header has."),
        ("layers,seconds\n3.5,1\n", "layers in row 1 is 3.5; expected an integer."),
        ("layers,seconds\n34,0\n", "seconds in row 1 is '0'; expected a number above 0"),
        ("layers,seconds\n34,nan\n", "seconds in row 1 is 'nan'; expected a number above 0"),
        ("layers,seconds\n3,1\n", "its stages have 3 layers together, and the model has 34"),
        ("device,layers,seconds\n7,34,1\n", "device in row 1 is '7'; expected one of"),
        ("device,layers,seconds\n0,30,1\n0,4,1\n", "it has two rows for device"),
    ],
)
def test_files_that_do_not_fit(tmp_path: Path, content: str, sentence: str) -> None:
    """Whatever is amiss is named, with the file."""
    path = tmp_path / "log.csv"
    path.write_text(content)
    with pytest.raises(InvalidInputError) as caught:
        instance(measured=str(path))
    assert str(path) in str(caught.value)
    assert sentence in str(caught.value)
