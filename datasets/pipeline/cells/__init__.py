"""`cells`: large image classifiers made of repeated cells, with costs that look measured.

The graphs are those of published networks, operator by operator: wide enough to have far too many
down-sets to list, and long. Costs are drawn, with a seed; so numbers on these graphs are about
methods and not about the networks.

Members are called ``NETWORK-SEED``, e.g. ``nasnet-mobile-1``.
"""

import re
from collections.abc import Callable, Mapping

from boundmark.datasets.pipeline.cells.inception import inception_v3
from boundmark.datasets.pipeline.cells.measurements import measured
from boundmark.datasets.pipeline.cells.nasnet import nasnet
from boundmark.datasets.pipeline.cells.network import Network
from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import UnknownNameError
from boundmark.problems.lookup import find
from boundmark.problems.pipeline.graph import PipelineGraph

NETWORKS: Mapping[str, Callable[[], Network]] = {
    "inception-v3": inception_v3,
    "nasnet-small": lambda: nasnet(repeats=2, filters=44, stem_filters=32, image=224),
    "nasnet-mobile": lambda: nasnet(repeats=4, filters=44, stem_filters=32, image=224),
    "nasnet-large": lambda: nasnet(repeats=6, filters=168, stem_filters=96, image=331),
}

# Seeds that `members` lists; any other seed loads as well.
LISTED_SEEDS = range(1, 4)

# A seed has one spelling, so that an instance has one name.
_MEMBER = re.compile(r"(?P<network>.+)-(?P<seed>0|[1-9][0-9]*)", re.ASCII)


def members() -> tuple[str, ...]:
    """Return the names with the listed seeds."""
    return tuple(f"{network}-{seed}" for network in NETWORKS for seed in LISTED_SEEDS)


def load(member: str) -> PipelineGraph:
    """Build a network and draw its costs.

    Raises
    ------
    UnknownNameError
        If the name has another form, or there is no such network.
    """
    parsed = _MEMBER.fullmatch(member)
    if parsed is None:
        raise UnknownNameError(
            f"there is no graph {member!r} in cells; expected NETWORK-SEED, e.g. nasnet-mobile-1."
        )
    build = find("network of cells", parsed["network"], NETWORKS)
    return measured(build(), f"cells/{member}")


DATASET = Dataset(
    name="cells",
    source=PipelineGraph,
    summary=(
        "NASNet-A (Zoph et al., CVPR 2018) and Inception-v3 (Szegedy et al., CVPR 2016), "
        "308 to 1,235 operators, with drawn costs; any seed loads."
    ),
    members=members,
    load=load,
)
