"""`regal`: the synthetic graphs that REGAL's authors published.

There are 10,000 to train on, 1,000 to validate and 1,000 to test ([REGAL20]), text files in
TensorFlow's CostGraphDef that are called ``graph_HASH.pbtxt``; [MTPP24], Appendix C.2, uses 1,000
graphs. They do not come with boundmark.
"""

import os
from pathlib import Path

from boundmark.datasets.pipeline.cost_graph_def import load as load_file
from boundmark.datasets.resolve import VARIABLE, published_file
from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import UnknownNameError, quoted
from boundmark.problems.pipeline.graph import PipelineGraph

COLLECTION, SUFFIX = "regal", ".pbtxt"


def members() -> tuple[str, ...]:
    """Return the files of the user's folder, without suffix and with the folder they are in.

    There are none where the user has no such folder.
    """
    folder = Path(os.environ.get(VARIABLE) or os.devnull) / COLLECTION
    found = (path for path in folder.rglob(f"*{SUFFIX}") if path.is_file())
    return tuple(sorted(path.relative_to(folder).with_suffix("").as_posix() for path in found))


def load(member: str) -> PipelineGraph:
    """Read a graph from the user's folder of published data.

    Raises
    ------
    UnknownNameError
        If the name leads out of the folder.
    MissingFileError
        If there is no such folder, or no such file in it.
    InvalidInputError
        If the file is not what it should be.
    """
    if not member or Path(member).is_absolute() or ".." in Path(member).parts:
        raise UnknownNameError(
            f"there is no graph {quoted(member)} in {COLLECTION}; expected the name of a file in "
            f"{VARIABLE}/{COLLECTION}, without {SUFFIX}."
        )
    return load_file(published_file(COLLECTION, f"{member}{SUFFIX}"))


DATASET = Dataset(
    name=COLLECTION,
    source=PipelineGraph,
    summary="REGAL's published synthetic graphs ([REGAL20]); the files are not included.",
    members=members,
    load=load,
)
