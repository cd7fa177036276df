"""`worst-orders`: graphs whose nodes come in an order of which no segmentation is good ([MTPP24]).

Optimal segmentations of any topological order need not be good partitions. Members are called
``lemma-b2-K`` and ``remark-b3-K`` after where they are in the paper, for K stages, K >= 2.

Both have K heavy nodes of work 1 - e and K light ones of work e, with e = 1 / (K + 1) as in Remark
B.3; a tick is 1 / (K + 1), so that a heavy node takes K ticks and a light one 1. A heavy and a
light node in each stage cost K + 1 ticks, which is optimal: it is the mean work of a stage. Nodes
are numbered in the paper's order, all heavy ones first, which is what `slicegraph` divides:

- `remark-b3-K` has no edges. Two heavy nodes in a stage cost 2 K; otherwise each stage but the last
  one is a heavy node, and the last one costs K + K. So each segmentation costs at least 2 K, and
  2 K / (K + 1) times the optimum.
- In `lemma-b2-K`, the first node sends 10 K (K + 1) ticks to the last one, so whoever divides the
  order pays that. All nodes in one stage cost K (K + 1), which is K times the optimum.
"""

import re

from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import UnknownNameError
from boundmark.problems.pipeline.graph import PipelineGraph

# Those that `members` lists; any other number of stages loads as well.
LISTED_STAGES = (2, 4, 8, 16, 32, 64)

# A number of stages has one spelling, so that an instance has one name. Larger numbers of stages
# would say nothing more.
_MEMBER = re.compile(r"(?P<where>lemma-b2|remark-b3)-(?P<stages>[1-9][0-9]{0,3})", re.ASCII)


def members() -> tuple[str, ...]:
    """Return the names with the listed numbers of stages."""
    return tuple(f"{where}-{k}" for where in ("lemma-b2", "remark-b3") for k in LISTED_STAGES)


def load(member: str) -> PipelineGraph:
    """Build a graph of 2 K nodes.

    Raises
    ------
    UnknownNameError
        If the name has another form.
    """
    parsed = _MEMBER.fullmatch(member)
    if parsed is None or (stages := int(parsed["stages"])) < 2:
        raise UnknownNameError(
            f"there is no graph {member!r} in worst-orders; expected lemma-b2-K or remark-b3-K for "
            "2 to 9999 stages, e.g. lemma-b2-8."
        )
    has_edge = parsed["where"] == "lemma-b2"
    last = 2 * stages - 1
    dag = Dag.from_edges(last + 1, [(0, last)] if has_edge else [])
    work = [stages] * stages + [1] * stages
    transfer = [10 * stages * (stages + 1) if has_edge else 0] + [0] * last
    # The paper's numbers of the nodes: light ones come in descending order.
    names = [*range(1, stages + 1), *range(2 * stages, stages, -1)]
    return PipelineGraph.without_parameters(
        dag, frozen(work), frozen(transfer), tuple(map(str, names))
    )


DATASET = Dataset(
    name="worst-orders",
    source=PipelineGraph,
    summary=(
        "Graphs in an order whose best segmentation costs up to K times the optimum of K stages "
        "([MTPP24], Lemma B.2 and Remark B.3)."
    ),
    members=members,
    load=load,
)
