import json

import pytest
from command_line import Boundmark


@pytest.mark.parametrize(
    ("command", "key", "expected"),
    [
        ("methods", "method", {"share", "brkga-10000", "pipedream", "ideal-dp"}),
        ("datasets", "data set", {"onnx-light", "pipedream", "regal-style"}),
        ("suites", "suite", {"demo", "smoke", "nightly"}),
    ],
)
def test_listings(command: str, key: str, expected: set[str], boundmark: Boundmark) -> None:
    """Programs get JSON, people a table with the same names."""
    listed = {row[key] for row in json.loads(boundmark(command, "--json").stdout)}
    assert expected <= listed
    text = boundmark(command).stdout
    assert all(name in text for name in expected)


def test_members(boundmark: Boundmark) -> None:
    """Members are listed as `solve` takes them."""
    assert "onnx-light/resnet50" in boundmark("datasets", "--members", "onnx-light").stdout
