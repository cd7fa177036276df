import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Boundmark


@pytest.mark.parametrize(
    ("command", "key", "expected"),
    [
        ("methods", "method", {"fractional-load", "brkga-10000", "pipedream", "ideal-dp"}),
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


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("command", ["methods", "datasets", "suites", "problems", "devices"])
def test_listings_fit_the_terminal(
    command: str, width: int, boundmark: Boundmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line is wider than the terminal, and no entry is a narrow column of many lines."""
    monkeypatch.setenv("COLUMNS", str(width))
    lines = boundmark(command).stdout.splitlines()
    assert max(map(len, lines)) <= width
    entries = json.loads(boundmark(command, "--json").stdout)
    assert len(lines) <= 5 * len(entries)


def test_descriptions_stand_below_the_names(boundmark: Boundmark) -> None:
    """A suite's limit is aligned with its heading, and its description has a line of its own."""
    lines = boundmark("suites").stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("smoke "))
    end = lines[0].index("limit [s]") + len("limit [s]")
    assert lines[at][:end].endswith(" 10")
    assert lines[at + 1].startswith("    A minute's check that everything works: one real model")


def test_methods_of_one_problem(boundmark: Boundmark) -> None:
    """Others are left out, and a problem that does not exist is no empty list."""
    listed = json.loads(boundmark("methods", "ordering", "--json").stdout)
    assert {row["problem"] for row in listed} == {"ordering"}
    assert "reorder" in {row["method"] for row in listed}
    done = boundmark("methods", "knapsack", check=False)
    assert done.returncode == 2
    assert "there is no problem or method 'knapsack'; " in done.stderr


def test_one_method(boundmark: Boundmark) -> None:
    """A method's name gives its row alone, with the file of what runs, not of what wraps it."""
    (row,) = json.loads(boundmark("methods", "reorder", "--json").stdout)
    assert (row["method"], row["problem"]) == ("reorder", "ordering")
    assert row["source"].endswith("heuristics/ordering/search.py")
    assert boundmark("methods", "heft").stdout.endswith("heuristics/placement/heft.py\n")


@pytest.mark.parametrize(
    ("command", "name", "expected"),
    [
        ("suites", "smoke", "boundmark suites show smoke"),
        ("datasets", "zoo", "boundmark datasets --members zoo"),
    ],
)
def test_an_entry_in_place_of_a_command(
    command: str, name: str, expected: str, boundmark: Boundmark
) -> None:
    """The error says the command that shows the entry."""
    done = boundmark(command, name, check=False)
    assert done.returncode == 2
    assert expected in " ".join(done.stderr.split())


def test_members(boundmark: Boundmark) -> None:
    """Members are listed as `solve` takes them."""
    assert "onnx-light/resnet50" in boundmark("datasets", "--members", "onnx-light").stdout


def test_families_of_language_models(boundmark: Boundmark) -> None:
    """Each with the names of others that are read as it."""
    listed = boundmark("datasets", "families", "--json")
    found = {row["family"]: row["also"] for row in json.loads(listed.stdout)}
    assert found["falcon"] == "RefinedWeb, RefinedWebModel"
    assert found["lfm2"] == ""


def test_the_zoo_is_listed(boundmark: Boundmark) -> None:
    """Its graphs are for both problems about models."""
    listed = json.loads(boundmark("datasets", "--json").stdout)
    (row,) = [row for row in listed if row["data set"] == "zoo"]
    assert row["members"] >= 45
    assert {"pipeline", "placement"} <= set(row["problems"].split(", "))


def test_devices_are_listed(boundmark: Boundmark) -> None:
    """Programs get SI units and sources; people names and a few figures."""
    listed = json.loads(boundmark("devices", "--json").stdout)
    by_name = {item.get("device") or item["cluster"]: item for item in listed}
    assert by_name["nvidia-t4"]["memory_bandwidth_bytes_per_s"] == 320e9
    assert by_name["nvidia-t4"]["link"]["bandwidth_bytes_per_s"] == 12e9
    assert by_name["intel-uhd-770"]["link"] is None
    ends = {("CPU", "GPU.0"): 76.8e9, ("GPU.0", "GPU.1"): 24e9, ("GPU.1", "GPU.0"): 24e9}
    links = by_name["hsdag-server"]["links"]
    assert (
        ends.items()
        <= {(link["from"], link["to"]): link["bandwidth_bytes_per_s"] for link in links}.items()
    )
    assert len(links) == 6
    text = boundmark("devices").stdout
    assert all(name in text for name in by_name)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nvidia-h100", r"roofline; --costs calibrated takes curves of \d+ classes .* on it"),
        ("nvidia-t4", r"roofline; --costs calibrated takes curves .* measured on nvidia-h100"),
        ("nvidia-h100+calibrated", r"calibrated, by curves of \d+ classes .* on it"),
    ],
)
def test_a_device_says_what_costs_there_are(boundmark: Boundmark, name: str, expected: str) -> None:
    """Those that were measured on it, or on another one of its maker; none elsewhere."""
    assert re.search(f"^costs +{expected}$", boundmark("devices", name).stdout, re.MULTILINE)
    assert "\ncosts" not in boundmark("devices", "raspberry-pi-5").stdout


def test_a_device_is_shown_with_its_source(boundmark: Boundmark, tmp_path: Path) -> None:
    """A cluster shows its bandwidths by pair; a file shows all that it has."""
    assert "datasheet (2019)" in boundmark("devices", "nvidia-t4").stdout
    path = tmp_path / "own.toml"
    path.write_text(
        """
        [devices.mine]
        source = "made up"
        memory_gib = 3
        memory_bandwidth_gb_per_s = 7
        op_overhead_us = 1
        peak_tera_ops_per_s = { float32 = 1 }

        [clusters.both]
        source = "made up, too"
        devices = { left = "mine", right = "nvidia-t4" }
        bandwidth_gb_per_s = [["-", 5], [11, "-"]]
        latency_us = 13
        """
    )
    lines = [line.split() for line in boundmark("devices", path).stdout.splitlines()]
    for expected in (
        ["device", "mine"],
        ["memory", "3", "GiB,", "7", "GB/s"],
        ["link", "none", "to", "others", "of", "its", "kind"],
        ["devices", "left", "mine,", "right", "nvidia-t4"],
        ["left", "-", "5"],
        ["right", "11", "-"],
        ["left", "-", "13"],
        ["source", "made", "up,", "too"],
    ):
        assert expected in lines


def test_columns_of_a_file_and_by_name(boundmark: Boundmark, tmp_path: Path) -> None:
    """A file says what its own columns mean; a name is part of a table's or a column's."""
    path = tmp_path / "results.parquet"
    field = pa.field("gap", pa.float64(), metadata={"unit": "ratio", "meaning": "How far."})
    pq.write_table(pa.table({"gap": [0.5]}, pa.schema([field])), path)
    row = {"table": path.name, "column": "gap", "type": "double", "unit": "ratio"}
    assert json.loads(boundmark("columns", path, "--json").stdout) == [
        {**row, "meaning": "How far."}
    ]
    found = json.loads(boundmark("columns", "bound_certified", "--json").stdout)
    assert {one["column"] for one in found} == {"bound_certified"}
    assert all(one["meaning"] for one in json.loads(boundmark("columns", "--json").stdout))
    path.write_text("no Parquet")
    for name, sentence in ((path, "is no Parquet file"), ("nothing", "no column has 'nothing'")):
        done = boundmark("columns", name, check=False)
        assert sentence in done.stderr
        assert done.returncode == 2
