"""`pipedream`: the layer graphs that PipeDream's authors measured.

The files are profiler/*/profiles/*/graph.txt of msr-fiddle/pipedream ([PIPEDREAM19]), renamed to
the model's name.
"""

from boundmark.datasets.pipeline import pipedream_profile
from boundmark.datasets.published_file import published_file
from boundmark.problems.dataset import Dataset
from boundmark.problems.lookup import find
from boundmark.problems.pipeline.graph import PipelineGraph

MEMBERS = ("alexnet", "vgg16", "squeezenet1_0", "resnet18", "resnet50", "resnext50", "gnmt")


def load(member: str) -> PipelineGraph:
    """Read a profile from the user's folder of published data.

    Raises
    ------
    UnknownNameError
        If it is none of the seven.
    InvalidInputError
        If the file is not there, or not what it should be.
    """
    name = find("graph in pipedream", member, {name: f"{name}.txt" for name in MEMBERS})
    return pipedream_profile.load(published_file("pipedream", name))


DATASET = Dataset(
    name="pipedream",
    source=PipelineGraph,
    summary="Seven models as measured by PipeDream's profiler; files not included.",
    members=lambda: MEMBERS,
    load=load,
)
