"""`moirai`: the sample instances that Moirai's authors published.

The files are sample-data/*.xls of moirai-placement/moirai ([MOIRAI24]).
"""

from boundmark.datasets.placement import moirai_sheet
from boundmark.datasets.published_file import published_file
from boundmark.problems.dataset import Dataset
from boundmark.problems.lookup import find
from boundmark.problems.placement import PlacementGraph

FILES = {"example-1": "example-1.xls", "googlenet": "GoogLeNet.xls"}


def load(member: str) -> PlacementGraph:
    """Read a sheet from the user's folder of published data.

    Raises
    ------
    UnknownNameError
        If it is none of the two.
    InvalidInputError
        If the file is not there, or not what it should be.
    """
    name = find("graph in moirai", member, FILES)
    return moirai_sheet.load(published_file("moirai", name))


DATASET = Dataset(
    name="moirai",
    source=PlacementGraph,
    summary="Two samples published with Moirai, costs included; files not included.",
    members=lambda: tuple(FILES),
    load=load,
)
