"""Tables of layers: measured times, rooflines, and mistakes."""

from pathlib import Path

import pytest

from boundmark.datasets.resolve import load_file
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.layers import PROBLEM, LayersInstance

MEASURED = """\
layer,weights,output,seconds:nvidia-a10,seconds:nvidia-t4,joined
a,1000,12000,0.002,0.004,0
b,2000,24000,0.003,0.007,0
c,1000,0,0.001,0.002,1
"""


def instance(path: Path, text: str, **given: str) -> LayersInstance:
    """Return the instance of a table."""
    path.write_text(text)
    found = PROBLEM.maker(load_file(path))(given)
    assert isinstance(found, LayersInstance)
    return found


def test_measured_times(tmp_path: Path) -> None:
    """They are the times; bytes go over the slower link of both kinds."""
    sample = instance(tmp_path / "layers.csv", MEASURED, devices="1xA10,1xT4")
    assert sample.chain.time.tolist() == [[2000000, 3000000, 1000000], [4000000, 7000000, 2000000]]
    assert sample.chain.transfer.tolist() == [[1000, 2000]]
    assert sample.chain.joined == (2,)
    assert sample.chain.weights.tolist() == [1000, 2000, 1000]


def test_a_roofline(tmp_path: Path) -> None:
    """Arithmetic and traffic on any device, and five microseconds to launch."""
    text = "layer,flops,bytes,held\na,125e9,1,7\nb,1,600e6,0\n"
    sample = instance(tmp_path / "layers.csv", text, devices="A10", phase="training")
    assert sample.chain.time.tolist() == [[1005000, 1005000]]
    assert sample.chain.held.tolist() == [7, 0]
    assert sample.in_flight == "1f1b"


def test_devices_are_named_as_on_the_command_line(tmp_path: Path) -> None:
    """A column for `A100-80GB` is that of the device which `--devices` calls so."""
    text = "layer,seconds:A100-80GB,seconds:rtx4090\na,0.001,0.002\nb,0.003,0.004\n"
    sample = instance(tmp_path / "layers.csv", text, devices="1xA100-80GB,1x4090")
    assert sample.chain.time.tolist() == [[1000000, 3000000], [2000000, 4000000]]
    assert "times of the table" in sample.costs


def test_a_table_of_too_many_layers(tmp_path: Path) -> None:
    """Refused before anything is made of it."""
    text = "layer,flops\n" + "a,1\n" * 20_000
    with pytest.raises(InvalidInputError, match="there are 20,000 layers; expected at most 16,384"):
        instance(tmp_path / "layers.csv", text, devices="A10")


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        (MEASURED, "A100", "layer 'a' has no time on 'nvidia-a100'; it has times on 'nvidia-a10'"),
        (MEASURED.replace("0.007", "-1"), "A10", "seconds:nvidia-t4 in row 3 is '-1'; expected a"),
        (MEASURED.replace("0.007", "nan"), "A10", "row 3 is 'nan'; expected a number from 0"),
        (MEASURED.replace("weights", "bytez"), "A10", "column 'bytez'; expected layer, weights"),
        (MEASURED.replace("0.007,", ""), "A10", "row 3 has 5 cells; expected 6"),
        ("layer;weights\na;1,5\n", "A10", "columns are separated by ';'; expected commas"),
        ("layer\tweights\na\t1\n", "A10", r"columns are separated by '.t'; expected commas"),
        ("layer,weights\n", "A10", "expected a header with layer, each column once, and rows"),
    ],
)
def test_tables_that_are_none(text: str, given: str, expected: str, tmp_path: Path) -> None:
    """The row, the column, and what was expected."""
    with pytest.raises(InvalidInputError, match=expected):
        instance(tmp_path / "layers.csv", text, devices=given)
