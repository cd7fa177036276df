"""The campaign of damaged files starts from good ones and tells refusals from failures."""

import json
from pathlib import Path

import pytest
from readers import READERS, Attempt

from boundmark.datasets.file_format import formats


@pytest.mark.parametrize("name", READERS)
def test_reader_accepts_what_damage_starts_from_and_refuses_nonsense(
    name: str, tmp_path: Path
) -> None:
    """Each reader has seeds, all of them good, and refuses a file of another format."""
    attempt = Attempt(name, tmp_path)
    assert {attempt(content) for content in READERS[name].seeds()} == {"accepted"}
    assert attempt(b"\x00 neither of the formats \xff") == "refused"


def test_solution_of_no_known_instance_is_refused(tmp_path: Path) -> None:
    """A solution counts as accepted only if it belongs to one of the instances."""
    document = json.loads(READERS["solution"].seeds()[0])
    document["instance_sha256"] = "0" * 64
    assert Attempt("solution", tmp_path)(json.dumps(document).encode()) == "refused"


# By the name of a registered format, the reader whose files are damaged.
OF_FORMAT = {
    "JSON graph": "json-graph", "ONNX": "onnx",
    "OpenVINO IR": "openvino", "torch.export": "torch-export", "dnn-partitioning": "planners",
    "instance": "instance", "CostGraphDef": "cost-graph-def", "GGUF": "gguf",
    "Hugging Face configuration": "language-model", "layer table": "layer-table",
    "Moirai sheet": "sheet", "PipeDream profile": "profile",
}  # fmt: skip


def test_every_registered_format_is_damaged() -> None:
    """A format that no campaign damages could end in a traceback at a user's."""
    assert set(formats()) == set(OF_FORMAT)
    assert set(OF_FORMAT.values()) <= set(READERS)
