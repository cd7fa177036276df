import json
from pathlib import Path

import pytest
from command_line import Boundmark


def test_facts(boundmark: Boundmark) -> None:
    """Programs get all figures, people the same in words, no wider than 80 columns."""
    found = json.loads(boundmark("datasets", "show", "zoo/squeezenet-1.1", "--json").stdout)
    assert (found["nodes"], found["edges"]) == (65, 72)
    assert found["width"] == 2
    assert found["down_sets_exact"]
    assert found["operators"]["Conv"] == 26
    assert sum(found["operators"].values()) == 65
    assert found["origin"]["configuration"]["batch"] == 1
    text = boundmark("datasets", "show", "zoo/squeezenet-1.1").stdout
    for part in ("65 nodes, 72 edges", "width 2", "GFLOPs", "Iandola", "torchvision", "26 Conv"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 80


def test_pictures(boundmark: Boundmark, tmp_path: Path) -> None:
    """A solution in a file colours the picture by stage; without one, operators do."""
    name = "onnx-light/alexnet"
    plain, dot, staged = (tmp_path / file for file in ("a.svg", "a.dot", "b.svg"))
    boundmark("datasets", "show", name, "--draw", plain)
    assert "Conv" in plain.read_text()
    boundmark("datasets", "show", name, "--draw", dot)
    assert dot.read_text().startswith("digraph")
    solution = tmp_path / "own.csv"
    rows = "".join(f"{node},{int(node >= 10)}\n" for node in range(24))
    solution.write_text(f"operator,stage\n{rows}")
    boundmark("datasets", "show", name, "--draw", staged, "--solution", solution)
    assert "stage 1" in staged.read_text()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["zoo/bert_base"], "did you mean bert-base"),
        (["zoo/bert-base", "--draw", "a.png"], "expected .svg or .dot"),
        (["zoo/bert-base", "--solution", "x.csv"], "expected --draw FILE with it"),
        (["shapes/nn-4-train"], "expected a graph"),
    ],
)
def test_mistakes(arguments: list[str], expected: str, boundmark: Boundmark) -> None:
    """A mistake ends with one sentence and exit code 2."""
    done = boundmark("datasets", "show", *arguments, check=False)
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_export(boundmark: Boundmark, tmp_path: Path) -> None:
    """A graph of the zoo in a file has the same facts and origin, and the same instances."""
    name = "zoo/squeezenet-1.1"
    path = tmp_path / "own.json"
    assert "65 operators" in boundmark("datasets", "export", name, path).stdout
    found = json.loads(boundmark("datasets", "show", path, "--json").stdout)
    known = json.loads(boundmark("datasets", "show", name, "--json").stdout)
    written = json.loads(path.read_text())
    assert {key: found[key] for key in known if key not in ("name", "origin")} == {
        key: known[key] for key in known if key not in ("name", "origin")
    }
    for key in ("source", "configuration", "versions"):
        assert written[key] == known["origin"][key]
    done = boundmark("datasets", "export", name, tmp_path / "own.xml", check=False)
    assert done.returncode == 2
    assert "expected .json." in done.stderr
    done = boundmark("datasets", "export", "regal-style/erdos-renyi-1", path, check=False)
    assert done.returncode == 2
    assert "is a PipelineGraph; expected a model" in done.stderr


def test_devices_by_name(boundmark: Boundmark, tmp_path: Path) -> None:
    """A placement colours by what its file calls the devices."""
    solution, picture = tmp_path / "own.json", tmp_path / "a.svg"
    solution.write_text(json.dumps(["left"] * 10 + ["right"] * 14))
    options = ("--draw", picture, "--solution", solution, "--problem", "placement")
    boundmark("datasets", "show", "onnx-light/alexnet", *options)
    assert "device right" in picture.read_text()
